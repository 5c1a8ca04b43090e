"""All tables of a release as one system: the cells of each measure, and the equations they meet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from halfmask._errors import VerificationError
from halfmask.claims.crosstab_manifest import VALUE
from halfmask.verifier.crosstabs._reading import codes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.claims.crosstab_manifest import StatedDimension, StatedTable

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

#: More places of cells in equations aren't built: the claims then don't hold.
_MOST_PLACES: Final = 200_000_000


class CodeTree:
    """The codes of a dimension by their numbers, checked: what each covers, and its sums."""

    def __init__(self, stated: StatedDimension) -> None:
        self.name, self.columns = stated.name, stated.levels or (stated.name,)
        self.codes, self.missing = stated.codes, stated.missing
        self.number = {code: at for at, code in enumerate(stated.codes)}
        self._refuse(len(self.number) < len(stated.codes), "has a code twice")
        named = {code for each in stated.sums for code in (each.total, *each.parts)}
        self._refuse(not {*named, stated.total} <= {*self.number}, "has sums of unknown codes")
        self.total = self.number[stated.total]
        #: Each sum as the number of its total and those of its parts.
        self.sums = [
            (self.number[each.total], [self.number[part] for part in each.parts])
            for each in stated.sums
        ]
        for total, parts in self.sums:
            self._refuse(not parts or len({*parts}) < len(parts) or total in parts, "has odd sums")
        self.covers = self._covered()
        self._refuse(
            len(self.covers[self.total]) < len(self.leaves), "has a total that lacks codes"
        )

    @property
    def leaves(self) -> set[int]:
        """The codes that are no sums."""
        return {*range(len(self.codes))} - {total for total, _ in self.sums}

    def _refuse(self, wrong: bool, what: str) -> None:  # noqa: FBT001 # one thing after another
        if wrong:
            raise VerificationError(f"Dimension {self.name!r} {what}.")

    def _covered(self) -> list[frozenset[int]]:
        """Return which codes at the bottom each covers; a sum waits until its parts are known."""
        found = {leaf: frozenset({leaf}) for leaf in self.leaves}
        waiting = list(self.sums)
        while waiting:
            later = []
            for total, parts in waiting:
                if not all(part in found for part in parts):
                    later.append((total, parts))
                    continue
                covered = frozenset().union(*(found[part] for part in parts))
                overlap = len(covered) < sum(len(found[part]) for part in parts)
                self._refuse(overlap, "has a sum that counts a code twice")
                self._refuse(found.setdefault(total, covered) != covered, "has sums that disagree")
            self._refuse(len(later) == len(waiting), "has sums that lead back to themselves")
            waiting = later
        return [found[code] for code in range(len(self.codes))]


@dataclass(frozen=True, kw_only=True)
class TableCells:
    """The cells of one measure in all tables, each once."""

    measure: str | None
    negative: bool
    #: The number of each cell's code in each dimension, that of the total where its table lacks the
    #: dimension; shape (n, dimensions).
    codes: NDArray[np.int32]
    #: What is published; NaN where hidden.
    value: Floats
    #: The cells of each table, in the order of its lines.
    tables: Mapping[str, Ints]
    #: -1 for the total and 1 for each part, over the cells; absent cells are 0.
    equations: csr_array

    @property
    def hidden(self) -> Bools:
        """Whether each cell is hidden."""
        return np.isnan(self.value)


def join_cells(
    measure: str | None,
    tables: Sequence[tuple[StatedTable, pl.DataFrame]],
    trees: Mapping[str, CodeTree],
) -> TableCells:
    """Return the cells of the tables of one measure; raise if two show one cell differently."""
    if len({table.negative for table, _ in tables}) > 1:
        raise VerificationError("Tables of one measure don't agree on whether values are negative.")
    codes = np.vstack([_numbers(table, frame, trees) for table, frame in tables])
    value = np.concatenate([frame[VALUE].fill_null(np.nan).to_numpy() for _, frame in tables])
    codes, place = _unique_rows(codes)
    first = np.full(len(codes), -1, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    own = value[first]
    if not np.array_equal(own[place], value, equal_nan=True):
        raise VerificationError("Two tables show the same cell differently.")
    ends = np.cumsum([frame.height for _, frame in tables])
    of_table = dict(
        zip((table.name for table, _ in tables), np.split(place, ends[:-1]), strict=True)
    )
    for table, _ in tables:
        _check_absent(table, of_table[table.name], codes, own, trees)
    return TableCells(
        measure=measure,
        negative=tables[0][0].negative,
        codes=codes,
        value=own,
        tables=of_table,
        equations=_equations([table for table, _ in tables], of_table, codes, trees),
    )


def _numbers(
    table: StatedTable, frame: pl.DataFrame, trees: Mapping[str, CodeTree]
) -> NDArray[np.int32]:
    """Return the codes of a table's cells as numbers, in all dimensions."""
    named = dict(zip(table.dimensions, codes_of(table), strict=True))
    columns = []
    for name, tree in trees.items():
        if name not in named:
            columns.append(np.full(frame.height, tree.total))
            continue
        known = pl.DataFrame({"code": tree.codes, "at": range(len(tree.codes))})
        found = frame.select(code=named[name]).join(
            known, on="code", how="left", maintain_order="left"
        )["at"]
        if found.null_count():
            raise VerificationError(
                f"A table has {found.null_count()} cells of codes that dimension {name!r} lacks."
            )
        columns.append(found.to_numpy())
    return (
        np.column_stack(columns).astype(np.int32)
        if columns
        else np.zeros((frame.height, 0), np.int32)
    )


def _unique_rows(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Return the different rows, and the place of each row among them."""
    place = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # never larger than the number of rows times that of codes
        _, place = np.unique(place * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first = np.unique(place, return_index=True)
    return rows[first], place


def _check_absent(
    table: StatedTable,
    lines: Ints,
    codes: NDArray[np.int32],
    value: Floats,
    trees: Mapping[str, CodeTree],
) -> None:
    """Refuse cells that another table shows and this one, which lacks them, says are 0."""
    others = [at for at, name in enumerate(trees) if name not in table.dimensions]
    totals = np.array([each.total for each in trees.values()])
    absent = (codes[:, others] == totals[others]).all(axis=1)
    absent[lines] = False
    if (value[absent] != 0).any():
        raise VerificationError("A table lacks cells that another one shows.")


def _equations(
    tables: Sequence[StatedTable],
    of_table: Mapping[str, Ints],
    codes: NDArray[np.int32],
    trees: Mapping[str, CodeTree],
) -> csr_array:
    """Return each sum of a dimension for each combination of the other codes, once.

    It holds in every table that has the dimension. Parts and totals that have no line are 0, so
    also a total without a line is one of its parts' equations.
    """
    rows: list[Ints] = []
    columns: list[Ints] = []
    signs: list[Floats] = []
    n_rows = 0
    for at, (name, tree) in enumerate(trees.items()):
        lines = [of_table[each.name] for each in tables if name in each.dimensions]
        if not lines or not tree.sums:
            continue
        cells = np.unique(np.concatenate(lines))
        rest = codes[cells].copy()
        rest[:, at] = 0
        _, other = _unique_rows(rest)
        which, sums, sign = _places(tree, codes[cells, at])
        if len(which) + sum(map(len, rows)) > _MOST_PLACES:
            raise VerificationError("The tables are too large to be counted again.")
        _, row = np.unique(other[which] * len(tree.sums) + sums, return_inverse=True)
        rows.append(row + n_rows)
        columns.append(cells[which])
        signs.append(sign)
        n_rows += int(row.max(initial=-1)) + 1
    if not rows:
        return csr_array((0, len(codes)))
    places = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.concatenate(signs), places), shape=(n_rows, len(codes)))


def _places(tree: CodeTree, codes: NDArray[np.int32]) -> tuple[Ints, Ints, Floats]:
    """Return for codes in which sums they are, and as what: the code, the sum, and its sign."""
    of_code = [
        (code, at, sign)
        for at, (total, parts) in enumerate(tree.sums)
        for code, sign in ((total, -1.0), *((part, 1.0) for part in parts))
    ]
    of_code.sort(key=lambda each: each[0])
    listed = np.array(of_code, dtype=np.float64).reshape(-1, 3)
    start = np.searchsorted(listed[:, 0], np.arange(len(tree.codes) + 1))
    often = (start[1:] - start[:-1])[codes]
    which = np.repeat(np.arange(len(codes)), often)
    within = np.arange(len(which)) - np.repeat(np.cumsum(often) - often, often)
    found = listed[start[codes][which] + within]
    return which, found[:, 1].astype(np.int64), found[:, 2]


def duplicates(names: Sequence[str]) -> int:
    """Return how many names occur more than once."""
    return sum(count > 1 for count in Counter(names).values())

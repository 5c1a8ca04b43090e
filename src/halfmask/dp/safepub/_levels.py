"""Columns at levels that don't depend on the rows, and the private choice of one for each."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import HierarchyError, ParameterError
from halfmask.anonymize.lattice import LatticeColumn
from halfmask.anonymize.lattice.grouped_rows import node_tables
from halfmask.data import Dates, Groups, Hierarchy, Intervals, Order, Prefix, as_text, leaf_text
from halfmask.dp.noise import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.data import HierarchyRule

#: What is written for a column without a hierarchy where its values aren't.
ROOT = "*"
Codes: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeveledColumn:
    """The label of each row at each level."""

    name: str
    codes: Codes
    labels: tuple[pl.Series, ...]

    def __repr__(self) -> str:
        return f"LeveledColumn({self.name!r}, {len(self.labels)} levels)"

    @classmethod
    def of(cls, series: pl.Series, hierarchy: Hierarchy | HierarchyRule | None) -> LeveledColumn:
        """Return a column at its levels."""
        if depends_on_rows(hierarchy):
            raise ParameterError(
                f"The hierarchy of column {series.name!r} depends on the values that there are: "
                f"{type(hierarchy).__name__}.",
                hint="Give Intervals, Groups, Order, Dates, Prefix with a length, or a hierarchy "
                "with all possible values.",
            )
        texts = leaf_text(series)
        known = texts.drop_nulls().unique().sort()
        codes = texts.cast(pl.Enum(known)).to_physical().cast(pl.Int32).fill_null(len(known))
        root = ROOT  # the same whichever values there are
        if hierarchy is None:
            levels = [known, pl.Series([ROOT] * len(known), dtype=pl.String)]
        elif isinstance(hierarchy, Hierarchy):
            highest = set(hierarchy.labels(hierarchy.height - 1))
            root = highest.pop() if len(highest) == 1 else ROOT
            levels = _levels(hierarchy, known)
        else:
            values = series.drop_nulls().unique().sort()
            if not len(values):  # a table of missing cells has as many levels as any other
                values = _placeholder(hierarchy, values)
            levels = _levels(hierarchy.build(values, column=series.name), known)
        written = [
            pl.concat([as_text(each), pl.Series([None], dtype=pl.String)]) for each in levels[:-1]
        ]
        written.append(pl.Series([root] * (len(known) + 1), dtype=pl.String))
        return cls(name=series.name, codes=codes.to_numpy(), labels=tuple(written))

    @property
    def height(self) -> int:
        """The highest level, which covers all values."""
        return len(self.labels) - 1

    def nodes(self, level: int) -> Codes:
        """Return the node of each value at a level, missing included."""
        return self.labels[level].rank("dense").fill_null(0).to_numpy().astype(np.int32)

    def at(self, level: int) -> pl.Series:
        """Return the label of each row at a level."""
        return self.labels[level].gather(self.codes.astype(np.uint32)).alias(self.name)


def depends_on_rows(hierarchy: Hierarchy | HierarchyRule | None) -> bool:
    """Return whether the labels or levels of a value depend on which other values there are.

    Examples
    --------
    >>> depends_on_rows(Prefix(keep=(2,))), depends_on_rows(Prefix(keep=(2,), length=5))
    (True, False)
    """
    if isinstance(hierarchy, Prefix):
        return hierarchy.length is None  # then labels are as long as the longest value
    known = Hierarchy | Intervals | Groups | Order | Dates
    return hierarchy is not None and not isinstance(hierarchy, known)


def _placeholder(rule: HierarchyRule, none: pl.Series) -> pl.Series:
    """Return one value, where a rule needs one to have its levels."""
    if isinstance(rule, Intervals):
        return pl.Series([0])
    if isinstance(rule, Dates):
        return pl.Series([dt.date(2000, 1, 1)])
    return pl.Series(["0"]) if isinstance(rule, Prefix) else none


def _levels(tree: Hierarchy, known: pl.Series) -> list[pl.Series]:
    leaves = pl.Series(tree.leaves, dtype=pl.String)
    if not known.is_in(leaves.implode()).all():
        raise HierarchyError(
            f"The hierarchy of column {tree.column!r} lacks a value of the table.",
            hint="It must have all possible values, whichever the table has.",
        )
    places = known.cast(pl.Enum(leaves)).to_physical()
    levels = [pl.Series(tree.labels(level), dtype=pl.String) for level in range(tree.height)]
    if len(set(tree.labels(tree.height - 1))) > 1:
        levels.append(pl.Series([ROOT] * len(leaves), dtype=pl.String))
    return [level.gather(places) for level in levels]


#: More candidates than this are refused: the rows are grouped for each.
_MOST_CANDIDATES: Final = 20_000


def choose_levels(
    columns: Sequence[LeveledColumn], allowed: Sequence[range], *, least_rows: int, epsilon: float
) -> tuple[int, ...]:
    """Return one level for each column, by the exponential mechanism.

    Guarantees
    ----------
    The choice is (epsilon, 0)-differentially private: candidates depend on the heights of the
    hierarchies alone, and one row moves a score by `level_scores`'s sensitivity at most.
    """
    if (n := math.prod(map(len, allowed))) > _MOST_CANDIDATES:
        raise ParameterError(
            f"There are {n:,} generalizations to choose from, and at most "
            f"{_MOST_CANDIDATES:,} can be scored.",
            hint="Give levels, or hierarchies of fewer levels.",
        )
    candidates = list(itertools.product(*allowed))
    scores, sensitivity = level_scores(columns, candidates, least_rows=least_rows)
    return candidates[choose(scores, sensitivity=float(sensitivity), epsilon=epsilon)]


def level_scores(
    columns: Sequence[LeveledColumn], candidates: Sequence[tuple[int, ...]], *, least_rows: int
) -> tuple[NDArray[np.int64], int]:
    """Return the detail that each candidate keeps, as whole numbers, and their sensitivity.

    Notes
    -----
    The score of levels g is ``precision(g)`` times the rows in classes of at least T rows, where
    ``precision(g) = 1 - mean(level / height)`` (Sweeney 2002) depends on no row. It is multiplied
    by the common denominator D of all precisions, so that it is a whole number.

    **Sensitivity: D T.** One row more lies in one class. If that has fewer than T rows afterwards,
    the score stays. If it now has T, these T rows count, each for ``D precision(g) <= D``: the
    score grows by D T at most. If it has more, one row counts more. One row less is the same turned
    round. Compare Bild, Kuhn and Prasser 2018, section 5: suppression makes the sensitivity of
    each of their scores grow with k likewise.
    """
    heights = [max(1, each.height) for each in columns]
    common = math.lcm(*heights) * len(columns)
    codes, rows = np.unique(np.stack([each.codes for each in columns]), axis=1, return_counts=True)
    sizes_at = _grouping(columns, codes.astype(np.uint32), rows.astype(np.int64))
    scores = np.empty(len(candidates), dtype=np.int64)
    for place, levels in enumerate(candidates):
        lost = sum(
            level * (common // len(columns)) // height
            for level, height in zip(levels, heights, strict=True)
        )
        sizes = sizes_at(levels)
        scores[place] = (common - lost) * int(sizes[sizes >= least_rows].sum())
    return scores, common * least_rows


def _grouping(
    columns: Sequence[LeveledColumn], codes: NDArray[np.uint32], rows: NDArray[np.int64]
) -> Callable[[tuple[int, ...]], NDArray[np.int64]]:
    """Return a function from levels to the rows of each class."""
    from halfmask.kernels.lattice.grouping import group_items, group_room  # noqa: PLC0415 # compiles late

    tables = node_tables(
        [
            LatticeColumn(
                name=each.name,
                nodes=tuple(each.nodes(level) for level in range(each.height + 1)),
                rows=np.zeros(0, dtype=np.int64),
            )
            for each in columns
        ]
    )
    room = group_room(codes.shape[1])

    def sizes_at(levels: tuple[int, ...]) -> NDArray[np.int64]:
        wanted = np.array(levels, dtype=np.int64)
        return room.sizes[: int(group_items(codes, rows, tables, wanted, room))]

    return sizes_at

"""What everybody knows before a table is published: bounds, given states, and earlier releases.

A cell that an earlier release published with the same value must stay: hiding it would hide
nothing. A cell that it hid stays hidden, so that today's tables don't tell what was hidden before.
A cell that it published with another value, as next month's rows give, isn't the same: it isn't
linked, and `Knowledge.unlinked` counts it. Codes of dimensions that the policy lacks link only by
their totals. The verifier audits all releases together; hidden cells that they tell leave no
release.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import PolicyError
from halfmask.claims.crosstab_manifest import HIDDEN, STATE, VALUE, TablesDetails
from halfmask.claims.manifest import folder_of, manifest_path
from halfmask.claims.manifest_reader import read_manifest
from halfmask.crosstabs._cells import row_keys
from halfmask.crosstabs._pattern import Knowledge
from halfmask.data import ReadOptions, open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.claims.crosstab_manifest import StatedTable
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._policy import TablesPolicy

#: A released number has 15 digits.
_NEAR: Final = 1e-12
#: Texts that a spreadsheet would take for formulas have an apostrophe before them in CSV.
_GUARD: Final = r"^'('*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 # the wide forms are meant


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """The cells of one table that was published before: codes by dimension, value, state."""

    measure: str | None
    dimensions: tuple[str, ...]
    totals: Mapping[str, str]
    codes: pl.DataFrame
    value: NDArray[np.float64]
    hidden: NDArray[np.bool_]


def apply_earlier(cells: tuple[CellSystem, ...], policy: TablesPolicy) -> tuple[Knowledge, ...]:
    """Return what everybody knows of each cell, and which states are given."""
    stay = [_named(each, policy.cells.publish) for each in cells]
    hide = [_named(each, policy.cells.hide) for each in cells]
    _check_named(cells, policy, hide)
    found = [table for folder in policy.earlier for table in _read(folder, policy)]
    return tuple(
        _knowledge(each, policy, found, named)
        for each, *named in zip(cells, stay, hide, strict=True)
    )


def _knowledge(
    cells: CellSystem,
    policy: TablesPolicy,
    earlier: Sequence[_Earlier],
    named: Sequence[NDArray[np.bool_]],
) -> Knowledge:
    stay, hide = named
    kept = np.zeros(cells.n, dtype=bool)
    unlinked = 0
    for table in earlier:
        if table.measure == cells.measure:
            told, hidden, others = _compared(cells, table)
            stay, kept = stay | told, kept | hidden
            unlinked += others
    is_signed = any(each.negative for each in policy.tables if each.name in cells.tables)
    return Knowledge(
        lower=np.full(cells.n, -np.inf if is_signed else 0.0),
        upper=np.full(cells.n, np.inf),
        must_stay=stay,
        must_hide=hide | (kept & ~stay),
        unlinked=unlinked,
    )


def _named(cells: CellSystem, wanted: Iterable[Mapping[str, str]]) -> NDArray[np.bool_]:
    """Return which cells are named; a dimension that isn't given has its total."""
    found = np.zeros(cells.n, dtype=bool)
    for codes in wanted:
        named = [
            each.position.get(codes.get(each.name, each.total), -1) for each in cells.dimensions
        ]
        found |= (cells.codes == np.array(named, dtype=np.int32)).all(axis=1)
    return found


def _check_named(
    cells: Sequence[CellSystem], policy: TablesPolicy, hide: Sequence[NDArray[np.bool_]]
) -> None:
    """Raise where ``[cells]`` names what isn't there, or one cell twice."""
    for key, wanted in (("publish", policy.cells.publish), ("hide", policy.cells.hide)):
        for number, codes in enumerate(wanted, start=1):
            for name, code in codes.items():
                if not any(each.name == name for one in cells for each in one.dimensions):
                    raise PolicyError(
                        f"Cell {number} of [cells] {key} has no dimension {name!r} in its tables.",
                        hint="Write { dimension = 'code' }; dimensions left out have their total.",
                    )
                if not any(
                    each.name == name and code in each.position
                    for one in cells
                    for each in one.dimensions
                ):
                    raise PolicyError(
                        f"Cell {number} of [cells] {key} has a code that dimension {name!r} lacks.",
                        hint="Check its spelling; the report lists the codes of each dimension.",
                    )
    for number, codes in enumerate(policy.cells.hide, start=1):
        if not any(_named(each, [codes]).any() for each in cells):
            raise PolicyError(
                f"Cell {number} of [cells] hide is in no table, or nobody is in it.",
                hint='A cell that nobody is in can be hidden with zeros = "suppressible".',
            )
    both = sum(
        int((_named(each, policy.cells.publish) & hidden).sum())
        for each, hidden in zip(cells, hide, strict=True)
    )
    if both:
        raise PolicyError(
            f"[cells] names {both} cells under publish and under hide.",
            hint="Take them out of one of the two lists.",
        )


def _compared(
    cells: CellSystem, table: _Earlier
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
    """Return which cells a table told before, which it hid, and how many have other values."""
    told, kept = np.zeros(cells.n, dtype=bool), np.zeros(cells.n, dtype=bool)
    linked = pl.Series(np.ones(len(table.value), dtype=bool))
    own = {each.name: each for each in cells.dimensions}
    columns = []
    for name in table.dimensions:
        if name not in own:
            linked &= table.codes[name] == table.totals[name]
    for each in cells.dimensions:
        if each.name not in table.dimensions:
            columns.append(np.full(len(table.value), each.position[each.total]))
            continue
        known = pl.DataFrame(
            {each.name: each.codes, "": range(len(each.codes))},
            schema={each.name: pl.String, "": pl.Int64},
        )
        texts = table.codes.select(each.name)
        at = texts.join(known, on=each.name, how="left", maintain_order="left")[""]
        linked &= at.is_not_null()
        columns.append(at.fill_null(0).to_numpy())
    chosen = linked.to_numpy()
    before = np.column_stack([*columns, np.zeros(len(table.value), dtype=int)])[chosen]
    sizes = [*(len(each.codes) for each in cells.dimensions), 1]
    today = np.column_stack([cells.codes, np.zeros(cells.n, dtype=int)])
    keys = row_keys(np.concatenate([today, before]).astype(np.int32), sizes)
    order = np.argsort(keys[: cells.n])
    where = np.searchsorted(keys[: cells.n], keys[cells.n :], sorter=order)
    cell = order[np.minimum(where, cells.n - 1)]
    same = keys[cell] == keys[cells.n :]
    value, hidden = table.value[chosen], table.hidden[chosen]
    near = np.abs(cells.value[cell] - value) <= _NEAR * np.abs(value)
    told[cell[same & ~hidden & near]] = True
    kept[cell[same & hidden]] = True
    return told, kept, int((same & ~hidden & ~near).sum())


def _read(folder: str, policy: TablesPolicy) -> list[_Earlier]:
    """Read the tables of an earlier release."""
    where = (policy.folder or Path()) / folder
    details = TablesDetails.of(read_manifest(where))
    if details.method.get("method") != "suppression":
        raise PolicyError(
            "An earlier release has values that aren't the true ones: its protection is "
            f"{details.method.get('method')!r}.",
            hint="Only tables with hidden cells can be linked. Leave the release out of earlier.",
        )
    totals = {each.name: each.total for each in details.dimensions}
    base = folder_of(manifest_path(where))
    return [_table(base / each.file, each, totals) for each in details.tables]


def _table(path: Path, stated: StatedTable, totals: Mapping[str, str]) -> _Earlier:
    texts = dict.fromkeys((*stated.dimensions, STATE), "string")
    is_csv = path.suffix == ".csv"
    # An empty text is a hidden value; a code can be empty nowhere.
    source = open_table(path, options=ReadOptions(dtypes=texts if is_csv else {}))
    frame = source.read(columns=[*stated.dimensions, VALUE, STATE])
    codes = frame.select(pl.col(stated.dimensions).cast(pl.String))
    if is_csv:
        codes = codes.with_columns(pl.all().str.replace(_GUARD, "${1}"))
    return _Earlier(
        measure=stated.measure,
        dimensions=stated.dimensions,
        totals=totals,
        codes=codes,
        value=frame[VALUE].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        hidden=(frame[STATE] == HIDDEN).to_numpy(),
    )

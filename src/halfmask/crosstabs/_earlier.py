"""What everybody knows before a table is published: bounds, given states, and earlier releases.

A cell that an earlier release published with the same value must stay: hiding it would hide
nothing. A cell that it hid stays hidden, so that today's tables don't tell what was hidden before.
A cell that it published with another value, as next month's rows give, isn't the same: it isn't
linked, and `Knowledge.unlinked` counts it. Where today's tables have further cells, each earlier
table must be part of one of them: hidden cells that are in no equation could be told unseen. The
verifier audits all releases together; hidden cells that they tell leave no release.
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
from halfmask.crosstabs._pattern import Knowledge
from halfmask.data import ReadOptions, open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halfmask.claims.crosstab_manifest import StatedTable
    from halfmask.crosstabs._arrays import Bools
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._policy import TablesPolicy

#: A released number has 15 digits.
_NEAR: Final = 1e-12
#: Texts that a spreadsheet would take for formulas have an apostrophe before them in CSV.
_GUARD: Final = r"^'('*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 # the wide forms are meant


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """The cells of one table that was published before."""

    stated: StatedTable
    #: The code of the total in each dimension.
    totals: Mapping[str, str]
    #: A column of codes for each dimension, named by its number, then `VALUE`, and whether hidden.
    cells: pl.DataFrame


def apply_earlier(cells: tuple[CellSystem, ...], policy: TablesPolicy) -> tuple[Knowledge, ...]:
    """Return what everybody knows of each cell, and which states are given."""
    _check_named(cells, policy)
    earlier = [table for folder in policy.earlier for table in _read(folder, policy)]
    for table in earlier:
        if table.stated.measure not in {each.measure for each in cells}:
            raise _report_uncovered(table)
    return tuple(_knowledge(each, policy, earlier) for each in cells)


def _knowledge(cells: CellSystem, policy: TablesPolicy, earlier: Sequence[_Earlier]) -> Knowledge:
    stay, hide = (_named(cells, each) for each in (policy.cells.publish, policy.cells.hide))
    told, kept = np.zeros((2, cells.n), dtype=bool)
    tables = [each for each in earlier if each.stated.measure == cells.measure]
    found = [_linked(cells, table) for table in tables]
    for linked in found:
        told[linked.filter("same")["cell"].drop_nulls()] = True
        kept[linked.filter(STATE)["cell"].drop_nulls()] = True
    if not (told | kept).all():  # otherwise today's tables say nothing new
        for table in tables:
            _check_covered(cells, table)
    for table, linked in zip(tables, found, strict=True):
        _check_hidden(table, linked)
    is_signed = any(each.negative for each in policy.tables if each.name in cells.tables)
    return Knowledge(
        lower=np.full(cells.n, -np.inf if is_signed else 0.0),
        upper=np.full(cells.n, np.inf),
        must_stay=stay | told,
        must_hide=hide | (kept & ~stay & ~told),
        unlinked=sum(each.filter(~pl.col(STATE) & ~pl.col("same")).height for each in found),
    )


def _named(cells: CellSystem, wanted: Iterable[Mapping[str, str]]) -> Bools:
    """Return which cells are named; a dimension that isn't given has its total."""
    found = np.zeros(cells.n, dtype=bool)
    for codes in wanted:
        named = [
            each.position.get(codes.get(each.name, each.total), -1) for each in cells.dimensions
        ]
        found |= (cells.codes == np.array(named, dtype=np.int32)).all(axis=1)
    return found


def _check_named(cells: Sequence[CellSystem], policy: TablesPolicy) -> None:
    """Raise where ``[cells]`` names what isn't there, or one cell twice."""
    dimensions = [each for one in cells for each in one.dimensions]
    publish, hide = policy.cells.publish, policy.cells.hide
    for key, wanted in (("publish", publish), ("hide", hide)):
        for number, codes in enumerate(wanted, start=1):
            what = f"Cell {number} of [cells] {key}"
            for name, code in codes.items():
                known = [each.position for each in dimensions if each.name == name]
                if not known:
                    raise PolicyError(
                        f"{what} has no dimension {name!r} in its tables.",
                        hint="Write { dimension = 'code' }; dimensions left out have their total.",
                    )
                if not any(code in position for position in known):
                    raise PolicyError(
                        f"{what} has a code that dimension {name!r} lacks.",
                        hint="Check its spelling; the report lists the codes of each dimension.",
                    )
            if key == "hide" and not any(_named(each, [codes]).any() for each in cells):
                raise PolicyError(
                    f"{what} is in no table, or nobody is in it.",
                    hint='A cell that nobody is in can be hidden with zeros = "suppressible".',
                )
    both = sum(int((_named(each, publish) & _named(each, hide)).sum()) for each in cells)
    if both:
        raise PolicyError(
            f"[cells] names {both} cells under publish and under hide.",
            hint="Take them out of one of the two lists.",
        )


def _check_covered(cells: CellSystem, table: _Earlier) -> None:
    """Raise unless one of today's tables has all dimensions and codes of an earlier one."""
    names = table.stated.dimensions
    if not any(set(names) <= set(cells.crossed(each)) for each in cells.tables):
        raise _report_uncovered(table)
    known = {each.name: each.position for each in cells.dimensions}
    for at, name in enumerate(names):
        lacking = set(table.cells[str(at)]).difference(known[name])
        if lacking:
            raise PolicyError(
                f"Dimension {name!r} lacks {len(lacking)} codes that the table "
                f"{table.stated.name!r} of an earlier release has.",
                hint="Add them to the hierarchy file, or to codes or sums in the policy.",
            )


def _report_uncovered(table: _Earlier) -> PolicyError:
    return PolicyError(
        f"No table of the policy covers the table {table.stated.name!r} of an earlier release: "
        "what it hid could be computed from both.",
        hint="List it in [[tables]], too: it is protected together with the others, and published "
        "again with the same cells.",
    )


def _check_hidden(table: _Earlier, linked: pl.DataFrame) -> None:
    gone = linked.filter(pl.col(STATE) & pl.col("cell").is_null()).height
    if gone:
        raise PolicyError(
            f"Nobody is in {gone} cells today that the table {table.stated.name!r} of an earlier "
            "release hid: they would be published as 0.",
            hint='Write zeros = "suppressible", and they stay hidden.',
        )


def _linked(cells: CellSystem, table: _Earlier) -> pl.DataFrame:
    """Return earlier cells that today's tables can have, and which have the ``same`` value."""
    own = {each.name: at for at, each in enumerate(cells.dimensions)}
    before, shared = table.cells, {}
    for at, name in enumerate(table.stated.dimensions):
        if name in own:
            shared[name] = str(at)
        else:
            before = before.filter(pl.col(str(at)) == table.totals[name])
    chosen = np.arange(cells.n)
    for each in cells.dimensions:
        if each.name not in shared:
            chosen = chosen[cells.codes[chosen, own[each.name]] == each.position[each.total]]
    numbers = pl.DataFrame({"none": 0, "cell": chosen, "today": cells.value[chosen]})
    labels = cells.labels(chosen, list(shared)).rename(shared)
    today = pl.DataFrame([*labels, *numbers])
    both = before.with_columns(none=0).join(today, on=["none", *shared.values()], how="left")
    off = (pl.col("today").fill_null(0.0) - pl.col(VALUE)).abs()  # a cell that isn't there is 0
    return both.with_columns(same=~pl.col(STATE) & (off <= _NEAR * pl.col(VALUE).abs()))


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
    base = folder_of(manifest_path(where))
    totals = {each.name: each.total for each in details.dimensions}
    return [_table(base / each.file, each, totals) for each in details.tables]


def _table(path: Path, stated: StatedTable, totals: Mapping[str, str]) -> _Earlier:
    texts = dict.fromkeys((*stated.dimensions, STATE), "string")
    is_csv = path.suffix == ".csv"
    # An empty text is a hidden value; a code can be empty nowhere.
    source = open_table(path, options=ReadOptions(dtypes=texts if is_csv else {}))
    frame = source.read(columns=[*stated.dimensions, VALUE, STATE])
    codes = [
        frame[name].cast(pl.String).alias(str(at)) for at, name in enumerate(stated.dimensions)
    ]
    if is_csv:
        codes = [each.str.replace(_GUARD, "${1}") for each in codes]
    value = frame[VALUE].cast(pl.Float64)
    cells = pl.DataFrame([*codes, value, frame[STATE] == HIDDEN])
    return _Earlier(stated=stated, totals=totals, cells=cells)

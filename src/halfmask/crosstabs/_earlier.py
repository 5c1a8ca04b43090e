"""What everybody knows before a table is published: bounds, given states, and earlier releases.

A cell that an earlier release published with the same value must stay: hiding it would hide
nothing. A cell that it hid stays hidden. A cell of another value, as next month's rows give, isn't
the same: `Knowledge.unlinked` counts it. Rounded values bound the true ones.

Each table of a release that the policy names must be part of one of today's. A booked one needn't,
unless the cells that both have were hidden: what was hidden is in no equation of today's otherwise.
The verifier audits all releases together; hidden cells that they tell leave no release.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import PolicyError
from halfmask.claims.crosstab_manifest import DEVIATIONS, HIDDEN, STATE, VALUE, TablesDetails
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
    #: By how much published values may differ from the true ones.
    off: float
    #: Whether the policy names the release; otherwise it is in the book.
    is_named: bool


def apply_earlier(
    cells: tuple[CellSystem, ...], policy: TablesPolicy, booked: Sequence[Path] = ()
) -> tuple[Knowledge, ...]:
    """Return what everybody knows of each cell, and which states are given."""
    _check_named(cells, policy)
    earlier = [table for each in named_folders(policy) for table in _read(each, is_named=True)]
    earlier += [table for each in booked for table in _read(each, is_named=False)]
    for table in earlier:
        if table.is_named and table.stated.measure not in {each.measure for each in cells}:
            raise _report_uncovered(table)
    return tuple(_knowledge(each, policy, earlier) for each in cells)


def named_folders(policy: TablesPolicy) -> list[Path]:
    """Return the folders of earlier releases that a policy names; they start at the policy."""
    return [(policy.folder or Path()) / each for each in policy.earlier]


def _knowledge(cells: CellSystem, policy: TablesPolicy, earlier: Sequence[_Earlier]) -> Knowledge:
    stay, hide = (_named(cells, each) for each in (policy.cells.publish, policy.cells.hide))
    published, kept = np.zeros((2, cells.n), dtype=bool)
    is_signed = any(each.negative for each in policy.tables if each.name in cells.tables)
    lower = np.full(cells.n, -np.inf if is_signed else 0.0)
    upper = np.full(cells.n, np.inf)
    n_other, found = 0, []
    for table, linked in ((each, _linked(cells, each)) for each in earlier):
        there = linked.drop_nulls("cell")
        if table.stated.measure != cells.measure:
            if cells.is_count:  # of a hidden sum, a count of 0 tells that it is 0
                empty = linked.filter(STATE, "is_coded", pl.col("today").fill_null(0.0) == 0)
                _check_hidden(table, empty)
                kept[empty["cell"]] = True
        elif table.off:
            if there["same"].all():
                at, value = there["cell"].to_numpy(), there[VALUE].to_numpy()
                lower[at] = np.maximum(lower[at], value - table.off)
                upper[at] = np.minimum(upper[at], value + table.off)
        else:
            published[there.filter("same")["cell"]] = True
            kept[there.filter(STATE)["cell"]] = True
            n_others = linked.filter("is_coded", ~pl.col(STATE), ~pl.col("same")).height
            n_other += n_others
            found += [(table, linked)] if table.is_named or not n_others else []
    for table, linked in found:
        if not (published | kept).all():  # otherwise today's tables say nothing new
            _check_covered(cells, table, linked)
        _check_hidden(table, linked)
    return Knowledge(
        lower=lower,
        upper=upper,
        must_stay=stay | published,
        must_hide=hide | (kept & ~stay & ~published),
        unlinked=n_other,
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


def _check_covered(cells: CellSystem, table: _Earlier, linked: pl.DataFrame) -> None:
    """Raise unless a table of today's has the dimensions of an earlier one, and all its codes."""
    names = table.stated.dimensions
    is_part = any(set(names) <= set(cells.crossed(each)) for each in cells.tables)
    if not is_part and (table.is_named or linked[STATE].any()):
        raise _report_uncovered(table)
    known = {each.name: each.position for each in cells.dimensions}
    for at, name in enumerate(names):
        codes = set(table.cells[str(at)]) - {table.totals[name]}
        lacking = codes.difference(known.get(name, codes))
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
    """Return earlier cells of today's tables: which ``is_coded`` today, has the ``same`` value."""
    own = {each.name: each for each in cells.dimensions}
    names = [(str(at), name) for at, name in enumerate(table.stated.dimensions)]
    shared = {name: at for at, name in names if name in own}
    at_total = {name: pl.col(at) == table.totals[name] for at, name in names}
    inside = [
        pl.all_horizontal(pl.lit(True), *(at_total[name] for name in {*at_total} - {*crossed}))
        for crossed in map(cells.crossed, cells.tables)
    ]
    before = table.cells.filter(pl.any_horizontal(inside)).with_columns(
        pl.col(at).replace(table.totals[name], own[name].total) for name, at in shared.items()
    )
    is_coded = (pl.col(at).is_in(own[name].codes) for name, at in shared.items())
    chosen = np.arange(cells.n)
    for number, each in enumerate(cells.dimensions):
        if each.name not in shared:
            chosen = chosen[cells.codes[chosen, number] == each.position[each.total]]
    numbers = pl.DataFrame({"none": 0, "cell": chosen, "today": cells.value[chosen]})
    labels = cells.labels(chosen, list(shared)).rename(shared)
    today = pl.DataFrame([*labels, *numbers])
    both = before.with_columns(none=0).join(today, on=["none", *shared.values()], how="left")
    off = (pl.col("today").fill_null(0.0) - pl.col(VALUE)).abs()  # a cell that isn't there is 0
    near = _NEAR * pl.col(VALUE).abs() + table.off
    is_same = ~pl.col(STATE) & (off <= near)
    return both.with_columns(same=is_same, is_coded=pl.all_horizontal(pl.lit(True), *is_coded))


def _read(where: Path, *, is_named: bool) -> list[_Earlier]:
    """Read the tables of an earlier release, unless nothing certain follows from booked ones."""
    manifest = read_manifest(where)
    details = TablesDetails.of(manifest)
    method, off = details.method.get("method"), 0.0
    if method != "suppression":
        if is_named:
            raise PolicyError(
                "An earlier release has values that aren't the true ones: its protection is "
                f"{method!r}.",
                hint="Only tables with hidden cells can be linked. Leave the release out of "
                "earlier.",
            )
        bounds = [it.parameters["at_most"] for it in manifest.claims if it.model == DEVIATIONS]
        if not bounds:
            return []
        off = float(bounds[0])
    base = folder_of(manifest_path(where))
    totals = {each.name: each.total for each in details.dimensions}
    return [
        _Earlier(
            stated=each,
            totals=totals,
            cells=_cells(base / each.file, each),
            off=off,
            is_named=is_named,
        )
        for each in details.tables
    ]


def _cells(path: Path, stated: StatedTable) -> pl.DataFrame:
    """Read the codes, values and states of a table."""
    texts = dict.fromkeys((*stated.dimensions, STATE), "string")
    is_csv = path.suffix == ".csv"
    # An empty text is a hidden value; a code can be empty nowhere.
    # A code may be spelled as a dimension's name: what is known of the header isn't guessed.
    options = ReadOptions(dtypes=texts, header=True) if is_csv else ReadOptions()
    source = open_table(path, options=options)
    frame = source.read(columns=[*stated.dimensions, VALUE, STATE])
    codes = [
        frame[name].cast(pl.String).alias(str(at)) for at, name in enumerate(stated.dimensions)
    ]
    if is_csv:
        codes = [each.str.replace(_GUARD, "${1}") for each in codes]
    value = frame[VALUE].cast(pl.Float64)
    return pl.DataFrame([*codes, value, frame[STATE] == HIDDEN])

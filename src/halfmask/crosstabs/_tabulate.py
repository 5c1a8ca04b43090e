"""Tables from microdata: every cell of all tables of a policy, one system for each measure.

Batches are summarized to inner cells, and totals are made of their sum (`_totals`). Memory grows
with the cells, and with the rows of owners who are in several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._arrays import largest_sets
from halfmask.crosstabs._cells import CellSystem, Contributors, build_equations, row_keys
from halfmask.crosstabs._hierarchies import build_dimensions, columns_of
from halfmask.crosstabs._row_summary import (
    InnerCells,
    RowPlan,
    check_faults,
    merge_rows,
    summarize_rows,
)
from halfmask.crosstabs._totals import (
    MOST_CELLS,
    CellSums,
    Owners,
    add_totals,
    concatenated,
    empty_lists,
    group_cells,
    group_codes,
    report_size,
)
from halfmask.data import ReadOptions, Source, open_table
from halfmask.data.io.formats import TEXT_FORMATS, form_of_name, is_object_address
from halfmask.engines import LocalEngine, fold_table
from halfmask.kernels.tabulation.largest import keep_largest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.crosstabs._arrays import Codes, Ints
    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.engines import Engine
#: Rows of a frame in memory that are summarized at once.
_FRAME_ROWS: Final = 1 << 24


def tabulate(
    table: object,
    policy: TablesPolicy,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
    record: str | None = None,
    record_key: Callable[[pl.Series], pl.Series] | None = None,
) -> tuple[CellSystem, ...]:
    """Return the cells of all tables of a policy, made of microdata: one `CellSystem` a measure."""
    plan = _planned(policy, record, record_key)
    source = open_rows(table, [name for columns in plan.columns for name in columns])
    _check_types(source, plan)
    found = fold_table(
        # One worker: polars uses all processors, and more would hold more batches.
        engine or LocalEngine(1),
        source,
        plan.all_columns or source.columns[:1],
        partial(summarize_rows, plan),
        merge_rows,
        n_rows=_FRAME_ROWS if source.format == "frame" else None,
        stage="tabulating",
        progress=progress,
    )
    check_faults(found.faults, policy)
    paths = {
        name: _as_paths(each, missing)
        for name, each, missing in zip(plan.names, found.paths, plan.missing, strict=True)
    }
    dimensions = tuple(build_dimensions(policy, paths, order=source.orders).values())
    crossed = {each.name: each.dimensions for each in policy.tables}
    check_size(crossed, dimensions, zeros=policy.zeros, progress=progress)
    blocks = tuple(_numbered(block, plan, at, dimensions) for at, block in enumerate(found.blocks))
    measures = dict.fromkeys(each.value for each in policy.tables)
    return tuple(
        _cells_of(measure, plan, policy, dimensions, blocks, found.faults) for measure in measures
    )


def _planned(
    policy: TablesPolicy, record: str | None, record_key: Callable[[pl.Series], pl.Series] | None
) -> RowPlan:
    names = tuple(dict.fromkeys(name for table in policy.tables for name in table.dimensions))
    sections = [policy.dimensions.get(name) for name in names]
    sets = largest_sets(frozenset(map(names.index, it.dimensions)) for it in policy.tables)
    return RowPlan(
        names=names,
        columns=tuple(columns_of(policy, name) for name in names),
        missing=tuple(None if each is None else each.missing for each in sections),
        sets=tuple(tuple(sorted(each)) for each in sets),
        measures=tuple(dict.fromkeys(each.value for each in policy.tables if each.value)),
        owner=policy.owner,
        weight=policy.weight,
        record=record,
        record_key=record_key,
    )


def open_rows(table: object, codes: Sequence[str]) -> Source:
    """Open microdata; codes in files of text are read as they are written."""
    if not isinstance(table, str) and not hasattr(table, "__fspath__"):
        return open_table(table)
    name = str(table)
    form = None if is_object_address(name) else form_of_name(name)
    if name != "-" and (form is None or form.format not in TEXT_FORMATS):
        return open_table(table)
    return open_table(table, options=ReadOptions(dtypes=dict.fromkeys(codes, "string")))


def _check_types(source: Source, plan: RowPlan) -> None:
    """Raise unless the columns are there, and those of numbers have numbers."""
    source.batches(columns=plan.all_columns or None)
    for name in (*plan.measures, *(() if plan.weight is None else (plan.weight,))):
        dtype = source.dtypes[name]
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise SchemaError(
                f"Column {name!r} is to be summed, and has the type {dtype}.",
                hint="A sum needs a column of numbers. Declare how its numbers are written.",
            )


def _as_paths(frame: pl.DataFrame, missing: str | None) -> list[tuple[str, ...]]:
    """Return paths as tuples; one without a code is that of the code for missing ones."""
    return [(missing,) if missing is not None and row[-1] is None else row for row in frame.rows()]


def check_size(
    crossed: Mapping[str, Sequence[str]],
    dimensions: Sequence[Dimension],
    *,
    zeros: str,
    progress: Progress,
) -> None:
    """Say how many cells are possible, and raise if cells that nobody is in make too many."""
    codes = {each.name: len(each.codes) for each in dimensions}
    possible = {table: prod(codes[name] for name in names) for table, names in crossed.items()}
    progress(f"tabulating {sum(possible.values()):,} possible cells")
    if zeros == "suppressible":
        for table, n in possible.items():
            if n > MOST_CELLS:
                raise report_size(f"With zeros that may be hidden, table {table!r}", n)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inner:
    """Inner cells with positions of codes, and what owners have in them."""

    block: InnerCells
    chosen: tuple[int, ...]
    codes: Codes
    #: Where the parts of each owner start, a number for each, and the parts.
    owners: tuple[Ints, Ints, pl.DataFrame] | None


def _numbered(block: InnerCells, plan: RowPlan, at: int, dimensions: Sequence[Dimension]) -> _Inner:
    chosen = plan.sets[at]
    codes = np.zeros((block.codes.height, len(chosen)), dtype=np.int32)
    for column, dimension in enumerate(chosen):
        texts = block.codes[str(column)].cast(pl.String)
        codes[:, column] = texts.cast(pl.Enum(dimensions[dimension].codes)).to_physical().to_numpy()
    owners = None
    if block.parts:
        parts = pl.concat(block.parts)
        order, starts, numbers = _group_owners(parts["owner"])
        owners = starts, numbers, parts.drop("owner")[order]
    return _Inner(block=block, chosen=chosen, codes=codes, owners=owners)


def _group_owners(owner: pl.Series) -> tuple[Ints, Ints, Ints]:
    """Return an order of rows by owner, where each owner starts in it, and a number for each.

    They are sorted by hashes, which is several times faster; owners of one hash are kept apart.
    """
    keys = owner.hash().to_numpy()
    order = np.argsort(keys, kind="stable")
    ordered = owner.gather(order)
    is_new = np.diff(keys[order]) != 0
    if (ordered.slice(1) != ordered.head(-1)).to_numpy()[~is_new].any():
        keys = owner.rank("dense").to_numpy()
        order = np.argsort(keys, kind="stable")
        is_new = np.diff(keys[order]) != 0
    first = np.flatnonzero(np.concatenate([[True], is_new]))
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[np.argsort(order[first])] = np.arange(len(first))
    return order, np.append(first, len(order)), numbers


def _cells_of(
    measure: str | None,
    plan: RowPlan,
    policy: TablesPolicy,
    dimensions: tuple[Dimension, ...],
    inner: Sequence[_Inner],
    faults: Mapping[tuple[str, str], int],
) -> CellSystem:
    """Return the cells of one measure in all its tables."""
    tables = [each for each in policy.tables if each.value == measure]
    crossed = {each.name: tuple(map(plan.names.index, each.dimensions)) for each in tables}
    at = 0 if measure is None else 1 + plan.measures.index(measure)
    pieces = []
    for chosen in map(sorted, largest_sets(map(frozenset, crossed.values()))):
        of = next(each for each in inner if set(chosen) <= set(each.chosen))
        pieces.append(_piece(of, tuple(chosen), at, dimensions))
    if policy.zeros == "suppressible":
        pieces += [_empty_cells(grid_codes(each, dimensions)) for each in crossed.values()]
    whole = _united(pieces, dimensions)
    is_signed = measure is not None and faults["negative", measure] > 0
    value, absolute = whole.sums[:, 1], whole.sums[:, 2 if is_signed else 1]
    return CellSystem(
        measure=measure,
        dimensions=dimensions,
        codes=whole.codes,
        value=value,
        contributors=Contributors(
            rows=whole.sums[:, 0].astype(np.int64),
            count=whole.sums[:, 3],
            largest=whole.lists.sizes,
            owners=_renumbered(whole.lists.owners),
            absolute=absolute,
            weights=None if plan.weight is None else whole.lists.weights,
        ),
        equations=build_equations(whole.codes, dimensions),
        tables=cells_of_tables(crossed, whole.codes, dimensions),
        record_keys=None if plan.record is None else whole.keys,
    )


def _piece(
    inner: _Inner, chosen: tuple[int, ...], at: int, dimensions: Sequence[Dimension]
) -> CellSums:
    """Return the cells of one set of dimensions with all totals, at codes of all dimensions."""
    block, n = inner.block, len(inner.codes)
    sums = block.sums[:, [0, *((2 * at, 2 * at + 1) if at else (1, 1)), 0]]
    if inner.owners is not None:
        sums[:, 2:] = 0.0
    tally = CellSums(
        codes=inner.codes[:, [inner.chosen.index(each) for each in chosen]],
        sums=sums,
        keys=block.keys,
        lists=block.lists[at] if block.lists else empty_lists(n),
    )
    used = [dimensions[each] for each in chosen]
    tally, into = group_cells(tally, [len(each.codes) for each in used])
    owners = None if inner.owners is None else _owners(*inner.owners, into, at, tally)
    names = ", ".join(repr(each.name) for each in used)
    found = add_totals(tally, used, owners, what=f"A table that crosses {names}")
    totals = [each.position[each.total] for each in dimensions]
    codes = np.tile(np.array(totals, dtype=np.int32), (len(found.codes), 1))
    codes[:, list(chosen)] = found.codes
    return replace(found, codes=codes)


def _owners(
    starts: Ints, numbers: Ints, parts: pl.DataFrame, into: Ints, at: int, tally: CellSums
) -> Owners:
    """Count owners who are in one inner cell, and return the others."""
    heavy = parts["weight" if "weight" in parts.columns else "rows"].to_numpy()
    plain = parts["rows" if not at else f"plain {at - 1}"].to_numpy()
    weighted = plain
    if "weight" in parts.columns:
        weighted = heavy if not at else parts[f"weighted {at - 1}"].to_numpy()
    cells = into[parts["cell"].to_numpy()]
    first = starts[:-1]
    lowest, highest = np.minimum.reduceat(cells, first), np.maximum.reduceat(cells, first)
    alone = lowest == highest
    one, all_, much = (np.add.reduceat(each, first)[alone] for each in (plain, weighted, heavy))
    at_cell = lowest[alone]
    weights = np.divide(all_, one, out=much, where=one != 0)
    keep_largest(at_cell, one, weights, numbers[alone], tally.lists)
    n = len(tally.codes)
    tally.sums[:, 2] += np.bincount(at_cell, np.abs(all_), minlength=n)
    tally.sums[:, 3] += np.bincount(at_cell, minlength=n)
    lengths = np.diff(starts)
    rest = np.repeat(~alone, lengths)
    return Owners(
        numbers=numbers[~alone],
        starts=np.concatenate([[0], np.cumsum(lengths[~alone])]),
        cells=cells[rest],
        plain=plain[rest],
        weighted=weighted[rest],
        heavy=heavy[rest],
    )


def grid_codes(chosen: Sequence[int], dimensions: Sequence[Dimension]) -> Codes:
    """Return the codes of every possible cell of a table that crosses some dimensions."""
    ranges = [
        np.arange(len(each.codes)) if at in chosen else np.array([each.position[each.total]])
        for at, each in enumerate(dimensions)
    ]
    if not ranges:
        return np.zeros((1, 0), dtype=np.int32)
    codes = np.stack([each.ravel() for each in np.meshgrid(*ranges, indexing="ij")], axis=1)
    return codes.astype(np.int32)


def _empty_cells(codes: Codes) -> CellSums:
    """Return cells that nobody is in."""
    n = len(codes)
    return CellSums(codes=codes, sums=np.zeros((n, 4)), keys=np.zeros(n), lists=empty_lists(n))


def _united(pieces: Sequence[CellSums], dimensions: Sequence[Dimension]) -> CellSums:
    """Return the cells of all pieces, each once, in the order of their codes."""
    whole = CellSums(
        codes=np.concatenate([each.codes for each in pieces]),
        sums=np.concatenate([each.sums for each in pieces]),
        keys=np.concatenate([each.keys for each in pieces]),
        lists=concatenated([each.lists for each in pieces]),
    )
    first, _ = group_codes(whole.codes, [len(each.codes) for each in dimensions])
    if len(first) > MOST_CELLS:
        raise report_size("The tables of one measure", len(first))
    return whole.take(first)


def _renumbered(owners: Ints) -> Ints:
    """Return owners by numbers from 0 in the same order; -1 stays."""
    different, numbers = np.unique(owners, return_inverse=True)
    return numbers.reshape(owners.shape) - np.count_nonzero(different < 0)


def cells_of_tables(
    crossed: Mapping[str, tuple[int, ...]], codes: Codes, dimensions: Sequence[Dimension]
) -> dict[str, Ints]:
    """Return the cells of each table, in the order in which it shows them."""
    totals = np.array([each.position[each.total] for each in dimensions])
    at_total = codes == totals
    found = {}
    for table, chosen in crossed.items():
        others = [at for at in range(len(dimensions)) if at not in chosen]
        cells = np.flatnonzero(at_total[:, others].all(axis=1))
        keys = row_keys(codes[cells][:, list(chosen)], [len(dimensions[at].codes) for at in chosen])
        found[table] = cells[np.argsort(keys, kind="stable")]
    return found

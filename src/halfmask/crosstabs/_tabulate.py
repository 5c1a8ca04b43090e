"""Tables from microdata: every cell of all tables of a policy, one system for each measure.

The table is read once, in batches: each is summarized to its inner cells, summaries add up, and
totals are made of the sum (`_totals`). A summary has the distinct combinations of codes of each
largest set of dimensions that a table crosses, and with an owner column the contribution of each
owner to each of them. So memory grows with the cells and owners, not with the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._cells import Cells, Contributors, build_equations, row_keys
from halfmask.crosstabs._hierarchies import build_dimensions, columns_of
from halfmask.crosstabs._totals import (
    MOST_CELLS,
    CellSums,
    Owners,
    add_totals,
    concatenated,
    empty_lists,
    group_cells,
    group_codes,
    joined_lists,
    report_size,
)
from halfmask.data import ReadOptions, Source, leaf_text, open_table
from halfmask.data.io.formats import TEXT_FORMATS, form_of_name, is_object_address
from halfmask.engines import LocalEngine, fold_table
from halfmask.kernels.tabulation.largest import Lists, keep_largest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.engines import Engine

#: Rows of a frame in memory that are summarized at once.
_FRAME_ROWS: Final = 1 << 24
#: Batches of owners are held side by side until there are so many.
_MOST_PARTS: Final = 8
#: A record key is kept as so many parts of 1, so that sums are exact.
_KEY_PARTS: Final = 1 << 32
#: What is counted of an inner cell before its measures: rows and weight.
_BEFORE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is read of a table: it goes to workers."""

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    missing: tuple[str | None, ...]
    sets: tuple[tuple[int, ...], ...]
    measures: tuple[str, ...]
    owner: str | None
    weight: str | None
    record: str | None
    record_key: Callable[[pl.Series], pl.Series] | None

    @property
    def all_columns(self) -> list[str]:
        """Every column that is read, once."""
        of_dimensions = [name for columns in self.columns for name in columns]
        others = [self.owner, self.weight, self.record]
        wanted = [*of_dimensions, *self.measures, *(each for each in others if each is not None)]
        return list(dict.fromkeys(wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Inner cells of one set of dimensions: their codes as texts, sums, and who contributes.

    ``sums`` has rows and weight, then for each measure its value and absolute value. Without an
    owner column ``lists`` has the largest rows by count and measure; with one, ``parts`` has what
    each owner has in each cell.
    """

    codes: pl.DataFrame
    sums: NDArray[np.float64]
    keys: NDArray[np.float64]
    lists: tuple[Lists, ...]
    parts: tuple[pl.DataFrame, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The summary of some batches."""

    faults: Counter[tuple[str, str]]
    paths: tuple[pl.DataFrame, ...]
    blocks: tuple[_Block, ...]


def tabulate(
    table: object,
    policy: TablesPolicy,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
    record: str | None = None,
    record_key: Callable[[pl.Series], pl.Series] | None = None,
) -> tuple[Cells, ...]:
    """Return the cells of all tables of a policy, made of microdata: one `Cells` a measure.

    ``record_key`` makes the values of the column ``record`` numbers: whole ones, of which the last
    32 bits count, or fractions of 1.
    """
    plan = _planned(policy, record, record_key)
    source = open_rows(table, [name for columns in plan.columns for name in columns])
    _check_types(source, plan)
    found = fold_table(
        # One worker: polars uses all processors, and more would hold more batches.
        engine or LocalEngine(1),
        source,
        plan.all_columns or source.columns[:1],
        partial(_summarize, plan),
        _merge,
        n_rows=_FRAME_ROWS if source.format == "frame" else None,
        stage="tabulating",
        progress=progress,
    )
    _check_faults(found.faults, policy)
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
    policy: TablesPolicy,
    record: str | None,
    record_key: Callable[[pl.Series], pl.Series] | None,
) -> _Plan:
    names = tuple(dict.fromkeys(name for table in policy.tables for name in table.dimensions))
    sections = [policy.dimensions.get(name) for name in names]
    sets = [tuple(sorted(map(names.index, table.dimensions))) for table in policy.tables]
    return _Plan(
        names=names,
        columns=tuple(columns_of(policy, name) for name in names),
        missing=tuple(None if each is None else each.missing for each in sections),
        sets=_largest_sets(sets),
        measures=tuple(dict.fromkeys(each.value for each in policy.tables if each.value)),
        owner=policy.owner,
        weight=policy.weight,
        record=record,
        record_key=record_key,
    )


def _largest_sets(sets: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the sets that no other one has, each once."""
    different = list(dict.fromkeys(sets))
    return tuple(
        each for each in different if not any(set(each) < set(other) for other in different)
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


def _check_types(source: Source, plan: _Plan) -> None:
    """Raise unless the columns are there, and those of numbers have numbers."""
    source.batches(columns=plan.all_columns or None)
    for name in (*plan.measures, *(() if plan.weight is None else (plan.weight,))):
        dtype = source.dtypes[name]
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise SchemaError(
                f"Column {name!r} is to be summed, and has the type {dtype}.",
                hint="A sum needs a column of numbers. Declare how its numbers are written.",
            )


def _summarize(plan: _Plan, number: int, frame: pl.DataFrame) -> _Found:
    faults: Counter[tuple[str, str]] = Counter()
    coded = [
        _coded(frame[columns[-1]], missing)
        for columns, missing in zip(plan.columns, plan.missing, strict=True)
    ]
    for columns, missing in zip(plan.columns, plan.missing, strict=True):
        code = frame[columns[-1]]
        if missing is None:
            faults["missing", code.name] += code.null_count()
        for name in columns:
            if frame.schema[name] == pl.String:
                faults["empty", name] += int((frame[name] == "").sum())
        for name in columns[:-1]:
            faults["missing", name] += int((frame[name].is_null() & code.is_not_null()).sum())
    paths = tuple(
        _paths(frame, columns) if len(columns) > 1 else texts.head(-1).to_frame("0")
        for columns, (_, texts) in zip(plan.columns, coded, strict=True)
    )
    if plan.owner is not None:
        faults["missing", plan.owner] += frame[plan.owner].null_count()
    weight = None if plan.weight is None else _numbers(frame[plan.weight], faults, "weight")
    values = [_numbers(frame[name], faults, "negative") for name in plan.measures]
    keys = None
    if plan.record is not None and plan.record_key is not None:
        faults["missing", plan.record] += frame[plan.record].null_count()
        keys = _key_parts(plan.record_key(frame[plan.record]))
    owner = None if plan.owner is None else frame[plan.owner]
    rows = np.arange(frame.height, dtype=np.int64) + (number << 32)
    blocks = tuple(
        _block([coded[at] for at in chosen], rows, weight, values, keys, owner)
        for chosen in plan.sets
    )
    return _Found(faults=faults, paths=paths, blocks=blocks)


def _coded(series: pl.Series, missing: str | None) -> tuple[NDArray[np.int32], pl.Series]:
    """Return a number for the code of each row, and the texts that these numbers stand for."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if missing is not None:
        series = leaf_text(series).fill_null(missing)
    different = series.drop_nulls().unique()
    if series.dtype == pl.String:
        numbers = series.cast(pl.Enum(different)).to_physical().cast(pl.Int32)
    else:
        numbers = series.replace_strict(
            different, np.arange(len(different)), default=None, return_dtype=pl.Int32
        )
    texts = leaf_text(different).alias("").append(pl.Series([None], dtype=pl.String))
    return numbers.fill_null(len(different)).to_numpy(), texts


def _paths(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the distinct paths of codes from the top."""
    different = frame.select(frame[name].alias(str(at)) for at, name in enumerate(columns)).unique(
        maintain_order=True
    )
    return different.select(
        leaf_text(
            each.cast(pl.String) if isinstance(each.dtype, pl.Categorical | pl.Enum) else each
        )
        for each in different
    )


def _numbers(series: pl.Series, faults: Counter[tuple[str, str]], sign: str) -> NDArray[np.float64]:
    """Return numbers, and count those that can't be summed."""
    found = series.cast(pl.Float64)
    if series.dtype.is_integer():
        faults["large", series.name] += int((found.abs() >= 2.0**53).sum())
    faults["missing", series.name] += found.null_count()
    faults["infinite", series.name] += int(found.is_infinite().sum())
    below = found <= 0 if sign == "weight" else found < 0
    faults[sign, series.name] += int(below.sum())
    return found.fill_null(0.0).to_numpy()


def _key_parts(keys: pl.Series) -> NDArray[np.float64]:
    """Return record keys as whole numbers below 2^32."""
    if keys.dtype.is_float():
        return np.floor((keys.to_numpy() % 1.0) * _KEY_PARTS)
    return (keys.to_numpy().astype(np.int64) % _KEY_PARTS).astype(np.float64)


def _block(
    coded: Sequence[tuple[NDArray[np.int32], pl.Series]],
    rows: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    values: Sequence[NDArray[np.float64]],
    keys: NDArray[np.float64] | None,
    owner: pl.Series | None,
) -> _Block:
    """Summarize rows by their codes in some dimensions."""
    first, cells = _grouped(
        [np.zeros(len(rows), dtype=np.int32), *(numbers for numbers, _ in coded)],
        [1, *(len(texts) for _, texts in coded)],
    )
    n = len(first)
    codes = pl.DataFrame(
        {
            str(at): texts.gather(numbers[first]).cast(pl.Categorical)
            for at, (numbers, texts) in enumerate(coded)
        }
        | {"": np.zeros(n, dtype=np.int8)}
    )
    plain = np.ones(len(rows)) if weight is None else weight
    counts = np.bincount(cells, minlength=n).astype(np.float64)
    sums = [counts, counts if weight is None else np.bincount(cells, weight, minlength=n)]
    for each in values:
        weighted = each if weight is None else each * weight
        sums.append(np.bincount(cells, weighted, minlength=n))
        negative = each.min(initial=0.0) < 0
        sums.append(np.bincount(cells, np.abs(weighted), minlength=n) if negative else sums[-1])
    lists: tuple[Lists, ...] = ()
    parts: tuple[pl.DataFrame, ...] = ()
    if owner is None:
        lists = tuple(empty_lists(n) for _ in range(1 + len(values)))
        for each, of in zip((np.ones(len(rows)), *values), lists, strict=True):
            keep_largest(cells, each, plain, rows, of)
    else:
        parts = (_parts(cells, owner, weight, values),)
    return _Block(
        codes=codes,
        sums=np.column_stack(sums),
        keys=np.zeros(n) if keys is None else _sum_keys(cells, keys, n),
        lists=lists,
        parts=parts,
    )


def _grouped(
    numbers: Sequence[NDArray[np.int32]], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each combination, and the combination of each row."""
    n = len(numbers[0])
    if prod(sizes) > max(1 << 16, 4 * n):
        return group_codes(np.column_stack(numbers), sizes)
    keys = numbers[0].astype(np.int64)
    for each, size in zip(numbers[1:], sizes[1:], strict=True):
        keys = keys * size + each
    first = np.full(prod(sizes), n, dtype=np.int64)
    first[keys[::-1]] = np.arange(n)[::-1]  # the last that is written is the first row
    there = np.flatnonzero(first < n)
    cells = np.zeros(len(first), dtype=np.int64)
    cells[there] = np.arange(len(there))
    return first[there], cells[keys]


def _sum_keys(cells: NDArray[np.int64], keys: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sum of the keys of each cell, modulo 1 and exactly: 2^20 keys fit in a float."""
    found: NDArray[np.float64] = np.zeros(n)
    for start in range(0, len(keys), 1 << 20):
        run = slice(start, start + (1 << 20))
        found = (found + np.bincount(cells[run], keys[run], minlength=n)) % _KEY_PARTS
    return found / _KEY_PARTS


def _parts(
    cells: NDArray[np.int64],
    owner: pl.Series,
    weight: NDArray[np.float64] | None,
    values: Sequence[NDArray[np.float64]],
) -> pl.DataFrame:
    """Return what each row gives its owner in its cell: rows, weight, and each measure."""
    columns: dict[str, Any] = {"cell": cells, "owner": owner, "rows": np.ones(len(cells))}
    if weight is not None:
        columns["weight"] = weight
    for at, each in enumerate(values):
        columns[f"plain {at}"] = each
        if weight is not None:
            columns[f"weighted {at}"] = each * weight
    return pl.DataFrame(columns)


def _merge(left: _Found, right: _Found) -> _Found:
    return _Found(
        faults=left.faults + right.faults,
        paths=tuple(
            pl.concat([one, two]).unique(maintain_order=True)
            for one, two in zip(left.paths, right.paths, strict=True)
        ),
        blocks=tuple(
            _merge_blocks(one, two) for one, two in zip(left.blocks, right.blocks, strict=True)
        ),
    )


def _merge_blocks(left: _Block, right: _Block) -> _Block:
    codes = pl.concat([left.codes, right.codes])
    groups = (
        codes.with_columns(row=pl.int_range(pl.len()))
        .group_by(codes.columns, maintain_order=True)
        .agg("row")
    )
    n = groups.height
    into = np.empty(codes.height, dtype=np.int64)
    into[groups["row"].explode().to_numpy()] = np.repeat(
        np.arange(n), groups["row"].list.len().to_numpy()
    )
    sums = np.concatenate([left.sums, right.sums])
    keys = np.concatenate([left.keys, right.keys])
    later = into[left.codes.height :]
    parts = (
        *(_moved(each, into) for each in left.parts),
        *(_moved(each, later) for each in right.parts),
    )
    return _Block(
        codes=groups.select(codes.columns),
        sums=np.column_stack([np.bincount(into, each, minlength=n) for each in sums.T]),
        keys=np.bincount(into, keys, minlength=n) % 1.0,
        lists=tuple(
            joined_lists(concatenated([one, two]), into, n)
            for one, two in zip(left.lists, right.lists, strict=True)
        ),
        parts=parts if len(parts) < _MOST_PARTS else (_shortened(parts),),
    )


def _moved(parts: pl.DataFrame, into: NDArray[np.int64]) -> pl.DataFrame:
    return parts.with_columns(cell=pl.Series(into[parts["cell"].to_numpy()]))


def _shortened(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one frame in which an owner has one row for each cell."""
    whole = pl.concat(parts)
    return whole.group_by("cell", "owner", maintain_order=True).agg(pl.col(whole.columns[2:]).sum())


def _check_faults(faults: Mapping[tuple[str, str], int], policy: TablesPolicy) -> None:
    """Raise where rows can't be tabulated; the number of such rows is said."""
    signed = {each.value for each in policy.tables if each.negative}
    for (fault, column), n in faults.items():
        if not n or (fault == "negative" and column in signed):
            continue
        what, hint = _FAULTS[fault]
        raise DataError(f"Column {column!r} has {n:,} {what}.", hint=hint)


_FAULTS: Final = {
    "missing": (
        "missing cells",
        "Fill them, or leave these rows out. In a dimension, missing names a code for them.",
    ),
    "empty": ("codes that are an empty text", "Give them a name, or make them missing cells."),
    "large": (
        "whole numbers of 2^53 or more",
        "Their sums would not be exact: divide them, as by thousands.",
    ),
    "infinite": ("infinite numbers", "A sum needs finite numbers."),
    "negative": (
        "negative numbers",
        "Where contributions may be negative, as profits are, say negative = true for each table.",
    ),
    "weight": (
        "weights that aren't above 0",
        "Leave rows that stand for nobody out before tabulating.",
    ),
}


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
    """Inner cells with positions of codes, and parts of owners in the order of owners."""

    block: _Block
    chosen: tuple[int, ...]
    codes: NDArray[np.int32]
    owners: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    parts: pl.DataFrame | None


def _numbered(block: _Block, plan: _Plan, at: int, dimensions: Sequence[Dimension]) -> _Inner:
    chosen = plan.sets[at]
    codes = np.zeros((block.codes.height, len(chosen)), dtype=np.int32)
    for column, dimension in enumerate(chosen):
        texts = block.codes[str(column)].cast(pl.String)
        codes[:, column] = texts.cast(pl.Enum(dimensions[dimension].codes)).to_physical().to_numpy()
    if not block.parts:
        return _Inner(block=block, chosen=chosen, codes=codes, owners=None, parts=None)
    parts = pl.concat(block.parts)
    order, starts, numbers = _group_owners(parts["owner"])
    return _Inner(
        block=block,
        chosen=chosen,
        codes=codes,
        owners=(starts, numbers),
        parts=parts.drop("owner")[order],
    )


def _group_owners(
    owner: pl.Series,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of rows by owner, where each owner starts in it, and a number for each.

    Owners have numbers in the order of their first rows. Rows are sorted by hashes of owners, which
    takes a fraction of the time; two owners of one hash are told apart.
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
    plan: _Plan,
    policy: TablesPolicy,
    dimensions: tuple[Dimension, ...],
    inner: Sequence[_Inner],
    faults: Mapping[tuple[str, str], int],
) -> Cells:
    """Return the cells of one measure in all its tables."""
    tables = [each for each in policy.tables if each.value == measure]
    crossed = {each.name: tuple(map(plan.names.index, each.dimensions)) for each in tables}
    at = 0 if measure is None else 1 + plan.measures.index(measure)
    pieces = []
    for chosen in _largest_sets(tuple(sorted(each)) for each in crossed.values()):
        of = next(each for each in inner if set(chosen) <= set(each.chosen))
        pieces.append(_piece(of, chosen, at, dimensions))
    if policy.zeros == "suppressible":
        pieces += [_empty_cells(grid_codes(each, dimensions)) for each in crossed.values()]
    whole = _united(pieces, dimensions)
    is_signed = measure is not None and faults["negative", measure] > 0
    value, absolute = whole.sums[:, 1], whole.sums[:, 2 if is_signed else 1]
    return Cells(
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
    value, absolute = (1, 1) if not at else (2 * at, 2 * at + 1)
    columns = [0, value, absolute, 0]
    sums = block.sums[:, columns]
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
    owners = None if inner.owners is None else _owners(inner, into, at, tally)
    names = ", ".join(repr(each.name) for each in used)
    found = add_totals(tally, used, owners, what=f"A table that crosses {names}")
    codes = np.tile(
        np.array([each.position[each.total] for each in dimensions], dtype=np.int32),
        (len(found.codes), 1),
    )
    codes[:, list(chosen)] = found.codes
    return replace(found, codes=codes)


def _owners(inner: _Inner, into: NDArray[np.int64], at: int, tally: CellSums) -> Owners:
    """Count owners who are in one inner cell, and return the others."""
    parts = inner.parts
    assert inner.owners is not None  # noqa: S101 # the caller has asked
    assert parts is not None  # noqa: S101 # the same
    starts, numbers = inner.owners
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


def grid_codes(chosen: Sequence[int], dimensions: Sequence[Dimension]) -> NDArray[np.int32]:
    """Return the codes of every possible cell of a table that crosses some dimensions."""
    ranges = [
        np.arange(len(each.codes)) if at in chosen else np.array([each.position[each.total]])
        for at, each in enumerate(dimensions)
    ]
    if not ranges:
        return np.zeros((1, 0), dtype=np.int32)
    codes = np.stack([each.ravel() for each in np.meshgrid(*ranges, indexing="ij")], axis=1)
    return codes.astype(np.int32)


def _empty_cells(codes: NDArray[np.int32]) -> CellSums:
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


def _renumbered(owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return owners by numbers from 0 in the same order; -1 stays."""
    known = np.sort(owners[owners >= 0])
    different = known[np.diff(known, prepend=-1) > 0]
    return np.where(owners >= 0, np.searchsorted(different, owners), -1)


def cells_of_tables(
    crossed: Mapping[str, tuple[int, ...]],
    codes: NDArray[np.int32],
    dimensions: Sequence[Dimension],
) -> dict[str, NDArray[np.int64]]:
    """Return the cells of each table, in the order in which it shows them."""
    totals = np.array([each.position[each.total] for each in dimensions])
    at_total = codes == totals
    found = {}
    for table, chosen in crossed.items():
        others = [at for at in range(len(dimensions)) if at not in chosen]
        cells = np.flatnonzero(at_total[:, others].all(axis=1))
        keys = row_keys(
            codes[np.ix_(cells, list(chosen))], [len(dimensions[at].codes) for at in chosen]
        )
        found[table] = cells[np.argsort(keys, kind="stable")]
    return found

"""Tables that are ready: cells with their totals, checked and linked to one system.

A cell that a table lacks is 0, a total the sum of its parts; `CellSystem.added` counts these. Sums
must hold within half a unit of the last decimal for each cell: `CellSystem.rounding`; whole counts
exactly.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ColumnWarning, DataError, SchemaError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._cells import LARGEST, CellSystem, Contributors, build_equations
from halfmask.crosstabs._hierarchies import build_dimensions, columns_of
from halfmask.crosstabs._policy import DimensionSection
from halfmask.crosstabs._tabulate import cells_of_tables, check_size, grid_codes
from halfmask.data import ReadOptions, Source, leaf_text, open_table
from halfmask.data.io.formats import TEXT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy.sparse import csr_array

    from halfmask.crosstabs._arrays import Codes, Floats, Ints
    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import ReadySection, TablesPolicy

#: Decimals of numbers that are looked for; numbers with more aren't rounded.
_MOST_DECIMALS: Final = 9
_SIZES: Final = pl.List(pl.Float64)
#: Of the sum of sizes: what floating-point sums may differ by.
_NEAR: Final = 1e-12


@dataclass(slots=True, kw_only=True)
class _Table:
    """One ready table, with the path of codes of each row in each of its dimensions.

    ``cells`` has value, count (NaN if unknown), largest (a list), and row: that of its file, 0 for
    an added total. Placed cells also have positions of codes, by the number of a dimension, and
    ``none``: a key that tables without dimensions have as well.
    """

    name: str
    paths: Mapping[str, Sequence[tuple[str, ...]]]
    cells: pl.DataFrame


def read_ready(
    tables: Mapping[str, object],
    policy: TablesPolicy,
    section: ReadySection,
    *,
    progress: Progress = silent,
) -> tuple[CellSystem, ...]:
    """Return the cells of ready tables as one system; see the module."""
    progress("reading ready tables")
    found = [_read(name, where, policy, section) for name, where in tables.items()]
    paths: dict[str, dict[tuple[str, ...], None]] = {}
    for table in found:
        for name, texts in table.paths.items():
            paths.setdefault(name, {}).update(dict.fromkeys(texts))
    dimensions = tuple(build_dimensions(policy, paths, order={}, totals_too=True).values())
    crossed = {table.name: tuple(table.paths) for table in found}
    check_size(crossed, dimensions, zeros=policy.zeros, progress=progress)
    is_count = section.count in (None, section.value) and not section.largest
    decimals = _decimals(np.concatenate([each.cells["value"] for each in found]))
    rounding = 0.0 if decimals is None or (is_count and not decimals) else 0.5 * 10.0**-decimals
    for table in found:
        placed = _placed(table, dimensions)
        _check_named_totals(placed, table, dimensions)
        table.cells = _with_totals(placed, table, dimensions)
        _check_sums(table, dimensions, rounding)
    return (_linked(found, policy, section, dimensions, rounding, is_count=is_count),)


def _read(name: str, where: object, policy: TablesPolicy, section: ReadySection) -> _Table:
    """Read one table."""
    with warnings.catch_warnings():  # it is opened again when the columns of codes are known
        warnings.simplefilter("ignore", ColumnWarning)
        source = open_table(where, called=f"The table {name!r}")
    names = _dimensions_of(name, source, policy, section)
    columns = [column for each in names for column in columns_of(policy, each)]
    if not isinstance(where, Source):
        texts = dict.fromkeys(columns, "string") if source.format in TEXT_FORMATS else {}
        source = open_table(where, options=ReadOptions(dtypes=texts))
    counted = [] if section.count is None else [section.count]
    read = dict.fromkeys([section.value, *counted, *section.largest])
    frame = source.read(columns=list(dict.fromkeys([*columns, *read])))
    may_be = any(each.negative for each in policy.tables if each.name == name)
    numbers = {
        each: _numbers(frame[each], name, negative=may_be and each not in counted) for each in read
    }
    _check_contributors(name, numbers[section.value], numbers.get(section.count or ""))
    cells = pl.DataFrame({"value": numbers[section.value], "row": range(1, frame.height + 1)})
    largest = [numbers[each] for each in section.largest[:LARGEST]]
    return _Table(
        name=name,
        paths={each: _paths(frame, name, policy, each) for each in names},
        cells=cells.with_columns(
            none=0,
            count=numbers[section.count] if section.count else np.nan,
            largest=pl.concat_list(largest) if largest else pl.lit([], _SIZES),
        ),
    )


def _check_contributors(name: str, value: pl.Series, count: pl.Series | None) -> None:
    """Refuse values that nobody contributes: rules would take their cells for empty."""
    empty = 0 if count is None else int(((count == 0) & (value != 0)).sum())
    if empty:
        raise DataError(
            f"Table {name!r} has {empty:,} cells without contributors that aren't 0.",
            hint="Correct their number of contributors: rules would take them for empty.",
        )


def _dimensions_of(
    name: str, source: Source, policy: TablesPolicy, section: ReadySection
) -> Sequence[str]:
    """Return the dimensions of a table: those of the policy, or its columns but for numbers."""
    for each in policy.tables:
        if each.name == name:
            return each.dimensions
    numbers = {section.value, section.count, *section.largest}
    of_levels = {each: key for key, one in policy.dimensions.items() for each in one.levels}
    names = dict.fromkeys(
        of_levels.get(column, column) for column in source.columns if column not in numbers
    )
    floats = [each for each in names if each in source.dtypes and source.dtypes[each].is_float()]
    if floats:
        raise SchemaError(
            f"Column {floats[0]!r} of table {name!r} has numbers with decimals and isn't named.",
            hint="Name it as count or largest, or leave the column out. In a policy, list the "
            "dimensions of each table by [[tables]].",
        )
    return list(names)


def _paths(
    frame: pl.DataFrame, table: str, policy: TablesPolicy, name: str
) -> list[tuple[str, ...]]:
    """Return each row's path of codes; a total of columns of levels has no codes below it."""
    section = policy.dimensions.get(name) or DimensionSection()
    columns = [leaf_text(each) for each in frame.select(columns_of(policy, name))]
    if len(columns) == 1:
        only = columns[0] if section.missing is None else columns[0].fill_null(section.missing)
        if only.null_count():
            raise DataError(
                f"Column {only.name!r} of table {table!r} has {only.null_count():,} missing cells.",
                hint="Write the code of the total, or name a code by missing in the policy.",
            )
        return [(code,) for code in only]
    return [
        tuple(code for code in row if code not in (None, section.total)) or (section.total,)
        for row in zip(*columns, strict=True)
    ]


def _numbers(series: pl.Series, table: str, *, negative: bool) -> pl.Series:
    """Return a column of numbers, or raise with the number of cells that are none."""
    if not series.dtype.is_numeric():
        raise SchemaError(
            f"Column {series.name!r} of table {table!r} must have numbers; its type is "
            f"{series.dtype}.",
            hint="Ready tables need true values; cells that are hidden already can't be protected.",
        )
    found = series.cast(pl.Float64)
    for n, what, hint in (
        (found.null_count(), "missing cells", "Leave lines of cells that nobody is in out."),
        (int(found.is_infinite().sum()), "infinite numbers", "A sum needs finite numbers."),
        (
            0 if negative else int((found < 0).sum()),
            "negative numbers",
            "Say negative = true for the table in the policy if cells may be negative.",
        ),
    ):
        if n:
            raise DataError(
                f"Column {series.name!r} of table {table!r} has {n:,} {what}.", hint=hint
            )
    return found


def _decimals(values: Floats) -> int | None:
    """Return how many decimals numbers have at most; ``None`` if they aren't rounded."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(values, decimals), values, rtol=4e-16, atol=0.0):
            return decimals
    return None


def _keys(dimensions: Sequence[Dimension]) -> list[str]:
    """Return the columns that tell cells apart."""
    return ["none", *(str(at) for at in range(len(dimensions)))]


def _placed(table: _Table, dimensions: Sequence[Dimension]) -> pl.DataFrame:
    """Return cells with the positions of their codes, and raise where one stands twice."""
    codes = {}
    for at, each in enumerate(dimensions):
        texts = table.paths.get(each.name, [(each.total,)] * table.cells.height)
        codes[str(at)] = pl.Series([each.position[path[-1]] for path in texts], dtype=pl.Int32)
    cells = table.cells.with_columns(**codes)
    rows = cells.group_by(_keys(dimensions), maintain_order=True).agg("row")["row"]
    twice = rows.filter(rows.list.len() > 1)
    if len(twice):
        first, second = twice[0][:2]
        raise DataError(
            f"Table {table.name!r} has {cells.height - len(rows):,} cells twice; one stands in its "
            f"rows {first} and {second}.",
            hint="Each combination of codes needs one row. A column that tells these rows apart "
            "must be a dimension.",
        )
    return cells


def _check_named_totals(
    cells: pl.DataFrame, table: _Table, dimensions: Sequence[Dimension]
) -> None:
    """Raise where the total has another name: it would be counted twice.

    Such a code is the sum of all others everywhere; in one combination that can be by chance.
    """
    for at, each in enumerate(dimensions):
        key, others = str(at), [it for it in _keys(dimensions) if it != str(at)]
        n_groups = cells.select(others).n_unique()
        has_total = each.position[each.total] in cells[key]
        if each.name not in table.paths or has_total or n_groups == 1 or len(each.leaves) <= 2:
            continue
        rest = pl.col("value").sum().over(others) - pl.col("value")
        is_sum = (pl.col("value") - rest).abs() <= _NEAR * pl.col("value")
        codes = cells.with_columns(is_sum=is_sum).group_by(key)
        found = codes.agg(pl.col("is_sum").all(), pl.len(), pl.col("value").sum())
        if found.filter("is_sum", pl.col("len") == n_groups, pl.col("value") > 0).height:
            raise DataError(
                f"In table {table.name!r} a code of dimension {each.name!r} is the sum of all "
                f"others in each of {n_groups} combinations, and isn't the code of the total.",
                hint="Name it as the total: [[total|--total]], or total in the policy.",
            )


def _with_totals(
    cells: pl.DataFrame, table: _Table, dimensions: Sequence[Dimension]
) -> pl.DataFrame:
    """Return cells with the totals that a table lacks, added from the bottom up."""
    keys = _keys(dimensions)
    n_sizes = cells.select(pl.col("largest").list.len().max()).item() or 0
    by_size = pl.element().sort_by(pl.element().abs(), descending=True)
    sizes = pl.col("largest").list.eval(by_size.head(n_sizes))  # so many are known of a sum, too
    own = [at for at, each in enumerate(dimensions) if each.name in table.paths]
    # First sums of what isn't a sum along a later dimension: all their parts are there by then.
    for at, later in [(at, own[own.index(at) + 1 :]) for at in own] + [(at, []) for at in own]:
        inner = [
            pl.col(str(it)).is_in([dimensions[it].position[leaf] for leaf in dimensions[it].leaves])
            for it in later
        ]
        dimension = dimensions[at]
        for each in sorted(dimension.sums, key=lambda one: len(dimension.covers[one.total])):
            parts = [dimension.position[part] for part in each.parts]
            total = pl.lit(dimension.position[each.total], dtype=pl.Int32).alias(str(at))
            moved = cells.filter(pl.col(str(at)).is_in(parts), *inner).with_columns(total)
            lacking = moved.join(cells, on=keys, how="anti", maintain_order="left")
            added = lacking.group_by(keys, maintain_order=True).agg(
                pl.col("value", "count").sum(),
                pl.col("largest").explode(empty_as_null=False),
                row=pl.lit(0, dtype=pl.Int64),
            )
            cells = pl.concat([cells, added.with_columns(sizes).select(cells.columns)])
    return cells


def _codes(cells: pl.DataFrame, dimensions: Sequence[Dimension]) -> Codes:
    """Return the positions of the codes of cells, one row for each."""
    codes = cells.select(_keys(dimensions)[1:]).to_numpy()
    return codes.astype(np.int32).reshape(cells.height, len(dimensions))


def _check_sums(table: _Table, dimensions: Sequence[Dimension], rounding: float) -> None:
    """Raise where a total isn't the sum of its parts."""
    codes = _codes(table.cells, dimensions)
    equations = build_equations(codes, dimensions)
    wrong, share = _wrong_sums(equations, table.cells["value"].to_numpy(), rounding)
    if not len(wrong):
        return
    worst = int(wrong[np.argmax(share[wrong])])
    equation = equations[[worst]]
    total, parts = equation.indices[equation.data < 0][0], equation.indices[equation.data > 0]
    along = int(np.flatnonzero(codes[parts[0]] != codes[total])[0])
    row = table.cells["row"][int(total)]
    where = f"the total in row {row}" if row else "a total that the table lacks"
    raise DataError(
        f"Table {table.name!r} isn't additive: {len(wrong):,} of {equations.shape[0]:,} sums don't "
        f"hold. The worst is along dimension {dimensions[along].name!r}: {where} differs from the "
        f"sum of its {len(parts)} parts by {share[worst]:.2%} of it.",
        hint="Look for a part that is missing or counted twice, and for a hierarchy that is "
        "missing or of another year.",
    )


def _wrong_sums(equations: csr_array, value: Floats, rounding: float) -> tuple[Ints, Floats]:
    """Return the equations that don't hold, and by what share of the total each fails."""
    off = np.abs(equations @ value)
    sizes = abs(equations) @ np.abs(value)
    terms = np.diff(equations.indptr)
    wrong = off > rounding * terms * (1 + 1e-6) + _NEAR * sizes
    totals = abs(equations.minimum(0)) @ np.abs(value)
    share = off / np.maximum(totals, np.maximum(sizes - totals, 1e-300))
    return np.flatnonzero(wrong), share


def _linked(
    tables: Sequence[_Table],
    policy: TablesPolicy,
    section: ReadySection,
    dimensions: tuple[Dimension, ...],
    rounding: float,
    *,
    is_count: bool,
) -> CellSystem:
    """Return the cells of all tables, each once, in the order of their codes."""
    keys = _keys(dimensions)
    whole = pl.concat([each.cells.with_columns(table=pl.lit(each.name)) for each in tables])
    whole = whole.sort(pl.col("row") == 0, maintain_order=True)
    found = whole.unique(keys, keep="first", maintain_order=True)
    _check_agreement(whole.join(found, on=keys, how="left", suffix="-first"), rounding)
    names = [each.name for each in dimensions]
    crossed = {each.name: tuple(names.index(name) for name in each.paths) for each in tables}
    added = found.filter(pl.col("row") == 0).height
    if policy.zeros == "suppressible":
        grids = [_zeros(grid_codes(each, dimensions)) for each in crossed.values()]
        found = pl.concat([found, *grids], how="diagonal")
        found = found.unique(keys, keep="first", maintain_order=True)
    found = found.sort(keys)
    codes, value = _codes(found, dimensions), found["value"].to_numpy()
    count = value if is_count else found["count"].to_numpy()
    sizes = found["largest"].list
    largest = [sizes.get(at, null_on_oob=True).fill_null(np.nan) for at in range(LARGEST)]
    signed = any(each.negative for each in policy.tables)
    return CellSystem(
        measure=None if is_count else section.value,
        dimensions=dimensions,
        codes=codes,
        value=value,
        contributors=Contributors(
            rows=np.where(np.isnan(count), -1, np.round(count)).astype(np.int64),
            count=count,
            largest=np.column_stack(largest),
            owners=np.full((len(value), LARGEST), -1, dtype=np.int64),
            absolute=np.full(len(value), np.nan) if signed else value,
        )
        if is_count or section.count or section.largest
        else None,
        equations=build_equations(codes, dimensions),
        tables=cells_of_tables(crossed, codes, dimensions),
        added=added,
        rounding=rounding,
    )


def _zeros(codes: Codes) -> pl.DataFrame:
    """Return cells that nobody is in."""
    cells = pl.DataFrame({str(at): codes[:, at] for at in range(codes.shape[1])})
    nobody = pl.lit([0.0] * LARGEST, _SIZES)
    return cells.with_columns(none=0, value=0.0, count=0.0, largest=nobody)


def _check_agreement(cells: pl.DataFrame, rounding: float) -> None:
    """Raise where two tables disagree on a cell that both have: each stands beside the first."""
    read = (pl.col("row") > 0) & (pl.col("row-first") > 0)
    for name, near, compared in (
        ("value", 2 * rounding, pl.lit(value=True)),
        ("count", 0.0, read),
        ("largest", 2 * rounding, read),
    ):
        own, other = pl.col(name), pl.col(f"{name}-first")
        if name == "largest":
            own, other = own.list.first(), other.list.first()
        size, off = pl.max_horizontal(own.abs(), other.abs()), (own - other).abs().fill_nan(None)
        wrong = cells.with_columns(share=off / size).filter(
            compared & (off > near * (1 + 1e-6) + 1e-9 * size)
        )
        if wrong.height:
            worst = wrong.row(wrong["share"].arg_max() or 0, named=True)
            raise DataError(
                f"Tables {worst['table-first']!r} (row {worst['row-first']}) and "
                f"{worst['table']!r} (row {worst['row']}) disagree by {worst['share']:.2%} on a "
                f"cell that both have; so do {wrong.height:,} cells. Row 0 is a total that was "
                "added.",
                hint="Linked tables must be made of the same data.",
            )

"""Tables that are ready: cells with their totals, checked and linked to one system.

A file, a folder of files, a list of files, a mapping of names to frames, or one frame: each is a
table, and those of one policy are linked. Codes of totals are known by the dimensions of the
policy: a column without a declared tree is a flat list with the code of its total. Totals that a
table lacks are added as sums of their parts; `Cells.added` counts them. A cell that a table lacks
is 0.

Sums must hold within the rounding of the numbers: half a unit of the last decimal that is written,
for each cell of the sum. `Cells.rounding` keeps it. Whole counts must add up exactly.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ColumnWarning, DataError, PolicyError, SchemaError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._cells import LARGEST, Cells, Contributors, build_equations, row_keys
from halfmask.crosstabs._hierarchies import build_dimensions, columns_of
from halfmask.crosstabs._tabulate import cells_of_tables, check_size, grid_codes
from halfmask.data import ReadOptions, Source, leaf_text, open_table
from halfmask.data.io.formats import TEXT_FORMATS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import ReadySection, TablesPolicy

#: Decimals of numbers that are looked for; numbers with more aren't rounded.
_MOST_DECIMALS: Final = 9
#: Of the sum of sizes: what floating-point sums may differ by.
_NEAR: Final = 1e-12


@dataclass(slots=True, kw_only=True)
class _Table:
    """One ready table: ``rows`` is the number of each cell's row in its file, 0 for added ones."""

    name: str
    names: tuple[str, ...]
    texts: list[list[tuple[str, ...]]]
    codes: NDArray[np.int32]
    value: NDArray[np.float64]
    count: NDArray[np.float64]
    largest: NDArray[np.float64]
    rows: NDArray[np.int64]


def read_ready(
    tables: object, policy: TablesPolicy, *, progress: Progress = silent
) -> tuple[Cells, ...]:
    """Return the cells of ready tables as one system; see the module."""
    section = policy.ready
    if section is None:
        raise PolicyError("A ready table needs [ready] in the policy.", hint="Name its columns.")
    progress("reading ready tables")
    declared = {each.name: each for each in policy.tables}
    found = [
        _read(
            name,
            where,
            policy,
            section,
            declared[name].dimensions if name in declared else None,
        )
        for name, where in _named(tables, policy).items()
    ]
    paths: dict[str, list[tuple[str, ...]]] = {}
    for table in found:
        for name, texts in zip(table.names, table.texts, strict=True):
            paths.setdefault(name, []).extend(texts)
    unique = {name: list(dict.fromkeys(texts)) for name, texts in paths.items()}
    dimensions = tuple(build_dimensions(policy, unique, order={}, totals_too=True).values())
    check_size(
        {table.name: table.names for table in found},
        dimensions,
        zeros=policy.zeros,
        progress=progress,
    )
    is_count = section.count in (None, section.value) and not section.largest
    decimals = _decimals(np.concatenate([each.value for each in found]))
    rounding = 0.0 if decimals is None or (is_count and not decimals) else 0.5 * 10.0**-decimals
    for table in found:
        _place(table, dimensions)
        _add_totals(table, dimensions)
        _check_sums(table, dimensions, rounding)
    return (_linked(found, policy, dimensions, rounding, is_count=is_count),)


def _named(tables: object, policy: TablesPolicy) -> dict[str, object]:
    """Return each table by its name."""
    wanted = [each.name for each in policy.tables]
    if isinstance(tables, Mapping):
        found: dict[str, object] = {str(name): where for name, where in tables.items()}
    elif isinstance(tables, str | Path) and Path(tables).is_dir():
        found = {path.name.partition(".")[0]: path for path in _files(Path(tables), policy)}
    elif isinstance(tables, list | tuple):
        found = {Path(path).stem: path for path in tables}
        if len(found) < len(tables):
            raise DataError("Two ready tables have one name.", hint="Rename one of the files.")
    elif isinstance(tables, str | Path):
        return {wanted[0] if len(wanted) == 1 else Path(tables).stem: tables}
    else:
        return {wanted[0] if len(wanted) == 1 else "table": tables}
    missing = [name for name in wanted if name not in found]
    if missing or not found:
        raise DataError(
            f"There are no ready tables of these names: {', '.join(map(repr, missing))}."
            if missing
            else "The folder has no ready tables.",
            hint="The name of a table is that of its file, without the ending.",
        )
    return {name: found[name] for name in wanted or found}


def _files(folder: Path, policy: TablesPolicy) -> list[Path]:
    """Return the files of a folder that aren't hierarchies, in order."""
    base = policy.folder or Path()
    trees = {
        (base / each.hierarchy).resolve() for each in policy.dimensions.values() if each.hierarchy
    }
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and path.name[0] not in "._"
        and path.suffix.lower() != ".hrc"
        and path.resolve() not in trees
    ]


def _read(
    name: str,
    where: object,
    policy: TablesPolicy,
    section: ReadySection,
    dimensions: Sequence[str] | None,
) -> _Table:
    """Read one table."""
    with warnings.catch_warnings():  # it is opened again when the columns of codes are known
        warnings.simplefilter("ignore", ColumnWarning)
        source = open_table(where, called=f"The table {name!r}")
    names = _dimensions_of(name, source, policy, section, dimensions)
    columns = [column for each in names for column in columns_of(policy, each)]
    if not isinstance(where, Source):
        texts = dict.fromkeys(columns, "string") if source.format in TEXT_FORMATS else {}
        source = open_table(where, options=ReadOptions(dtypes=texts))
    counted = [each for each in (section.count,) if each is not None]
    frame = source.read(
        columns=list(dict.fromkeys([*columns, section.value, *counted, *section.largest]))
    )
    negative = any(each.negative for each in policy.tables if each.name == name)
    n = frame.height
    largest = np.full((n, LARGEST), np.nan)
    for at, column in enumerate(section.largest[:LARGEST]):
        largest[:, at] = _numbers(frame[column], name, negative=negative)
    sections = policy.dimensions
    return _Table(
        name=name,
        names=tuple(names),
        texts=[
            _paths(
                frame.select(columns_of(policy, each)),
                name,
                total=sections[each].total if each in sections else "Total",
                missing=sections[each].missing if each in sections else None,
            )
            for each in names
        ],
        codes=np.empty((n, 0), dtype=np.int32),
        value=_numbers(frame[section.value], name, negative=negative),
        count=_numbers(frame[section.count], name, negative=False)
        if section.count
        else np.full(n, np.nan),
        largest=largest,
        rows=np.arange(1, n + 1),
    )


def _dimensions_of(
    name: str,
    source: Source,
    policy: TablesPolicy,
    section: ReadySection,
    declared: Sequence[str] | None,
) -> Sequence[str]:
    """Return the dimensions of a table: those of the policy, or its columns but for numbers."""
    if declared is not None:
        return declared
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
    frame: pl.DataFrame, table: str, *, total: str, missing: str | None
) -> list[tuple[str, ...]]:
    """Return each row's path of codes; a total of columns of levels has no codes below it."""
    columns = [
        leaf_text(each.cast(pl.String) if each.dtype in (pl.Categorical, pl.Enum) else each)
        for each in frame
    ]
    if len(columns) == 1:
        only = columns[0] if missing is None else columns[0].fill_null(missing)
        if only.null_count():
            raise DataError(
                f"Column {only.name!r} of table {table!r} has {only.null_count():,} missing cells.",
                hint="Write the code of the total, or name a code by missing in the policy.",
            )
        return [(code,) for code in only]
    paths = []
    for row in zip(*columns, strict=True):
        codes = [code for code in row if code is not None and code != total]
        paths.append(tuple(codes) or (total,))
    return paths


def _numbers(series: pl.Series, table: str, *, negative: bool) -> NDArray[np.float64]:
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
    return found.to_numpy()


def _decimals(values: NDArray[np.float64]) -> int | None:
    """Return how many decimals numbers have at most; ``None`` if they aren't rounded."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(values, decimals), values, rtol=4e-16, atol=0.0):
            return decimals
    return None


def _place(table: _Table, dimensions: Sequence[Dimension]) -> None:
    """Give each row the positions of its codes, and raise where a cell stands twice."""
    known = {each.name: each for each in dimensions}
    codes = np.tile(_totals(dimensions), (len(table.value), 1))
    for name, texts in zip(table.names, table.texts, strict=True):
        position = known[name].position
        codes[:, dimensions.index(known[name])] = [position[path[-1]] for path in texts]
    table.codes = codes
    keys = row_keys(codes, _sizes(dimensions))
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        first, second = table.rows[order[twice[0]]], table.rows[order[twice[0] + 1]]
        raise DataError(
            f"Table {table.name!r} has {len(twice):,} cells twice; one stands in its rows {first} "
            f"and {second}.",
            hint="Each combination of codes needs one row. A column that tells these rows apart "
            "must be a dimension.",
        )


def _totals(dimensions: Sequence[Dimension]) -> NDArray[np.int32]:
    return np.array([each.position[each.total] for each in dimensions], dtype=np.int32)


def _sizes(dimensions: Sequence[Dimension]) -> list[int]:
    return [len(each.codes) for each in dimensions]


def _add_totals(table: _Table, dimensions: Sequence[Dimension]) -> None:
    """Add the totals that a table lacks, from the bottom up."""
    sizes = _sizes(dimensions)
    for at, dimension in enumerate(dimensions):
        if dimension.name not in table.names:
            continue
        for each in sorted(dimension.sums, key=lambda one: len(dimension.covers[one.total])):
            total = dimension.position[each.total]
            is_part = np.isin(table.codes[:, at], [dimension.position[part] for part in each.parts])
            parts = np.flatnonzero(is_part)
            moved = table.codes[parts]
            moved[:, at] = total
            both = np.concatenate([table.codes[table.codes[:, at] == total], moved])
            keys = row_keys(both, sizes)
            there, wanted = keys[: len(both) - len(moved)], keys[len(both) - len(moved) :]
            lacking = ~np.isin(wanted, there)
            if lacking.any():
                _append(table, moved[lacking], parts[lacking], wanted[lacking])


def _append(
    table: _Table, codes: NDArray[np.int32], parts: NDArray[np.int64], keys: NDArray[np.int64]
) -> None:
    """Add cells that are sums of others; parts of one cell have the same key."""
    _, first, into = np.unique(keys, return_index=True, return_inverse=True)
    n = len(first)
    largest = np.full((n, LARGEST), np.nan)
    order = np.argsort(into, kind="stable")
    for cell, of in enumerate(np.split(parts[order], np.cumsum(np.bincount(into))[:-1])):
        sizes = table.largest[of]
        known = int((~np.isnan(sizes)).all(axis=0).sum())  # so many are the largest of the sum, too
        ordered = sorted(sizes[~np.isnan(sizes)], key=abs, reverse=True)
        largest[cell, :known] = ordered[:known]
    table.codes = np.concatenate([table.codes, codes[first]])
    table.value = np.append(table.value, np.bincount(into, table.value[parts]))
    table.count = np.append(table.count, np.bincount(into, table.count[parts]))
    table.largest = np.concatenate([table.largest, largest])
    table.rows = np.append(table.rows, np.zeros(n, dtype=np.int64))


def _check_sums(table: _Table, dimensions: Sequence[Dimension], rounding: float) -> None:
    """Raise where a total isn't the sum of its parts."""
    equations = build_equations(table.codes, dimensions)
    wrong, share = _wrong_sums(equations, table.value, rounding)
    if not len(wrong):
        return
    worst = int(wrong[np.argmax(share[wrong])])
    columns = equations.indices[equations.indptr[worst] : equations.indptr[worst + 1]]
    signs = equations.data[equations.indptr[worst] : equations.indptr[worst + 1]]
    total, parts = columns[signs < 0][0], columns[signs > 0]
    along = int(np.flatnonzero(table.codes[parts[0]] != table.codes[total])[0])
    row = table.rows[total]
    where = f"the total in row {row}" if row else "a total that the table lacks"
    raise DataError(
        f"Table {table.name!r} isn't additive: {len(wrong):,} of {equations.shape[0]:,} sums don't "
        f"hold. The worst is along dimension {dimensions[along].name!r}: {where} differs from the "
        f"sum of its {len(parts)} parts by {share[worst]:.2%} of it.",
        hint="Look for a part that is missing or counted twice, and for a hierarchy that is "
        "missing or of another year.",
    )


def _wrong_sums(
    equations: csr_array, value: NDArray[np.float64], rounding: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the equations that don't hold, and by what share of the total each fails."""
    off = np.abs(equations @ value)
    sizes = abs(equations) @ np.abs(value)
    terms = np.diff(equations.indptr)
    wrong = off > rounding * terms * (1 + 1e-6) + _NEAR * sizes
    totals = np.zeros(len(off))
    rows = np.repeat(np.arange(len(off)), terms)
    is_total = equations.data < 0
    totals[rows[is_total]] = np.abs(value[equations.indices[is_total]])
    share = off / np.maximum(totals, np.maximum(sizes - totals, 1e-300))
    return np.flatnonzero(wrong), share


def _linked(
    tables: Sequence[_Table],
    policy: TablesPolicy,
    dimensions: tuple[Dimension, ...],
    rounding: float,
    *,
    is_count: bool,
) -> Cells:
    """Return the cells of all tables, each once."""
    whole = _Shared.of(tables)
    _, first, into = np.unique(
        row_keys(whole.codes, _sizes(dimensions)), return_index=True, return_inverse=True
    )
    whole.check((first, into), rounding, [each.name for each in tables])
    crossed = {each.name: _crossed(each, dimensions) for each in tables}
    found = whole.take(first)
    if policy.zeros == "suppressible":
        found = found.with_zeros(
            np.concatenate([grid_codes(one, dimensions) for one in crossed.values()]), dimensions
        )
    count = found.value if is_count else found.count
    signed = any(each.negative for each in policy.tables)
    known = is_count or bool(policy.ready and (policy.ready.count or policy.ready.largest))
    return Cells(
        measure=None if is_count or policy.ready is None else policy.ready.value,
        dimensions=dimensions,
        codes=found.codes,
        value=found.value,
        contributors=Contributors(
            rows=np.where(np.isnan(count), -1, np.round(count)).astype(np.int64),
            count=count,
            largest=found.largest,
            owners=np.full(found.largest.shape, -1, dtype=np.int64),
            absolute=np.full(len(count), np.nan) if signed else found.value,
        )
        if known
        else None,
        equations=build_equations(found.codes, dimensions),
        tables=cells_of_tables(crossed, found.codes, dimensions),
        added=int((whole.rows[first] == 0).sum()),
        rounding=rounding,
    )


def _crossed(table: _Table, dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    names = [each.name for each in dimensions]
    return tuple(names.index(name) for name in table.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """Cells of several tables; those that stand in a file come before those that were added."""

    codes: NDArray[np.int32]
    value: NDArray[np.float64]
    count: NDArray[np.float64]
    largest: NDArray[np.float64]
    rows: NDArray[np.int64]
    table: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Sequence[_Table]) -> _Shared:
        """Return the cells of all tables, one after the other."""
        whole = cls(
            codes=np.concatenate([each.codes for each in tables]),
            value=np.concatenate([each.value for each in tables]),
            count=np.concatenate([each.count for each in tables]),
            largest=np.concatenate([each.largest for each in tables]),
            rows=np.concatenate([each.rows for each in tables]),
            table=np.repeat(np.arange(len(tables)), [len(each.value) for each in tables]),
        )
        return whole.take(np.argsort(whole.rows == 0, kind="stable"))

    def take(self, cells: NDArray[np.int64]) -> _Shared:
        """Return some of the cells."""
        return _Shared(**{each.name: getattr(self, each.name)[cells] for each in fields(self)})

    def check(
        self,
        cells: tuple[NDArray[np.int64], NDArray[np.int64]],
        rounding: float,
        names: Sequence[str],
    ) -> None:
        """Raise where two tables disagree on a cell that both have."""
        first = cells[0][cells[1]]
        read = (self.rows > 0) & (self.rows[first] > 0)
        for numbers, near, compared in (
            (self.value, 2 * rounding, np.ones(len(read), dtype=bool)),
            (self.count, 0.0, read),
            (self.largest[:, 0], 2 * rounding, read),
        ):
            own, other = numbers, numbers[first]
            off = np.where(compared & ~np.isnan(own) & ~np.isnan(other), np.abs(own - other), 0.0)
            sizes = np.maximum(np.abs(own), np.abs(other))
            wrong = np.flatnonzero(off > near * (1 + 1e-6) + 1e-9 * sizes)
            if len(wrong):
                worst = wrong[np.argmax(off[wrong] / sizes[wrong])]
                one, two = (names[self.table[each]] for each in (first[worst], worst))
                raise DataError(
                    f"Tables {one!r} (row {self.rows[first[worst]]}) and {two!r} (row "
                    f"{self.rows[worst]}) disagree by {off[worst] / sizes[worst]:.2%} on a cell "
                    f"that both have; so do {len(wrong):,} cells. Row 0 is a total that was added.",
                    hint="Linked tables must be made of the same data.",
                )

    def with_zeros(self, codes: NDArray[np.int32], dimensions: Sequence[Dimension]) -> _Shared:
        """Return these cells and those of further codes, which nobody is in, sorted."""
        n = len(codes)
        both = _Shared(
            codes=np.concatenate([self.codes, codes]),
            value=np.append(self.value, np.zeros(n)),
            count=np.append(self.count, np.zeros(n)),
            largest=np.concatenate([self.largest, np.zeros((n, LARGEST))]),
            rows=np.append(self.rows, np.zeros(n, dtype=np.int64)),
            table=np.append(self.table, np.zeros(n, dtype=np.int64)),
        )
        keys = row_keys(both.codes, _sizes(dimensions))
        return both.take(np.unique(keys, return_index=True)[1])

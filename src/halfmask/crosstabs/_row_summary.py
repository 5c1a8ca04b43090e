"""What batches of microdata are summarized to: inner cells, their sums and contributors.

Summaries add up. One has the codes of each largest set of dimensions that a table crosses, and what
rows give their owners. Rows that can't be tabulated are counted by column.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.crosstabs._totals import concatenated, empty_lists, group_codes, joined_lists
from halfmask.data import leaf_text
from halfmask.kernels.tabulation.largest import Lists, keep_largest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.crosstabs._arrays import Codes, Floats, Ints
    from halfmask.crosstabs._policy import TablesPolicy

#: Batches of owners are held side by side until there are so many.
_MOST_PARTS: Final = 8
#: A record key is kept as so many parts of 1, so that sums are exact.
_KEY_PARTS: Final = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
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
class InnerCells:
    """Inner cells of one set of dimensions: their codes as texts, sums, and who contributes.

    ``sums`` has rows and weight, then each measure's value and absolute value. ``lists`` has the
    largest rows by count and measure; with an owner column, ``parts`` what each has in each cell.
    """

    codes: pl.DataFrame
    sums: Floats
    keys: Floats
    lists: tuple[Lists, ...]
    parts: tuple[pl.DataFrame, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSummary:
    """The summary of some batches."""

    faults: Counter[tuple[str, str]]
    paths: tuple[pl.DataFrame, ...]
    blocks: tuple[InnerCells, ...]


def summarize_rows(plan: RowPlan, number: int, frame: pl.DataFrame) -> RowSummary:
    faults: Counter[tuple[str, str]] = Counter()
    coded, paths = [], []
    for columns, missing in zip(plan.columns, plan.missing, strict=True):
        counted = _counted(frame, columns)
        _count_code_faults(counted, columns, missing, faults)
        coded.append(_coded(frame[columns[-1]], counted.to_series(-2), missing))
        paths.append(counted.select(map(leaf_text, counted.get_columns()[:-1])))
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
    return RowSummary(faults=faults, paths=tuple(paths), blocks=blocks)


def _counted(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the distinct paths of codes from the top, and how many rows have each."""
    own = frame.select(frame[name].alias(str(at)) for at, name in enumerate(columns))
    return own.group_by(own.columns).len("rows")


def _count_code_faults(
    counted: pl.DataFrame,
    columns: Sequence[str],
    missing: str | None,
    faults: Counter[tuple[str, str]],
) -> None:
    is_code = counted.to_series(-2).is_not_null()
    for name, codes in zip(columns, counted.get_columns(), strict=False):
        if name != columns[-1] or missing is None:
            lacks = codes.is_null() & (is_code | (name == columns[-1]))
            faults["missing", name] += int(counted["rows"].filter(lacks).sum())
        if codes.dtype == pl.String:
            faults["empty", name] += int(counted["rows"].filter(codes == "").sum())


def _coded(series: pl.Series, codes: pl.Series, missing: str | None) -> tuple[Codes, pl.Series]:
    """Return a number for the code of each row, and the texts that these numbers stand for."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series, codes = series.cast(pl.String), codes.cast(pl.String)
    different = codes.drop_nulls().unique().sort()
    if series.dtype == pl.String:
        numbers = series.cast(pl.Enum(different)).to_physical().cast(pl.Int32)
    else:
        numbers = series.replace_strict(
            different, np.arange(len(different)), default=None, return_dtype=pl.Int32
        )
    texts = leaf_text(different).alias("").append(pl.Series([missing], dtype=pl.String))
    return numbers.fill_null(len(different)).to_numpy(), texts


def _numbers(series: pl.Series, faults: Counter[tuple[str, str]], sign: str) -> Floats:
    """Return numbers, and count those that can't be summed."""
    found = series.cast(pl.Float64)
    if series.dtype.is_integer():
        faults["large", series.name] += int((found.abs() >= 2.0**53).sum())
    faults["missing", series.name] += found.null_count()
    faults["infinite", series.name] += int(found.is_infinite().sum())
    below = found <= 0 if sign == "weight" else found < 0
    faults[sign, series.name] += int(below.sum())
    return found.fill_null(0.0).to_numpy()


def _key_parts(keys: pl.Series) -> Ints:
    """Return record keys as whole numbers below 2^32."""
    whole = np.floor((keys.to_numpy() % 1.0) * _KEY_PARTS) if keys.dtype.is_float() else keys
    return np.asarray(whole).astype(np.int64) % _KEY_PARTS


def _block(
    coded: Sequence[tuple[Codes, pl.Series]],
    rows: Ints,
    weight: Floats | None,
    values: Sequence[Floats],
    keys: Ints | None,
    owner: pl.Series | None,
) -> InnerCells:
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
    return InnerCells(
        codes=codes,
        sums=np.column_stack(sums),
        keys=np.zeros(n) if keys is None else _sum_keys(cells, keys, n),
        lists=lists,
        parts=parts,
    )


def _grouped(numbers: Sequence[Codes], sizes: Sequence[int]) -> tuple[Ints, Ints]:
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


def _sum_keys(cells: Ints, keys: Ints, n: int) -> Floats:
    """Return the sum of the keys of each cell, modulo 1 and exactly."""
    found = np.zeros(n, dtype=np.int64)
    np.add.at(found, cells, keys)
    return (found % _KEY_PARTS) / _KEY_PARTS


def _parts(
    cells: Ints, owner: pl.Series, weight: Floats | None, values: Sequence[Floats]
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


def merge_rows(left: RowSummary, right: RowSummary) -> RowSummary:
    return RowSummary(
        faults=left.faults + right.faults,
        paths=tuple(
            pl.concat([one, two]).unique(maintain_order=True)
            for one, two in zip(left.paths, right.paths, strict=True)
        ),
        blocks=tuple(
            _merge_cells(one, two) for one, two in zip(left.blocks, right.blocks, strict=True)
        ),
    )


def _merge_cells(left: InnerCells, right: InnerCells) -> InnerCells:
    codes = pl.concat([left.codes, right.codes])
    groups = codes.unique(maintain_order=True)
    numbered, n = groups.with_row_index("into"), groups.height
    into = codes.join(
        numbered, on=codes.columns, how="left", nulls_equal=True, maintain_order="left"
    )["into"].to_numpy()
    sums = np.concatenate([left.sums, right.sums])
    keys = np.concatenate([left.keys, right.keys])
    added = (np.bincount(into, keys, minlength=n) % 1.0).astype(np.float64)
    later = into[left.codes.height :]
    parts = (
        *(_moved(each, into) for each in left.parts),
        *(_moved(each, later) for each in right.parts),
    )
    return InnerCells(
        codes=groups,
        sums=np.column_stack([np.bincount(into, each, minlength=n) for each in sums.T]),
        keys=added,
        lists=tuple(
            joined_lists(concatenated([one, two]), into, n)
            for one, two in zip(left.lists, right.lists, strict=True)
        ),
        parts=parts if len(parts) < _MOST_PARTS else (_shortened(parts),),
    )


def _moved(parts: pl.DataFrame, into: Ints) -> pl.DataFrame:
    return parts.with_columns(cell=pl.Series(into[parts["cell"].to_numpy()]))


def _shortened(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one frame in which an owner has one row for each cell."""
    whole = pl.concat(parts)
    return whole.group_by("cell", "owner", maintain_order=True).agg(pl.col(whole.columns[2:]).sum())


def check_faults(faults: Mapping[tuple[str, str], int], policy: TablesPolicy) -> None:
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

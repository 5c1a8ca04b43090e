"""Numbers of released columns that can be compared and added without rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Texts of whole numbers; files without types hold numbers as text.
WHOLE: Final = r"^-?\d{1,38}$"
#: What a decimal has at most.
DIGITS: Final = 38


def as_exact(names: Sequence[str], table: pl.LazyFrame) -> list[pl.Expr] | None:
    """Return columns of whole numbers or decimals as such; ``None`` where one holds fractions."""
    schema = table.collect_schema()
    dtypes = [schema[name] for name in names]
    if all(
        dtype.is_integer() or (dtype == pl.String and _all_match(name, WHOLE, table))
        for name, dtype in zip(names, dtypes, strict=True)
    ):
        return [pl.col(name).cast(pl.Int128) for name in names]
    if all(dtype.is_integer() or dtype.is_decimal() for dtype in dtypes):
        scale = max(dtype.scale for dtype in dtypes if isinstance(dtype, pl.Decimal))
        return [pl.col(name).cast(pl.Decimal(DIGITS, scale)) for name in names]
    return None


def as_floats(names: Sequence[str]) -> list[pl.Expr]:
    """Return columns as floating-point numbers."""
    return [pl.col(name).cast(pl.Float64) for name in names]


def as_comparable(names: Sequence[str], table: pl.LazyFrame) -> list[pl.Expr]:
    """Return columns that can be compared: exact numbers, fractions, or times."""
    exact = as_exact(names, table)
    if exact is not None:
        return exact
    schema = table.collect_schema()
    texts = [name for name in names if schema[name] == pl.String]
    if not texts:
        return [pl.col(name) for name in names]
    decimals = [_decimals(name, table) for name in texts]
    if len(texts) == len(names) and None not in decimals:
        scale = max(each for each in decimals if each is not None)
        return [pl.col(name).cast(pl.Decimal(DIGITS, scale)) for name in names]
    numbers = table.select(
        (pl.col(name).cast(pl.Float64, strict=False).is_null() & pl.col(name).is_not_null()).any()
        for name in texts
    )
    is_text = any(numbers.collect(engine="streaming").row(0))
    return [pl.col(name) for name in names] if is_text else as_floats(names)


def _decimals(name: str, table: pl.LazyFrame) -> int | None:
    """Return the digits behind the point that a column of texts has; ``None`` if it isn't exact."""
    if not _all_match(name, r"^-?\d+(?:\.\d+)?$", table):
        return None
    cell = pl.col(name)
    before = cell.str.extract(r"^-?(\d+)").str.len_bytes().max()
    behind = cell.str.extract(r"\.(\d+)$").str.len_bytes().max()
    row = table.select(before.alias("before"), behind.alias("behind")).collect(engine="streaming")
    most, scale = (int(count or 0) for count in row.row(0))
    # The other column may have more digits on either side of the point.
    return scale if most <= DIGITS // 2 and scale <= DIGITS // 2 else None


def _all_match(name: str, pattern: str, table: pl.LazyFrame) -> bool:
    every = table.select(pl.col(name).str.contains(pattern).all(ignore_nulls=True))
    return bool(every.collect(engine="streaming").item())

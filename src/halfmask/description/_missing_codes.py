"""Codes among numbers: whole numbers that stand for a missing answer, as surveys write them."""

from __future__ import annotations

from typing import Final

import polars as pl

#: Digits of codes: ``-8``, ``-77``, ``-9999``; ``99``, ``998``, ``99999``.
_NEGATIVE: Final = r"^-(?:[1-9]|66+|77+|88+|99+|9+[78])$"
_POSITIVE: Final = r"^(?:99+|9+[78])$"
#: Fewer other values say nothing of what is far from them.
_OTHERS: Final = 5
#: How much more frequent than most other values a code is, or how much farther from zero.
_FREQUENT, _FAR = 5, 10


def coded_cells(numbers: pl.Series) -> int:
    """Return how many cells hold a whole number that stands apart, as codes of missing answers do.

    Negative ones count where all other numbers are at least zero, and rows of nines where they are
    at least twice the others. They are also more frequent than most values, or far from them.

    Examples
    --------
    >>> coded_cells(pl.Series([*range(100, 900, 7), *[-8] * 20]))
    20
    >>> coded_cells(pl.Series([*range(-8, 30), *range(-8, 30)]))
    0
    """
    finite = numbers.filter(numbers.is_finite()).cast(pl.Float64).alias("value")
    found = finite.value_counts(name="cells")
    whole = pl.col("value").cast(pl.Int64, strict=False)
    text = pl.when(whole == pl.col("value")).then(whole.cast(pl.String))
    found = found.with_columns(
        low=text.str.contains(_NEGATIVE).fill_null(value=False),
        high=text.str.contains(_POSITIVE).fill_null(value=False),
    )
    rest = found.filter(~pl.col("low") & ~pl.col("high"))
    if rest.height < _OTHERS:
        return 0
    least, most = float(rest["value"].min()), float(rest["value"].max())  # type: ignore[arg-type] # numbers
    usual = float(rest["cells"].median())  # type: ignore[arg-type] # as above
    value, frequent = pl.col("value"), pl.col("cells") >= _FREQUENT * usual
    is_low = pl.col("low") & (least >= 0) & (frequent | (_FAR * value.abs() <= least))
    is_high = pl.col("high") & (value >= 2 * most) & (most > 0) & (pl.col("cells") > 1)
    return int(found.filter(is_low | is_high)["cells"].sum())

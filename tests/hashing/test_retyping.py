"""Types that differ from those of the fit: the same features, or an error that names the column."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from halfmask import SchemaError
from halfmask.hashing import KeyedHasher
from halfmask.vault import Secret

SECRET = Secret.from_bytes(b"\x07" * 32)
DAYS = [dt.datetime(2020, 1, day) for day in range(1, 6)]  # noqa: DTZ001 # naive is a type
#: The same five values as each type would hold them.
COLUMNS = {
    "text": pl.Series(["1", "2", "3", "4", "5"]),
    "int64": pl.Series([1, 2, 3, 4, 5]),
    "int8": pl.Series([1, 2, 3, 4, 5], dtype=pl.Int8),
    "uint64": pl.Series([1, 2, 3, 4, 5], dtype=pl.UInt64),
    "float64": pl.Series([1.0, 2.0, 3.0, 4.0, 5.0]),
    "float32": pl.Series([1.0, 2.0, 3.0, 4.0, 5.0], dtype=pl.Float32),
    "decimal": pl.Series([1, 2, 3, 4, 5]).cast(pl.Decimal(10, 2)),
    "truth": pl.Series([True, False, True, True, False]),
    "date": pl.Series([it.date() for it in DAYS]),
    "datetime": pl.Series(DAYS),
    "nanoseconds": pl.Series(DAYS).cast(pl.Datetime("ns")),
    "duration": pl.Series([it - DAYS[0] for it in DAYS]),
    "time": pl.Series([dt.time(hour) for hour in range(1, 6)]),
}
NUMBERS = {"int64", "int8", "uint64", "float64", "float32", "decimal"}
GROUPS = [NUMBERS, {"datetime", "nanoseconds"}]
SETTINGS = {"binned": {}, "raw": {"numbers": "raw"}, "categories": {"categorical": ["x"]}}


def _table(column):
    return pl.DataFrame({"x": column, "n": range(5)})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*are sent rounded")
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("fitted", COLUMNS)
@pytest.mark.parametrize("now", COLUMNS)
def test_other_types_are_the_same_features_or_refused(settings, fitted, now):
    """Numbers of any type are alike, as categories too; texts, dates and truth values aren't."""
    hasher = KeyedHasher(secret=SECRET, bits=20, **settings).fit(_table(COLUMNS[fitted]))
    alike = any({now, fitted} <= group for group in GROUPS)
    if COLUMNS[now].dtype != COLUMNS[fitted].dtype and not alike:
        with pytest.raises(SchemaError, match="'x' holds cells of kind"):
            hasher.transform(_table(COLUMNS[now]))
        return
    if now != fitted and not alike:
        return  # other texts

    assert (
        hasher.transform(_table(COLUMNS[now])) != hasher.transform(_table(COLUMNS[fitted]))
    ).nnz == 0


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_gap_makes_no_other_numbers(settings):
    """Integers that pandas turns into floats, as one is missing, keep their features."""
    rows = _table(COLUMNS["int64"])
    hasher = KeyedHasher(secret=SECRET, bits=20, **settings).fit(rows)
    gap = rows.to_pandas().astype({"x": "float64"})
    gap.loc[2, "x"] = np.nan

    whole, other = hasher.transform(rows), hasher.transform(gap)

    kept = [0, 1, 3, 4]
    assert (whole[kept] != other[kept]).nnz == 0
    assert (whole[2] != other[2]).nnz > 0

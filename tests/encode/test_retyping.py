"""Types that differ from those of the fit: the right value, or an error that names the column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import permutations

import pandas as pd
import polars as pl
import pytest

from encode.any_table import (  # type: ignore[import-not-found] # beside, not in a package
    SECRET,
)
from halfmask import SchemaError
from halfmask.encode import Codec, decode_file, encode_file, fit_file

ZONED = pl.Datetime("us", "UTC")
#: The same five values as each type would hold them.
COLUMNS = {
    "text": pl.Series(["1", "2", "3", "4", "5"]),
    "zeros": pl.Series(["01", "02", "03", "04", "05"]),
    "decimal text": pl.Series(["1.0", "2.0", "3.0", "4.0", "5.0"]),
    "int64": pl.Series([1, 2, 3, 4, 5]),
    "int8": pl.Series([1, 2, 3, 4, 5], dtype=pl.Int8),
    "uint64": pl.Series([1, 2, 3, 4, 5], dtype=pl.UInt64),
    "float64": pl.Series([1.0, 2.0, 3.0, 4.0, 5.0]),
    "float32": pl.Series([1.0, 2.0, 3.0, 4.0, 5.0], dtype=pl.Float32),
    "decimal": pl.Series([Decimal(i) for i in range(1, 6)], dtype=pl.Decimal(10, 2)),
    "gap": pl.Series([1.0, None, 3.0, 4.0, 5.0]),
    "halves": pl.Series([1.5, 2.0, 3.0, 4.0, 5.0]),
    "truth": pl.Series([True, False, True, True, False]),
    "date": pl.Series([dt.date(2020, 1, day) for day in range(1, 6)]),
    "datetime": pl.Series([dt.datetime(2020, 1, day) for day in range(1, 6)]),  # noqa: DTZ001 # naive is a type
    "zoned": pl.Series([dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in range(1, 6)]),
    "nanoseconds": pl.Series([dt.datetime(2020, 1, day) for day in range(1, 6)]).cast(  # noqa: DTZ001 # the same
        pl.Datetime("ns")
    ),
    "date text": pl.Series([f"2020-01-0{day}" for day in range(1, 6)]),
    "duration": pl.Series([dt.timedelta(days=day) for day in range(1, 6)]),
}
WHOLE = {"int64", "int8", "uint64"}
NUMBERS = {*WHOLE, "float64", "float32", "decimal"}
#: Columns whose values are those of another one, in a type that can be told to be so.
ALIKE = {
    *permutations(NUMBERS, 2),
    *(("text", whole) for whole in WHOLE),
    *((number, it) for it in ("float64", "float32", "decimal") for number in ("halves",)),
    *permutations(("date", "datetime", "nanoseconds"), 2),
}
ALIKE |= {("gap", it) for it in NUMBERS} | {(it, "halves") for it in NUMBERS} | {("gap", "halves")}
ALIKE |= {(it, "gap") for it in (*NUMBERS, "halves")}


def _fits(now, fitted):
    return (now, fitted) in ALIKE or COLUMNS[now].dtype == COLUMNS[fitted].dtype


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::halfmask.ColumnWarning")  # texts of dates
@pytest.mark.parametrize("learner", ["trees", "distances"])
@pytest.mark.parametrize("fitted", COLUMNS)
def test_other_types_are_the_same_values_or_refused(fitted, learner):
    """Each pair of types, as a feature: texts "1" to "5" at the fit, floats 1.0 to 5.0 later."""
    table = pl.DataFrame({"x": COLUMNS[fitted], "n": range(5)})
    codec = Codec(learner=learner, secret=SECRET, missing="hidden", unseen="reserve").fit(table)
    for now, column in COLUMNS.items():
        later = table.with_columns(column.alias("x"))
        if not _fits(now, fitted):
            with pytest.raises(SchemaError, match=r"Column 'x' held .* at the fit and holds"):
                codec.encode(later)
            continue
        if column.dtype != COLUMNS[fitted].dtype:
            same = column.cast(COLUMNS[fitted].dtype)
            assert codec.encode(later).equals(codec.encode(later.with_columns(same.alias("x"))))


@pytest.mark.mostly_slow
@pytest.mark.filterwarnings("ignore::halfmask.ColumnWarning")  # texts of dates
@pytest.mark.parametrize("fitted", COLUMNS)
def test_other_types_of_a_target_are_the_same_values_or_refused(fitted):
    table = pl.DataFrame({"x": COLUMNS[fitted], "n": range(5)})
    codec = Codec(learner="trees", secret=SECRET).fit(table, target="x", task="classification")
    for now, column in COLUMNS.items():
        later = table.with_columns(column.alias("x"))
        known = column.cast(COLUMNS[fitted].dtype, strict=False) if _fits(now, fitted) else None
        if known is None or not known.drop_nulls().is_in(COLUMNS[fitted].to_list()).all():
            with pytest.raises(SchemaError, match="Column 'x'"):
                codec.encode_target(later)
            continue
        sent = codec.encode_target(later)
        assert codec.decode_predictions(sent[codec.target_name_].drop_nulls(), batch=None).len() > 0
        assert codec.decode(codec.encode(later))["x"].equals(known)


def test_all_pairs_are_decided():
    """Most pairs are refused: what a value would be in another type is mostly a guess."""
    pairs = [(now, fitted) for now, fitted in permutations(COLUMNS, 2) if _fits(now, fitted)]

    assert len(pairs) < len(COLUMNS) * (len(COLUMNS) - 1) / 2
    assert ("text", "float64") not in pairs
    assert ("zeros", "int64") not in pairs
    assert ("truth", "int64") not in pairs


@pytest.mark.parametrize(
    ("dtype", "beyond"),
    [(pl.Int64, 0.5), (pl.Int64, 2.0**53 + 2), (pl.Int64, 2.0**70), (pl.UInt64, -1.0),
     (pl.Float32, 0.1), (pl.Float32, 2.0**24 + 1), (pl.Decimal(10, 2), 0.125)],
)  # fmt: skip
def test_no_digit_is_lost_on_the_way_to_the_fitted_type(dtype, beyond):
    table = pl.DataFrame({"x": pl.Series([0, 1, 100], dtype=dtype), "n": [1, 2, 3]})
    codec = Codec(learner="trees", secret=SECRET).fit(table)

    codec.encode(table.with_columns(pl.Series("x", [0.0, 1.0, 100.0])))
    with pytest.raises(SchemaError, match="'x' held"):
        codec.encode(table.with_columns(pl.Series("x", [0.0, 1.0, beyond])))


@pytest.mark.parametrize("learner", ["trees", "distances", "linear", "networks"])
def test_a_column_that_pandas_made_floats_of_is_one_of_integers(learner):
    rows = pd.DataFrame({"x": pd.Series([1, 2, 3, None, 5], dtype="Int64"), "y": [1, 2, 3, 4, 6]})
    codec = Codec(learner=learner, secret=SECRET).fit(rows)

    back = codec.decode(codec.encode(rows.astype({"x": "float64"})))

    assert pl.from_pandas(back)["x"].to_list() == [1, 2, 3, None, 5]


def test_a_column_without_a_value_fits_every_type():
    table = pl.DataFrame({"x": ["a", "b", None], "n": [1, 2, 3], "f": [1.5, 2.5, None]})
    codec = Codec(learner="trees", secret=SECRET).fit(table)
    empty = pl.DataFrame(
        {"x": pl.Series([None], dtype=pl.Float64), "n": [1], "f": pl.Series([None], dtype=pl.Null)}
    )

    assert codec.decode(codec.encode(empty)).rows() == [(None, 1, None)]


@pytest.mark.parametrize("learner", ["trees", "distances"])
def test_leading_zeros_in_a_later_file_are_refused(tmp_path, learner):
    """``02116`` came back as 2116."""
    rows = pl.DataFrame({"zip": [10001, 60601, 2116], "n": [1, 2, 3], "f": [0.5, 1.5, 2.0]})
    rows.write_csv(tmp_path / "fit.csv")
    codec = fit_file(Codec(learner=learner, secret=SECRET), tmp_path / "fit.csv")

    for column, cell in (("zip", "02116"), ("zip", "+2116"), ("zip", "2116 "), ("f", "01.5")):
        later = rows.cast({column: pl.String}).with_columns(
            pl.when(pl.col("n") == 2).then(pl.lit(cell)).otherwise(column).alias(column)
        )
        later.write_csv(tmp_path / "later.csv")
        with pytest.raises(SchemaError, match=f"'{column}' held .* and holds String") as caught:
            encode_file(codec, tmp_path / "later.csv", tmp_path / "sent.parquet")
        assert "leading zeros" in str(caught.value)
        assert "2116" not in str(caught.value)
        assert not (tmp_path / "sent.parquet").exists()


def test_texts_of_digits_stay_the_texts_that_they_were(tmp_path):
    rows = pl.DataFrame({"zip": ["02116", "10001", "60601"], "n": [1.5, 2.0, None]})
    rows.write_csv(tmp_path / "fit.csv")
    codec = fit_file(Codec(learner="trees", secret=SECRET), tmp_path / "fit.csv")
    later = rows[1:].with_columns(n=pl.lit(2))
    later.write_csv(tmp_path / "later.csv")

    encode_file(codec, tmp_path / "later.csv", tmp_path / "sent.parquet")
    decode_file(codec, tmp_path / "sent.parquet", tmp_path / "back.parquet")

    back = pl.read_parquet(tmp_path / "back.parquet")
    assert back["zip"].to_list() == ["10001", "60601"]
    assert back["n"].to_list() == [2.0, 2.0]

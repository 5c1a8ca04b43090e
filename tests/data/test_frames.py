from __future__ import annotations

import math
from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, HalfmaskError, SchemaError
from halfmask.data import count_infinite, like, to_polars

CANARY = "canary-Zx81"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COLUMNS = {
    pl.String: TEXTS,
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.UInt8: st.integers(0, 255),
    pl.Float64: st.floats(allow_nan=False),
    pl.Boolean: st.booleans(),
    pl.Date: st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    pl.Datetime("us"): st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - naive is meant
}


@st.composite
def tables(draw):
    n_rows = draw(st.integers(0, 6))
    columns = [
        pl.Series(
            f"c{n}",
            draw(st.lists(st.none() | COLUMNS[dtype], min_size=n_rows, max_size=n_rows)),
            dtype=dtype,
        )
        for n, dtype in enumerate(draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1)))
    ]
    return pl.DataFrame(columns)


@pytest.mark.slow
@given(tables())
def test_a_frame_comes_back_from_pyarrow_as_it_was(table):
    assert to_polars(like(table, pa.table({"x": [1]}))).equals(table)
    assert to_polars(like(table, pa.record_batch({"x": [1]}))).equals(table)


@pytest.mark.slow
@given(tables())
def test_a_frame_comes_back_from_pandas_with_the_same_values(table):
    back = to_polars(like(table, pd.DataFrame({"x": [1]})))

    # pandas has no booleans, dates or texts of its own that may be missing: a column of nothing
    # but missing cells has no type there.
    for column in table.get_columns():
        if column.null_count() < len(column):
            assert back[column.name].cast(column.dtype).to_list() == column.to_list()
        else:
            assert back[column.name].null_count() == len(column)


@pytest.mark.slow
@given(tables())
def test_polars_frames_come_back_as_the_kind_they_were(table):
    assert like(table, pl.DataFrame()).equals(table)
    assert isinstance(like(table, pl.LazyFrame()), pl.LazyFrame)
    assert to_polars(table.lazy()).equals(table)


@pytest.mark.parametrize(
    ("original", "name"),
    [
        (pl.DataFrame({"a": [1]}), "DataFrame"),
        (pl.LazyFrame({"a": [1]}), "LazyFrame"),
        (pd.DataFrame({"a": [1]}), "DataFrame"),
        (pa.table({"a": [1]}), "Table"),
        (pa.record_batch({"a": [1]}), "RecordBatch"),
    ],
)
def test_like_gives_the_type_of_the_original(original, name):
    got = like(pl.DataFrame({"b": ["x"]}), original)

    assert type(got) is type(original)
    assert type(got).__name__ == name


def test_like_keeps_an_empty_record_batch():
    got = like(pl.DataFrame({"b": ["x"]}).clear(), pa.record_batch({"a": [1]}))

    assert got.num_rows == 0
    assert got.schema.names == ["b"]


def test_a_frame_with_nothing_but_an_arrow_stream_is_taken():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1, 2]}).__arrow_c_stream__(requested_schema)

    assert to_polars(Stream()).equals(pl.DataFrame({"a": [1, 2]}))
    assert isinstance(like(pl.DataFrame({"a": [1]}), Stream()), pa.Table)


def test_the_index_of_a_pandas_frame_stays_behind():
    frame = pd.DataFrame({"age": [41, 17]}, index=pd.Index([CANARY, "b"], name="who"))

    table = to_polars(frame)

    assert table.columns == ["age"]
    assert like(table, frame).index.tolist() == [0, 1]


def test_pandas_columns_that_are_called_by_numbers_get_texts_as_names():
    assert to_polars(pd.DataFrame([[1, 2]])).columns == ["0", "1"]


def test_large_integers_beside_missing_ones_lose_no_digit_in_pandas():
    table = pl.DataFrame({"a": [2**63 - 1, None]})

    assert like(table, pd.DataFrame())["a"][0] == 2**63 - 1


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1.0, math.nan, None]}),
        pd.DataFrame({"a": [1.0, math.nan, None]}),
        pa.table({"a": [1.0, math.nan, None]}),
    ],
)
def test_nan_is_missing(frame):
    assert to_polars(frame)["a"].to_list() == [1.0, None, None]


def test_infinities_stay_and_are_counted():
    table = to_polars(pl.DataFrame({"a": [math.inf, -math.inf, 1.0], "b": [1.0, 2.0, None]}))

    assert count_infinite(table) == {"a": 2}


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("a", ["x", "y"], dtype=pl.Enum(["x", "y", CANARY])),
        pl.Series("a", ["x", "y", CANARY], dtype=pl.Categorical)[:2],
    ],
)
def test_categories_become_texts_so_that_unused_ones_go_nowhere(column):
    table = to_polars(column.to_frame())

    assert table.schema == {"a": pl.String}
    assert CANARY.encode() not in table.serialize()


@pytest.mark.parametrize("values", [["x", "y"], [10, 20], [True, False]])
def test_categories_of_other_libraries_become_their_values(values):
    categories = pd.Categorical(values, categories=values)
    coded = pa.array(values).dictionary_encode()

    assert to_polars(pd.DataFrame({"a": categories}))["a"].to_list() == values
    assert to_polars(pa.table({"a": coded}))["a"].to_list() == values
    assert to_polars(pa.table({"a": coded}))["a"].dtype not in {pl.Categorical, pl.Enum}


def test_a_column_without_any_value_is_one_of_text():
    assert to_polars(pl.DataFrame({"a": [None, None]})).schema == {"a": pl.String}


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [[CANARY]]}),
        pl.DataFrame({"a": [{"b": CANARY}]}),
        pl.DataFrame({"a": [CANARY.encode()]}),
        pa.table({"a": pa.array([[(CANARY, 1)]], pa.map_(pa.string(), pa.int64()))}),
        pa.table({"a": pa.array([0], pa.timestamp("us", "+05:30"))}),
        pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}),
        pd.DataFrame({"a": [1, CANARY]}),
        pd.DataFrame({"a": [CANARY, 1.5]}),
        pd.DataFrame({"a": [object(), CANARY]}),
        pd.DataFrame([[CANARY, 2]], columns=["a", "a"]),
        pd.DataFrame([[CANARY, 2]], columns=["a", ""]),
        pd.DataFrame([[CANARY]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        pd.Series([CANARY]),
        pa.Table.from_arrays([pa.array([CANARY]), pa.array([CANARY])], names=["a", "a"]),
    ],
)
def test_frames_that_are_no_table_are_refused_without_a_word_of_them(frame):
    with pytest.raises(SchemaError) as caught:
        to_polars(frame)

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("thing", [None, 3, "text", [1], {"a": [1]}, pl.DataFrame()])
def test_what_is_no_frame_is_refused(thing):
    with pytest.raises(DataError):
        to_polars(thing)


def test_like_refuses_an_original_that_is_no_frame():
    with pytest.raises(DataError, match="Got a dict"):
        like(pl.DataFrame({"a": [1]}), {})


def test_columns_without_a_name_of_their_own_are_called_by_number():
    frame = pa.Table.from_arrays([pa.array([1])] * 4, names=["a", CANARY, "b", CANARY])

    with pytest.raises(HalfmaskError, match=r"number 2, 4 of 4") as caught:
        to_polars(frame)

    assert CANARY not in str(caught.value)


class Broken:
    """A frame of some library whose stream fails, and says of which cell."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError(f"xqcanary {requested_schema}")


def test_a_stream_that_fails_quotes_no_cell():
    with pytest.raises(DataError, match=r"can't be turned into a table \(RuntimeError\)") as caught:
        to_polars(Broken())
    assert "xqcanary" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("dtype", "physical"),
    [
        (pl.Date, 2**31 - 1),  # infinity in databases
        (pl.Date, 2_932_897),  # 10000-01-01
        (pl.Date, -719_163),  # the day before 0001-01-01
        (pl.Datetime("us"), 2**63 - 1),
        (pl.Datetime("ms"), -(2**63)),
        (pl.Datetime("us", "Europe/Berlin"), 253_402_300_799_999_999),  # a day later in Berlin
    ],
)
def test_times_that_no_calendar_has_are_refused(dtype, physical):
    """They ended in a PanicException, which is no Exception, in describe and everywhere else."""
    frame = pl.DataFrame({"seen": pl.Series([physical, 0]).cast(dtype)})

    for given_ in (frame, frame.to_arrow(), frame.to_pandas(use_pyarrow_extension_array=True)):
        with pytest.raises(DataError, match="'seen' has 1 dates that are infinite, before year 1"):
            to_polars(given_)


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (pa.time64("ns"), 90_000 * 10**9),
        (pa.time32("s"), -1),
        (pa.time32("ms"), 86_400_000),
        (pa.timestamp("s"), 2**62),
        (pa.duration("s"), -(2**63)),
    ],
)
def test_times_of_arrow_that_polars_would_change_are_refused(kind, cell):
    storage = pa.int32() if kind.bit_width == 32 else pa.int64()
    cells = pa.array([cell, 0], storage).view(kind)
    categories = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), cells)

    for each in (cells, categories, pa.chunked_array([categories, categories])):
        with pytest.raises(DataError, match="Column 'seen' has times of day that are negative"):
            to_polars(pa.table({"seen": each}))

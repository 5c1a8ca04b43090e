from __future__ import annotations

import re
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data._column_types import TextJudge, typed


def judged(*batches):
    judge = TextJudge()
    for batch in batches:
        judge.see(pl.DataFrame({"a": batch}, schema={"a": pl.String}))
    return judge.dtypes()["a"]


@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        (["1", "-20", None], pl.Int64),
        (["007", "1"], pl.String),
        (["00"], pl.String),
        (["+49"], pl.String),
        (["1 "], pl.String),
        (["1_000"], pl.String),
        (["1,5"], pl.String),
        (["9223372036854775807"], pl.Int64),
        (["9223372036854775808"], pl.String),
        (["12345678901234567890"], pl.String),
        (["1", "1.50"], pl.Float64),
        (["1.5", "01.5"], pl.String),
        (["1.5", "1234567890123456"], pl.String),
        (["1e5", "-2.5E-3", ".5", "5."], pl.Float64),
        ([".", "1"], pl.String),
        (["1.5", "nan", "-inf"], pl.Float64),
        (["nan", "inf"], pl.String),
        (["1.5", "1e400"], pl.String),
        (["1.5", "1e-400"], pl.String),
        (["1.5", "1e-9999999999999999999"], pl.String),
        (["1.5", "9007199254740993.0"], pl.String),
        (["0.123456789012345678"], pl.String),
        (["12345678901234.567", "nan"], pl.String),
        (
            ["0.30000000000000004", "1.000000000000000000e+00", "12.50000000000000000000"],
            pl.Float64,
        ),
        (["true", "false"], pl.Boolean),
        (["True"], pl.String),
        (["true", "1"], pl.String),
        (["2024-02-29"], pl.Date),
        (["2023-02-29"], pl.String),
        (["1.2.2024"], pl.String),
        (["2024-02-29 10:00:00", "2024-02-29T10:00:00.25"], pl.Datetime("us")),
        (["2024-02-29 25:00:00"], pl.String),
        (["2024-02-29 10:00:00.123456789"], pl.String),
        (["2024-02-29T10:00:00Z"], pl.Datetime("us", "UTC")),
        (["2024-02-29 10:00:00.123456 UTC", "2024-02-29 10:00:00 UTC"], pl.Datetime("us", "UTC")),
        (["2024-02-29 10:00:00 CET"], pl.String),
        (["2024-02-29T10:00:00+02:00"], pl.String),
        ([None, None], pl.String),
        ([], pl.String),
    ],
)
def test_a_column_is_of_the_type_that_holds_all_of_its_texts(texts, dtype):
    assert judged(texts) == dtype


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", ".16e", ".18e"]))
def test_floats_as_programs_write_them_are_floats(number, form):
    texts = [format(number, form) or repr(number), None, "0.5"]

    assert judged(texts) == pl.Float64
    assert typed(pl.DataFrame({"a": texts}), {"a": pl.Float64()})[0]["a"][0] == number


@given(st.decimals(-(10**30), 10**30, allow_nan=False), st.integers(0, 30))
def test_a_decimal_that_its_float_would_change_by_more_than_its_last_digit_is_a_text(
    number, places
):
    text = f"{number:.{places}f}"
    near = abs(Decimal(float(text)) - Decimal(text)) * 2 <= Decimal(1).scaleb(-places)

    if judged([text, "0.5"]) == pl.Float64:
        assert near or Decimal(repr(float(text))) == Decimal(text)


@pytest.mark.parametrize("order", [1, -1])
def test_an_integer_that_no_float_keeps_makes_decimals_texts_in_any_batch(order):
    batches = [["1234567890123456"], ["1.5"]][::order]

    assert judged(*batches) == pl.String
    assert judged(["123456789012345"], ["1.5"]) == pl.Float64


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-(10**6), 10**6, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"\A[-+]?0?[0-9]{1,4}(\.[0-9]{0,3})?\Z"),
    st.sampled_from(["x", "", "-", "true", "2024-01-01", "1e400", "٣"]),
)


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_no_number_that_is_found_has_lost_a_digit(texts):
    dtype = judged(texts)
    values = typed(pl.DataFrame({"a": texts}), {"a": dtype})[0]["a"].to_list()

    if dtype == pl.Int64:
        assert [str(value) for value in values] == texts
    elif dtype == pl.Float64:
        for text, value in zip(texts, values, strict=True):
            assert value == float(text)
            assert not re.match(r"[-+]?0[0-9]|\+", text)
            if re.fullmatch(r"-?[0-9]+", text):
                assert Decimal(value) == Decimal(text)
    elif dtype == pl.String:
        assert values == texts


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=6), st.integers(0, 6), st.randoms())
def test_neither_batches_nor_order_change_the_type(texts, cut, random):
    shuffled = random.sample(texts, len(texts))

    assert judged(texts) == judged(texts[:cut], texts[cut:]) == judged(shuffled)


@pytest.mark.parametrize(
    ("dtype", "fits", "misfits"),
    [
        (pl.Int64(), "5", "5.5"),
        (pl.Float64(), "5", "five"),
        (pl.Boolean(), "true", "yes"),
        (pl.Date(), "2024-01-01", "01.01.2024"),
        (pl.Datetime("us"), "2024-01-01 00:00:00", "2024-01-01"),
    ],
)
def test_texts_that_do_not_fit_are_reported(dtype, fits, misfits):
    assert typed(pl.DataFrame({"a": [fits, None]}), {"a": dtype})[1] == []
    assert typed(pl.DataFrame({"a": [fits, misfits]}), {"a": dtype})[1] == ["a"]


@pytest.mark.parametrize("text", ["2020-06-30T23:59:60", "2020-06-30 23:59:60Z", "+10000-01-01"])
def test_texts_that_would_become_another_time_stay_texts(text):
    """polars reads a leap second as the second after it."""
    judge = TextJudge()
    judge.see(pl.DataFrame({"seen": [text]}))

    assert judge.dtypes() == {"seen": pl.String()}

"""Numbers that aren't written with a point and digits alone are read as an example says."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table


def read(texts, format_, **options):
    table = pl.DataFrame({"pay": texts})
    return open_table(
        table, options=ReadOptions(number_formats={"pay": format_}, **options)
    ).read()["pay"]


@pytest.mark.parametrize(
    ("text", "format_", "value"),
    [
        ("1,5", "1234,5", 1.5),
        ("1.234", "1.234,5", 1234.0),
        ("1.234.567,25", "1.234,5", 1234567.25),
        ("-1,234.5", "1,234.5", -1234.5),
        ("1\u202f234", "1 234,5", 1234.0),
        ("1\u2019000.5", "1'234.5", 1000.5),
        ("10%", "1234.5%", 10.0),
        ("0,5 %", "1234,5%", 0.5),
        ("5 EUR", "1.234,5 EUR", 5.0),
        ("-$3.25", "$1,234.5", -3.25),
        ("$-3", "$1,234.5", -3.0),
        ("\u22121,5", "1234,5", -1.5),
        ("0,000001", "1234,5", 0.000001),
        (" 12 ", "1234,5", 12.0),
    ],
)
def test_numbers_as_people_write_them(text, format_, value):
    assert read([text, None], format_).to_list() == [value, None]


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("1.5", "1.234,5"),
        ("1,5", "1,234.5"),
        ("12.34.567", "1.234,5"),
        ("5", "1234,5 EUR"),
        ("5 USD", "1234,5 EUR"),
        ("--5", "1234,5"),
        ("", "1234,5"),
        ("1234567890123456", "1234,5"),
        ("abc", "1234,5"),
    ],
)
def test_what_is_written_otherwise_is_not_read(text, format_):
    """A German thousand isn't 1.234, another currency isn't ours, and 16 digits fit no float."""
    with pytest.raises(SchemaError, match=f"'pay' .* form {format_}, and 1 of 1 cells"):
        read([text], format_)


def test_integers_stay_exact():
    found = read(["9.007.199.254.740.993", "5,00"], "1.234,5", dtypes={"pay": "integer"})

    assert found.to_list() == [9007199254740993, 5]
    with pytest.raises(SchemaError, match="1 of 1"):
        read(["5,5"], "1.234,5", dtypes={"pay": "integer"})


@pytest.mark.slow
@given(st.integers(-(10**9), 10**9), st.integers(0, 99), st.sampled_from([",", ".", " ", "'"]))
def test_every_number_comes_back(whole, cents, group):
    point = "." if group == "," else ","
    text = f"{whole:,}".replace(",", group) + f"{point}{cents:02d}"

    found = read([text], f"1{group}234{point}5")[0]

    assert found == float(f"{whole}.{cents:02d}")


@pytest.mark.parametrize("format_", ["1.234", "1,234,5", "x", "", "12345", "1.234.5", 5])
def test_what_is_no_example_is_refused(format_):
    with pytest.raises(ParameterError, match="'pay' must be how the column writes"):
        ReadOptions(number_formats={"pay": format_})


def test_a_column_has_one_format():
    with pytest.raises(ParameterError, match="'pay' has a date format and a number format"):
        ReadOptions(number_formats={"pay": "1234,5"}, date_formats={"pay": "%d.%m.%Y"})

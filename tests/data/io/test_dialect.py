from __future__ import annotations

import csv

import pytest

from halfmask._errors import DataError
from halfmask.data.io.dialect import sniff


def found(sample, **options):
    return sniff(sample, **({"delimiter": None, "quote": '"', "what": "It"} | options))


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n1,7;3\n", ";"),
        ("a\tb\nx, y\tz\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('"a;b",c\n"d;e",f\n', ","),
        ("one column\nof, texts\n", ","),
        ("a,b", ","),
        ("a;b,c;d\n1;2;3\n1;2;3\n", ";"),
    ],
)
def test_the_delimiter_is_the_one_that_cuts_rows_alike(sample, delimiter):
    assert found(sample).delimiter == delimiter


def test_a_said_delimiter_is_taken():
    assert found("a,b;c\n", delimiter=";").first == ("a,b", "c")


def test_the_first_row_may_hold_line_ends():
    assert found('"a\nb",c\n1,2\n').first == ("a\nb", "c")


def test_long_cells_are_read_and_the_limit_of_csv_is_put_back():
    before = csv.field_size_limit()

    assert found("a," + "x" * 200_000 + "\n1,2\n").first[1] == "x" * 200_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("sample", ["", "\n\r\n"])
def test_nothing_is_an_error(sample):
    with pytest.raises(DataError, match="It is empty"):
        found(sample)

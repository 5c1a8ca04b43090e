"""What nearly all texts of a column are, and how many aren't."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnWarning
from halfmask.data.text_forms import TextWatch, form_of
from halfmask.description import describe

CANARY = "CANARY"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1,5", "2,25", "NA"], ("float", "1234,5", 2, 1, 0)),
        (["1.234", "2.500", "12.345,60"], ("float", "1.234,5", 3, 0, 0)),
        (["10%", "5 %", "7.5%"], ("float", "1234.5%", 3, 0, 0)),
        (["5 EUR", "7 EUR", "1 000 EUR"], ("float", "1 234,5 EUR", 3, 0, 0)),
        (["+12", "-3", "4"], ("integer", None, 3, 0, 0)),
        ([" 12", " 13", "x"], ("integer", None, 2, 0, 1)),
        (["31-12-48", "01-01-70"], ("date", "%d-%m-%y", 2, 0, 0)),
        (["31.12.1948", "1.1.2000", "?"], ("date", "%d.%m.%Y", 2, 1, 0)),
        (["01021990", "31121985"], ("date", "%d%m%Y", 2, 0, 0)),
        (["Jan 3, 2020", "February 13, 2020"], ("date", "%B %d, %Y", 2, 0, 0)),
        (["1/31/2024 7:05 PM"], ("datetime", "%m/%d/%Y %I:%M %p", 1, 0, 0)),
        (["2020-01-31T10:00:00", "1999-12-01 23:59"], ("datetime", None, 2, 0, 0)),
        (["2020-01-31T10:00:00Z", "2020-01-31 10:00+02:00"], ("datetime_utc", None, 2, 0, 0)),
        (["2020-01-31 10:00:00.5 UTC", "2020-01-31 10:00+02"], ("datetime_utc", None, 2, 0, 0)),
    ],
)
def test_forms(texts, expected):
    form = form_of(pl.Series(texts))

    assert form is not None
    written = form.date_format or form.number_format
    assert (form.dtype, written, form.fits, form.marks, form.others) == expected


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b"],
        ["007", "012"],
        ["9223372036854775809", "18446744073709551616"],
        ["5-9", "10-14"],
        ["4th", "5th"],
        ["12a", "13b", "14c"],
        ["(030) 12345", "+49 30 901820"],
        ["2020-13-01"],
        ["2020-01-01T10:00:00", "2020-01-01T10:00:00Z"],
        ["NA", "?"],
        [],
    ],
)
def test_names_of_things_are_no_numbers_and_no_dates(texts):
    """Zeros in front, codes and integers that no type holds exactly are names."""
    assert form_of(pl.Series(texts, dtype=pl.String)) is None


@pytest.mark.parametrize(
    ("texts", "form", "also"),
    [
        (["01/02/2020", "03/04/2020"], "%m/%d/%Y", "%d/%m/%Y"),
        (["01/02/2020", "13/04/2020"], "%d/%m/%Y", None),
        (["1,234", "2,500", "3,000"], "1,234.5", "1234,5"),
        (["1,234", "2,50"], "1234,5", None),
    ],
)
def test_two_forms_that_read_as_many_cells_are_both_named(texts, form, also):
    found = form_of(pl.Series(texts))

    assert found is not None
    assert (found.date_format or found.number_format, found.also) == (form, also)
    assert also is None or also in describe(pl.DataFrame({"x": texts * 9}))["x"].reasons[1]


def test_a_code_among_numbers_makes_them_names():
    mistyped, coded = [pl.DataFrame({"age": [*map(str, range(150)), x]}) for x in ("abc", "V27")]

    assert (describe(mistyped)["age"].kind, describe(coded)["age"].kind) == (
        "numeric",
        "categorical",
    )
    assert "1 of 151 cells" in describe(coded)["age"].reasons[1]


def test_batches_are_counted_together_and_said_at_the_end():
    batches = [
        pl.DataFrame({"age": ["1", "2", CANARY], "town": ["a", "b", "c"]}),
        pl.DataFrame({"age": ["3"] * 17, "town": ["1"] * 17}),
    ]

    watch = TextWatch(owner="Codec")
    for batch in batches:
        watch.see(batch)
    with pytest.warns(ColumnWarning) as caught:
        watch.warn()

    assert len(caught) == 1
    said = str(caught[0].message)
    assert "'age' looks like numbers stored as text: 19 of 20 cells" in said
    assert 'dtypes = "integer"' in said
    assert CANARY not in said


def test_what_somebody_called_text_is_not_watched():
    watch = TextWatch(owner="Codec", known={"zip"})
    watch.see(pl.DataFrame({"zip": ["10115", "x", "20095"] * 9}))

    watch.warn()


@pytest.mark.slow
def test_eight_digits_in_a_column_of_numbers_are_dates():
    table = pl.DataFrame({"seen": [20200101 + i % 28 for i in range(60)], "n": range(60)})

    found = describe(table)

    assert found["seen"].kind == "datetime"
    assert found["seen"].form == form_of(table["seen"].cast(pl.String))
    assert "(%Y%m%d)" in found["seen"].reasons[1]
    assert found["n"].form is None


def test_eight_digits_that_would_be_dates_of_another_century_are_numbers():
    """Hours as YYMMDDHH: as DDMMYYYY they would lie in the year 2100."""
    hours = pl.DataFrame({"hour": [14102100 + i % 5 for i in range(60)]})

    assert describe(hours)["hour"].form is None

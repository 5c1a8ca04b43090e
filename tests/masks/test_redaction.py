"""Redaction leaves which cells are missing, and with a sign the length."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks import Redaction
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.text(), max_size=20),
    sign=st.characters(exclude_categories=["Cs"]),
)
def test_each_character_becomes_the_sign(cells, sign):
    """Letters of any script, blanks, line ends, and signs that patterns use."""
    found = masked(Redaction(sign=sign), pl.Series("name", cells, dtype=pl.String))

    assert found.to_list() == [None if it is None else sign * len(it) for it in cells]


@pytest.mark.parametrize("text", ["", "[removed]", "$0"])
@pytest.mark.parametrize("cells", [["Ann", None], [1.5, None], [dt.date(2020, 1, 1), None]])
def test_each_cell_becomes_the_text(cells, text):
    """Of any type."""
    assert masked(Redaction(text=text), pl.Series("name", cells)).to_list() == [text, None]


def test_categories_have_signs_too_and_numbers_have_none():
    """The length of a number isn't that of a text."""
    column = pl.Series("name", ["Ann", "Bo"], dtype=pl.Enum(["Ann", "Bo"]))

    assert masked(Redaction(sign="x"), column).to_list() == ["xxx", "xx"]
    with pytest.raises(SchemaError, match=r"'pay'.*'redact'"):
        Redaction(sign="x").written("pay", pl.Int64())


def test_weaknesses_name_the_length():
    """Of signs alone."""
    assert Redaction(sign="x").weaknesses == ("length-leaking", "nulls-visible")
    assert Redaction(text="x").weaknesses == ("nulls-visible",)


@pytest.mark.parametrize(
    "parameters", [{}, {"text": "", "sign": "x"}, {"sign": ""}, {"sign": "xx"}]
)
def test_parameters_that_can_not_be_are_refused(parameters):
    """By name."""
    with pytest.raises(ParameterError, match="'redact'"):
        Redaction(**parameters)

"""Texts that a spreadsheet would run."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data.io._sinks import guarded, guarded_names


def guard(text):
    return guarded(pl.DataFrame({"a": [text]}))["a"].item()


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\N{FULLWIDTH EQUALS SIGN}1",
        "-",
        "+49 30",
        "'=1",
        "''@a",
    ],  # the wide form is meant
)
def test_a_formula_gets_an_apostrophe(text):
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-5", "+5.", "-.5e-3", "1=1", "a@b", "", "'tis", " =1"])
def test_a_number_and_a_plain_text_stay(text):
    assert guard(text) == text


@given(st.text(), st.text())
def test_different_texts_stay_different(one, other):
    assert (guard(one) == guard(other)) == (one == other)


def test_missing_cells_and_numbers_stay():
    frame = pl.DataFrame({"a": [None, "=1"], "n": [-1, 2]})

    assert guarded(frame).rows() == [(None, -1), ("'=1", 2)]


NAMES = st.lists(st.text(st.sampled_from("'=-@5a\t＝")), unique=True)  # noqa: RUF001 # meant


@given(NAMES)
def test_different_names_stay_different(names):
    assert len(set(guarded_names(names))) == len(names)
    assert not [name for name in guarded_names(names) if name[:1] in {"=", "@", "\t", "＝"}]  # noqa: RUF001 # meant

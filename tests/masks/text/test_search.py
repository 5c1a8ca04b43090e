"""The search: overlaps, columns, counts, errors without a text."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import MissingDependencyError, ParameterError
from halfmask.masks.text import DETAIL_TYPES, DetailSearch, KnownNames, count_details

ALL = DetailSearch(
    DETAIL_TYPES, countries=("GB", "US", "NL", "SE"), names=KnownNames(["Ann Lee", "Lee Moor"])
)


def kinds(text, search=ALL):
    return [(text[it.start : it.stop], it.type) for it in search.find(text)]


def test_the_longest_of_overlapping_details_gives_the_type():
    assert kinds("see https://x.org/?to=ann@x.org") == [("https://x.org/?to=ann@x.org", "url")]
    assert kinds("at 2007-01-17 23:08:55.") == [("2007-01-17 23:08:55", "date")]
    assert kinds("4111 1111 1111 1111") == [("4111 1111 1111 1111", "card")]
    assert kinds("GB82WEST12345698765432") == [("GB82WEST12345698765432", "iban")]


def test_nothing_of_overlapping_details_is_left():
    """Neither the beginning of one nor the end of the other."""
    assert kinds("met Ann Lee Moor") == [("Ann Lee", "name")]  # whole names follow each other
    search = DetailSearch(("email", "name"), names=KnownNames(["Bo Ann"]))
    assert kinds("Bo Ann@x.org", search) == [("Bo Ann@x.org", "email")]


def test_columns_have_the_details_of_their_texts():
    texts = ["", None, "nothing", "a@b.example", "Ann Lee at 10.0.0.1", "\n", "4111111111111111"]
    each = {row: details for row, _, details in ALL.find_each(pl.Series(texts, dtype=pl.String))}

    assert each == {
        row: ALL.find(text) for row, text in enumerate(texts) if text and ALL.find(text)
    }
    assert set(each) == {3, 4, 6}
    assert not list(ALL.find_each(pl.Series([], dtype=pl.String)))
    assert not list(DetailSearch(()).find_each(pl.Series(["a@b.example"])))


DETAILS = [
    "ann@x.example", "https://x.example/a", "192.168.0.1", "fe80::1", "00:1A:2B:3C:4D:5E",
    "123e4567-e89b-12d3-a456-426614174000", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111",
    "536-90-4399", "2024-02-29", "3 May 2024", "+44 20 7946 0018", "SW1A 1AA", "Ann Lee", "ann lee",
    "passport no. X1234567", "Dr. Lee", "driving licence F162823540116", "zip code 94103",
    "L898902C36UTO7408122F1204159ZE184226B<<<<<10", "020 7946 0018", "name: Bob", "äöü 12/1/1981",
]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.one_of(st.sampled_from(DETAILS), st.text(max_size=12)), max_size=6))
def test_texts_are_ruled_out_only_if_they_have_no_detail(parts):
    """The compiled pass over a column finds what a search of each text finds."""
    text = " ".join(parts)
    each = [details for _, _, details in ALL.find_each(pl.Series([text]))]

    assert each == [it for it in [ALL.find(text)] if it]


@given(
    st.text(
        st.characters(categories=["Ll", "Zs", "Po"], exclude_characters="@:"),
        max_size=200,
    )
)
def test_texts_in_lower_case_without_numbers_have_no_details(text):
    search = DetailSearch([it for it in DETAIL_TYPES if it != "url"], countries=("GB", "US"))

    assert not search.find(text)


@given(st.text(max_size=300))
def test_details_are_in_order_and_apart(text):
    found = ALL.find(text)

    assert all(0 <= it.start < it.stop <= len(text) for it in found)
    assert all(one.stop <= other.start for one, other in itertools.pairwise(found))


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "part", ["a", "1 ", "a@", "1.", "DE89 ", "(1", "-", "1-", "Mr. A", "http://", "é", "9<"]
)
def test_long_texts_are_searched_in_a_time_that_grows_with_their_length(part):
    """A pattern that tries again and again would never end here."""
    ALL.find(part * (200_000 // len(part)))


def test_counts_are_by_type():
    texts = pl.Series(["a@x.org", "c@x.org or 10.0.0.1", None, "", "nothing"])

    assert count_details(texts, types=("ip", "email", "card")) == {"email": 2, "ip": 1}
    assert count_details(pl.Series(["Ann"]), types=(), names=KnownNames(["ann"])) == {"name": 1}
    assert count_details(pl.Series([None], dtype=pl.String)) == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"types": ("e-mail",)}, "no type of personal details called 'e-mail'"),
        ({"types": ("phone",), "countries": ("gb",)}, "two capital letters.* Got 'gb'"),
        ({"types": ("phone",), "countries": ("UK",)}, "no country 'UK' with a numbering plan"),
        ({"types": ("phone",), "countries": ("DEU",)}, "Got 'DEU'"),
    ],
)
def test_what_is_not_known_is_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        DetailSearch(**options)


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: None)  # noqa: ARG005 # as find_spec
    with pytest.raises(MissingDependencyError, match="phonenumberslite"):
        DetailSearch(("email", "phone"))
    with pytest.raises(MissingDependencyError, match="python-stdnum"):
        DetailSearch(("national-number",), countries=("US",))

    assert DetailSearch(("email", "card", "phone-form")).find("a@b.example")

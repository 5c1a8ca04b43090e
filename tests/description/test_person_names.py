"""Columns of people's names are known by frequent names in them, and are dropped."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask.description.profile import share_of_names
from halfmask.description.tables import describe

GIVEN = ("Maria", "JOHN", "josé", "Zxq", "Jürgen", "Aisha")


def test_accents_and_case_do_not_matter():
    assert share_of_names(pl.Series([*GIVEN, None])) == pytest.approx(5 / 6)


@pytest.mark.parametrize("text", ["Smith, John", "Dr Anna Weber", "anna.weber", "WEBER", "Андрей"])
def test_first_or_last_word(text):
    assert share_of_names(pl.Series([text])) == 1.0


@pytest.mark.parametrize("text", ["12 Martin Street", "the man whom Martin saw was Tom", "", "7"])
def test_addresses_and_sentences_are_no_names(text):
    assert share_of_names(pl.Series([text])) == 0.0


def test_names_are_identifiers_whatever_the_column_is_called():
    """Of 60 rows a quarter has a frequent name: more than other columns have by chance."""
    texts = [f"{'Maria' if i % 4 == 0 else 'Xq'} {'abcdefghij'[i % 10]}{'uvwxyz'[i // 10]}"
             for i in range(60)]  # fmt: skip
    found = describe(pl.DataFrame({"x": [*texts, *texts]}))["x"]

    assert found.role == "identifier"
    assert "names of people" in found.reasons[0]
    assert "Maria" not in " ".join(found.reasons)


def test_colours_and_groups_are_no_names():
    """White, Brown and Black are family names, too."""
    groups = [f"{colour} {i}" for i, colour in enumerate(["White", "Brown", "Black", "Gray"] * 30)]

    assert share_of_names(pl.Series(["White", "Brown", "Black", "Gray", "Green"])) == 0.0
    assert describe(pl.DataFrame({"x": groups}))["x"].reasons[0].startswith("Nearly every row")


@pytest.mark.parametrize("name", ["first", "last", "First", "GIVEN"])
def test_first_and_last_are_of_names_where_texts_are_many(name):
    many = [f"q{i % 180}x" for i in range(300)]

    assert describe(pl.DataFrame({name: many}))[name].role == "identifier"
    assert describe(pl.DataFrame({name: [i % 180 for i in range(300)]}))[name].role != "identifier"
    assert describe(pl.DataFrame({name: ["yes", "no"] * 150}))[name].role == "insensitive"


def test_a_few_given_names_are_names_and_not_groups():
    """Thirty names in 3,000 rows would be written as sets of names."""
    names = [f"zo{i % 30}" for i in range(3_000)]

    assert describe(pl.DataFrame({"first_name": names}))["first_name"].role == "identifier"

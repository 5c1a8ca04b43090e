"""Known names: whole words, in any case, with and without accents."""

from __future__ import annotations

import copy
import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.masks.text import KnownNames


def found(values, text, **options):
    return [text[start:stop] for start, stop in KnownNames(values, **options).spans(text)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Ann", "ANN, ann and Ann's; not Anna, Annette or 1Ann", ["ANN", "ann", "Ann"]),
        ("Zoë", "zoe, ZOË, Zoe\u0308", ["zoe", "ZOË", "Zoe\u0308"]),
        ("Anne-Marie", "anne marie, Anne-Marie; Anne and Marie", ["anne marie", "Anne-Marie"]),
        ("O'Brien", "O\u2019Brien obrien o brien", ["O\u2019Brien", "o brien"]),
        ("Jürgen Groß", "JURGEN GROSS", ["JURGEN GROSS"]),
        ("van den Berg", "Van den  Berg, van der Berg", ["Van den  Berg"]),
        ("Lee", "Lee\nLee_Lee", ["Lee", "Lee", "Lee"]),
        ("Li", "Li saw li and LI", ["Li"]),
        ("J.", "J. saw j", []),
        ("123", "123", []),
        ("C-1029", "customer c 1029, C1029", ["c 1029"]),
        ("20417", "no. 20417!", ["20417"]),
        ("ann@x.org", "write to Ann@x.org", ["Ann@x.org"]),
        ("  ", "  ", []),
        ("田中", "田中 went", ["田中"]),
        ("王小明", "病人王小明来了", ["王小明"]),
        ("王", "国王", []),
        ("アン", "アンケート、アンさん", ["アン"]),
        ("Иванов", "дал Иванову, Ивановым; не иванову и не Ивановке", ["Иванову", "Ивановым"]),
        ("Иван Петров", "Ивану Петрову, за Иваном Петровым", ["Ивану Петрову", "Иваном Петровым"]),
        ("Мария", "Марии и Марией", ["Марии", "Марией"]),
        ("Müller", "Müllers", []),
        ("राम", "रामायण", []),
        ("Łucja Øster", "Lucja Oster", ["Lucja Oster"]),
    ],
)
def test_names_are_found_as_whole_words(name, text, expected):
    assert found([name], text) == expected


def test_the_longest_name_is_taken_and_neighbours_are_one_person():
    names = ["Ann", "Ann Lee", "Lee", "Bob"]

    assert found(names, "Ann Lee Smith") == ["Ann Lee"]
    assert found(names, "Bob J. Lee, Ann and Bob Ann") == ["Bob J. Lee", "Ann", "Bob Ann"]
    assert found(["Ann Lee Moor", "Ann"], "Ann Lee was there") == ["Ann"]


@pytest.mark.parametrize(
    ("country", "names", "text", "expected"),
    [
        ("DE", ["Müller", "Anna"], "Müllers Hund, Annas Buch, annas, Annen", ["Müllers", "Annas"]),
        ("SE", ["Bo Ek"], "Bo Eks, Bos Ek", []),
        ("SE", ["Bo Lind"], "Bo Linds hus", ["Bo Linds"]),
        (
            "PL",
            ["Anna Nowak"],
            "dla Anny Nowak, Annie Nowakowej",
            ["Anny Nowak", "Annie Nowakowej"],
        ),
        ("CZ", ["Novák"], "Novákovi a Nováková", ["Novákovi", "Nováková"]),
        ("GB", ["Owen", "Anna"], "Owens and Annas", []),
    ],
)
def test_endings_of_latin_names_are_those_of_the_countries(country, names, text, expected):
    assert found(names, text, countries=[country]) == expected


def test_a_small_letter_between_names_is_a_word():
    assert found(["Ann", "Bob"], "Ann y Bob, Ann B Bob, ann b bob, Ann b. Bob") == [
        "Ann", "Bob", "Ann B Bob", "ann b bob", "Ann b. Bob"
    ]  # fmt: skip


def test_words_in_lower_case_can_be_left_alone():
    text = "will Will go, as ann will"

    assert found(["Will", "Ann"], text) == ["will Will", "ann will"]
    assert found(["Will"], "they will, WILL and Will", lower_case=False) == ["WILL", "Will"]
    assert found(["Ann", "Will"], "ann will", lower_case=False) == ["ann will"]


def test_every_value_of_a_list_is_searched_for_where_that_is_wanted():
    assert found(["Q", "li", "7"], "q, LI and 7", every=True) == ["q", "LI", "7"]


WORDS = st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=3, max_size=8)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=8))
def test_names_are_those_of_a_plain_loop(names, words):
    """Single words: the same as comparing each word of the text with each name."""

    def plain(word):
        # What upper case, accents and compatibility forms make of a word.
        split = unicodedata.normalize("NFKD", word.casefold())
        return "".join(it for it in split if not unicodedata.combining(it))

    wanted = {plain(it) for it in names if not (plain(it).isdigit() and len(plain(it)) < 4)}
    wanted = {it for it in wanted if len(it) > 2}
    # A comma keeps neighbours apart.
    text = ", ".join(words)

    assert found(names, text) == [it for it in words if plain(it) in wanted]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("O'Neil", "O\u02bcNeil"),
        ("Ka\u02bbi", "Ka'i"),
        ("Anna", "\U0001d400\U0001d427\U0001d427\U0001d41a"),
    ],
)
def test_apostrophes_and_letters_of_mathematics_are_read_as_usual_ones(name, written):
    assert found([name], f"and {written} said") == [written]


def test_nothing_of_a_name_is_shown():
    names = KnownNames(["Secretia Canary", "Xu"])

    assert repr(names) == "KnownNames(2 names)"
    assert len(names) == 2


def test_names_can_be_copied_and_pickled():
    """A pickle, as engines make one, searches as the names do, also after a text was searched."""
    names = KnownNames(["Ann", "Müller"], countries=["DE"])
    found = list(names.spans("Müllers Ann"))
    for again in (copy.deepcopy(names), pickle.loads(pickle.dumps(names))):  # noqa: S301 # our own bytes
        assert list(again.spans("Müllers Ann")) == found
        assert list(again.spans("Bob")) == []

"""Lists in one option: double quotes are read as such in each of them, single ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import items_of
from halfmask.cli._stored import HashOptions
from halfmask.cli._tables import HeaderOptions


@pytest.mark.parametrize(
    "text", ["'A, b'", "'A', b", "c,'A'", "'A'", "'A, b',\"c\"", "\"c\",'A','b'", "'A\n, b'"]
)
def test_what_stands_in_single_quotes_is_refused_since_it_can_be_read_in_two_ways(text):
    with pytest.raises(UsageError, match="A key of 'town' stands in single quotes"):
        items_of(text, "A key of 'town'")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("'s-Hertogenbosch, 't Harde", ["'s-Hertogenbosch", "'t Harde"]),
        ("O'Neil,rock 'n' roll,o'", ["O'Neil", "rock 'n' roll", "o'"]),
        ("\"'A, b'\",\"'c'\"", ["'A, b'", "'c'"]),
        ("\"x, 'y', z\",b", ["x, 'y', z", "b"]),
        ('a, "b, c" ,"5"""', ["a", "b, c", '5"']),
    ],
)
def test_an_apostrophe_is_part_of_an_item_and_so_is_all_in_double_quotes(text, items):
    assert items_of(text, "A key") == tuple(items)


def _first_interaction(text):
    given: Any = HashOptions(interaction=[text]).given()
    return given["interactions"][0]


@pytest.mark.parametrize(
    ("option", "read"),
    [
        ("--column-names", lambda text: HeaderOptions(column_names=text).options()["column_names"]),
        ("--interaction", _first_interaction),
    ],
)
def test_options_of_columns_read_a_list_alike(option, read):
    assert read('age, "born, in"') == ("age", "born, in")
    for text in ("'age, in',b", "age,,b", "age,", 'a"b'):
        with pytest.raises(UsageError, match=f"A name of {option}"):
            read(text)


@pytest.mark.parametrize(
    "words",
    [
        ["assess", "risk", "{table}", "--quasi-identifiers", "'age,town'"],
        ["protect", "{table}", "--quasi-identifiers", "'age,town'", "-k", "5", "-o", "{out}"],
        ["protect", "{table}", "--quasi-identifiers", "age", "--sensitive", "'town'", "-k", "5",
         "-o", "{out}"],
    ],
)  # fmt: skip
def test_commands_refuse_columns_in_single_quotes(desk, run, words):
    answer = run(*(word.format(table=desk.table, out=desk.out) for word in words))
    assert answer.status == 2
    assert "single quotes" in answer.err

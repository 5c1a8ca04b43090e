"""Elements in which stars may find a field, whatever a block has."""

from __future__ import annotations

import pytest

from halfmask.events.block import _naming
from halfmask.events.block._naming import OpenElements
from halfmask.events.policy._policy_sections import RuleSection

LEVELS = ["", "a[]", "b[]", "a[].c[]", "a[][]"]


def stars(*paths):
    return OpenElements([RuleSection(path=path, names="keep", do="keep") for path in paths])


@pytest.mark.parametrize(
    ("path", "open_"),
    [
        ("a[].*", ["a[]"]),
        ("*", []),
        ("**", ["a[]", "b[]", "a[].c[]", "a[][]"]),
        ("a[].c[].*", ["a[].c[]"]),
        ("*[].*", ["a[]", "b[]"]),
        ("a[][].*", ["a[][]"]),
    ],
)
def test_elements_beneath_which_a_star_reaches_are_open(path, open_):
    found = dict(stars(path).beneath(LEVELS))

    assert list(found) == open_
    assert len(set(found.values())) == len(found)


def test_named_fields_open_nothing():
    named = OpenElements([RuleSection(path="a[].b", do="keep")])

    assert list(named.beneath(LEVELS)) == []


def test_what_is_known_of_ever_new_levels_is_bounded(monkeypatch):
    monkeypatch.setattr(_naming, "_MOST_KNOWN", 10)
    elements = stars("**")
    for number in range(100):
        assert [level for level, _ in elements.beneath([f"n{number}[]"])] == [f"n{number}[]"]

    assert len(elements._known) <= 10

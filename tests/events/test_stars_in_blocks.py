"""What stars find is written alike wherever blocks end: a line's bytes are the line's alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.running import lines_of, transform_of  # type: ignore[import-not-found] # beside

NAMES = st.sampled_from(["a", "b", "a-b", "aB", "x.y", "c"])
VALUES = st.recursive(
    st.one_of(st.integers(0, 3), st.sampled_from(["s", ""]), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
EVENTS = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=2, max_size=5)
PATTERNS = ["a[].*", "a[].*.b", "*", "a.*", "a.*[].b", "*[]", "**", "a.**", "a[].**", "*.b",
            "*[].*", "a[].*:integer", "**:string", "*[][]"]  # fmt: skip
NAMED = [{"path": "a[].b", "do": "keep"}, {"path": "a", "do": "keep"},
         {"path": "a.b", "do": "keep"},
         {"path": "b", "name": "c", "do": "sequence", "scope": "stream"}]  # fmt: skip


def written(rules, events, cuts):
    """Return the lines that come of events in blocks."""
    transform = transform_of(rules)
    ends = [0, *sorted(cuts), len(events)]
    return b"".join(transform.apply(lines_of(events[i:j])) for i, j in pairwise(ends) if i < j)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data(), EVENTS, st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True))
def test_lines_are_alike_in_blocks_of_any_size(data, events, patterns):
    """All at once, each alone, and cut anywhere; a pattern hashes names or keeps them."""
    names = data.draw(st.sampled_from(["keep", "hash"]))
    do = data.draw(st.sampled_from([{"do": "keep"}, {"do": "sequence", "scope": "stream"}]))
    rules = [{"path": path, "names": names, **do} for path in patterns]
    rules += data.draw(
        st.lists(st.sampled_from(NAMED), max_size=2, unique_by=lambda it: it["path"])
    )
    whole = written(rules, events, [])

    assert written(rules, events, range(len(events))) == whole
    cut = data.draw(st.integers(0, len(events)))
    assert written(rules, events, [cut]) == whole


#: Found by the test above, while it failed: pattern, and events whose lines were not alike.
FOUND = [
    ("a[].*", [{"a": []}, {"a": [{"c": 1}]}]),
    ("a[].*:integer", [{"a": [[{"b": "s"}], {"c": [""]}]}, {"a": [{"b": 1}]}]),
    ("a.*[].b", [{"a": {"c": [{}]}}, {"a": {"c": [{"b": 1}]}}]),
    ("*[].*", [{"a": ["s", {"b": {}}]}, {"a": [0, None], "b": [{"c": 1}]}]),
    ("a[].**", [{"a": [True]}, {"a": [[], {}]}]),
    ("**:string", [{"a": [{"b": "s"}, [1]]}, {"a": [{}]}]),
    ("*[][]", [{"a": []}, {"a": [[1], {}]}]),
    ("**", [{"a": 1, "a-b": 1, "aB": 1}, {"a": {"b": 1}, "a-b": 1}, {"a": [1], "aB": 1}]),
]


@pytest.mark.parametrize(("pattern", "events"), FOUND, ids=[each[0] for each in FOUND])
@pytest.mark.parametrize("names", ["keep", "hash"])
def test_lines_that_once_werent_alike(pattern, events, names):
    """An array is written by what stars may find in it, and fields have an order of their own."""
    rules = [{"path": pattern, "names": names, "do": "keep"}]

    assert written(rules, events, range(len(events))) == written(rules, events, [])


def test_elements_in_which_stars_find_nothing():
    """They are objects without fields, as those are in which a named field isn't."""
    rules = [{"path": "a[].*", "names": "keep", "do": "keep"}]

    assert written(rules, [{"a": [{}, 5]}, {"a": []}, {"a": {}}], []) == (
        b'{"a":[{},{}]}\n{"a":[]}\n{}\n'
    )

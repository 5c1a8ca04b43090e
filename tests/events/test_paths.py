"""Paths: read, written, and what they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import PolicyError
from halfmask.events import Kind, Path, PathTree, Step

ELEMENT, FIELD, BENEATH = Step.ELEMENT, Step.FIELD, Step.BENEATH
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
STEPS = st.lists(NAMES | st.sampled_from(Step), max_size=6).filter(
    lambda steps: steps[:1] != [ELEMENT]
)


@given(STEPS, st.sampled_from([None, "string", "number"]))
def test_any_path_comes_back_from_its_text(steps, type_):
    path = Path(steps=tuple(steps), type=type_)

    assert path == Path.parse(str(path))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("a[].b", ("a", ELEMENT, "b")),
        ("a[][]", ("a", ELEMENT, ELEMENT)),
        ('["a.b"]', ("a.b",)),
        ('a["b c"][]', ("a", "b c", ELEMENT)),
        ('a.["b"]', ("a", "b")),
        ('["\\u0061\\""]', ('a"',)),
        ("*", (FIELD,)),
        ("a.**", ("a", BENEATH)),
        ("**.id", (BENEATH, "id")),
        ("a.*[].b", ("a", FIELD, ELEMENT, "b")),
        ("größe.日本", ("größe", "日本")),
    ],
)
def test_paths_are_read(text, steps):
    assert steps == Path.parse(text).steps


@pytest.mark.parametrize(
    "text",
    [
        ".", "a.", ".a", "a..b", "a b", "[]", "[].a", "a[", "a]", "a[0]", "a[]b", "a***", "*a",
        "a*", '["a', "[a]", '["\\q"]', '["\\ud800"]', 'a"b', "a:text", "a:b:string", "a\\b",
        '["a"]b', ".".join("a" * 129),
    ],
)  # fmt: skip
def test_what_is_no_path_is_refused(text):
    with pytest.raises(PolicyError):
        Path.parse(text)


def test_a_path_says_its_level_place_and_kinds():
    path = Path.parse("a[].b[].c:number")

    assert (path.level, path.place) == ("a[].b[]", "a[].b[].c")
    assert {Kind.INTEGER, Kind.NUMBER} == path.kinds
    assert Path.parse("a[]").level == "a[]"
    assert Path.parse("a.b").level == ""
    assert Kind.MISSING not in Path.parse("a").kinds
    assert [Path.parse(t).concrete for t in ("a.*", "a:null", "a[].b")] == [False, False, True]


@pytest.mark.parametrize(
    ("pattern", "place", "means"),
    [
        ("a", "a", True),
        ("a", "a.b", False),
        ("*", "a", True),
        ("*", "a[]", False),
        ("a.*", "a", False),
        ("a.*", "a.b", True),
        ("a.**", "a", False),
        ("a.**", "a[]", True),
        ("a.**", "a[].b.c", True),
        ("**", "a", True),
        ("**.b", "b", True),
        ("**.b", "a[].b", True),
        ("**.b", "a.bb", False),
        ("**.**.b", "b", True),
        ("a.**.b", "a.b", True),
        ("*[].b", "a[].b", True),
    ],
)
def test_stars_mean_places(pattern, place, means):
    assert means is Path.parse(pattern).matches(Path.parse(place))


def test_a_tree_has_each_place_once_whatever_its_type_and_quotes():
    tree = PathTree(["a.b", 'a["b"]', "a.b:string", Path.parse("c")])

    assert [str(path) for path in tree.paths] == ["a.b", "c"]

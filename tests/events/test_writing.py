"""Lines from columns: what is written, under which names, and nothing else."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.json_documents import (  # type: ignore[import-not-found] # beside, not in a package
    NAMES,
    Number,
    documents,
    written,
)
from halfmask._errors import ParameterError, PolicyError
from halfmask.events import Level, OutputShape, PathTree, Values, scan_block, write_block


def _kept(lines, paths, names=None):
    """Scan and write with paths kept as they are."""
    block = scan_block(lines, PathTree(paths))
    assert not block.bad
    shape = OutputShape({path: (names or {}).get(path) for path in block.paths})
    columns = {path: block.values(path) for path in block.paths}
    return write_block(shape, columns, events=block.levels[""])


def _canonical(value, *, inside=True):
    """A document without what has nothing in it, as text; None if nothing is left."""
    if isinstance(value, dict):
        fields = [(name, _canonical(inner)) for name, inner in value.items()]
        texts = [f"{json.dumps(n, ensure_ascii=False)}:{t}" for n, t in fields if t is not None]
        return f"{{{','.join(texts)}}}" if texts or not inside else None
    if isinstance(value, Number):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _without_arrays(value):
    if isinstance(value, dict):
        return {name: _without_arrays(inner) for name, inner in value.items()}
    return "no array" if isinstance(value, list) else value


@pytest.mark.slow
@settings(max_examples=60)
@given(documents(), st.integers(0, 2**32))
def test_all_paths_kept_give_the_canonical_dump(event, seed):
    event = _without_arrays(event)

    text = _kept(written(event, Random(seed)).encode(), ["**"])

    assert _canonical(event, inside=False) + "\n" == text.decode()


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(documents(), max_size=4), st.integers(0, 2**32))
def test_what_was_written_is_written_again_the_same(events, seed):
    random = Random(seed)
    lines = "".join(f"{written(event, random)}\n" for event in events).encode()

    once = _kept(lines, ["**"])

    assert len(events) == once.count(b"\n")
    # Which field was met first may have changed, where an object that had nothing in it is gone.
    again = _kept(once, ["**"])
    assert [json.loads(line) for line in once.splitlines()] == [
        json.loads(line) for line in again.splitlines()
    ]
    for event, line in zip(events, once.splitlines(), strict=True):
        _check_subset(json.loads(line), event)


def test_where_a_block_ends_changes_nothing():
    """Whether an element has fields may only be seen in another event."""
    lines = [b'{"a":[{}]}\n', b'{"a":[{"b":1}]}\n', b'{"a":[[]]}\n', b'{"a":[]}\n']

    together = _kept(b"".join(lines), ["**"])

    assert together == b"".join(lines)
    assert together == b"".join(_kept(line, ["**"]) for line in lines)


def _check_subset(found, event):
    """Each value that was written is the event's own at that place; arrays keep what has one."""
    if isinstance(found, dict):
        assert isinstance(event, dict)
        for name, inner in found.items():
            _check_subset(inner, event[name])
    elif isinstance(found, list):
        assert isinstance(event, list)
        scalars = [value for value in found if not isinstance(value, dict | list)]
        assert scalars == [
            json.loads(value) if isinstance(value, Number) else value
            for value in event
            if not isinstance(value, dict | list)
        ]
    else:
        assert found == (json.loads(event) if isinstance(event, Number) else event)


def test_the_order_is_the_shapes_and_names_are_new():
    line = b'{"t":1,"p":[{"i":"x","q":2,"n":"secret"},{"q":3},{}],"o":{"u":{"v":null}}}'
    shape = OutputShape({"p[]": 'g"é', "p[].q": "delta", "p[].i": None, "o": "O", "t": "date",
                         "o.u.v": "w"})  # fmt: skip
    paths = ["p[].i", "p[].q", "t", "o.u.v"]
    block = scan_block(line, PathTree(paths))

    text = write_block(shape, {path: block.values(path) for path in paths})

    assert (
        text.decode()
        == '{"g\\"é":[{"delta":2,"i":"x"},{"delta":3},{}],"O":{"u":{"w":null}},"date":1}\n'
    )


@pytest.mark.parametrize(
    ("line", "paths", "expected"),
    [
        ('{"a":1}', [], "{}"),
        ('{"a":{"b":{}}}', ["a.b.c"], "{}"),
        ('{"a":[]}', ["a[]"], '{"a":[]}'),
        ('{"a":[]}', ["a"], "{}"),
        ('{"a":null}', ["a[]"], "{}"),
        ('{"a":[1,[2],{"b":3},null]}', ["a[]"], '{"a":[1,{},null]}'),
        ('{"a":[1,[2],{"b":3},null]}', ["a[].b"], '{"a":[{},{},{"b":3},{}]}'),
        ('{"a":[1,[2,[3]],[],4]}', ["a[][]"], '{"a":[[2],[]]}'),
        ('{"a":[1,[2],[]]}', ["a[]", "a[][]"], '{"a":[1,[2],[]]}'),
        ('{"a":[[{"b":1}],[{}]]}', ["a[][].b"], '{"a":[[{"b":1}],[{}]]}'),
        ('{"a":5}', ["a", "a.b", "a[]"], '{"a":5}'),
        ('{"a":{"b":5}}', ["a", "a.b", "a[]"], '{"a":{"b":5}}'),
        ('{"a":[5]}', ["a", "a.b", "a[]"], '{"a":[5]}'),
        ('{"a":{"b":[]}}', ["a.b[].c"], '{"a":{"b":[]}}'),
    ],
)
def test_containers_are_written_where_something_is_in_them(line, paths, expected):
    assert expected + "\n" == _kept(line.encode(), paths).decode()


def test_every_kind_of_column_is_written():
    events = Level.of_events(3)
    lines = Level.under(events, "l[]", np.array([2, 0, 1]))
    there = np.array([True, False, True])
    columns = {
        "w": Values.of(events, [None, True, False]),
        "n": Values.from_integers(events, np.array([-5, 6, 7]), there),
        "d": Values.from_decimals(events, np.array([-5, 6, 7]), 1, there),
        "l[].s": Values.of(lines, ["x" * 100, ..., "\n"]),
    }
    shape = OutputShape(dict.fromkeys(columns))

    text = write_block(shape, columns)

    assert [json.loads(line) for line in text.splitlines()] == [
        {"w": None, "n": -5, "d": -0.5, "l": [{"s": "x" * 100}, {}]},
        {"w": True},
        {"w": False, "n": 7, "d": 0.7, "l": [{"s": "\n"}]},
    ]


def test_events_that_are_not_wanted_are_not_written():
    block = scan_block(b'{"a":[1]}\n{"a":[2,3]}\n{"a":[4]}\n', PathTree(["a[]"]))
    columns = {"a[]": block.values("a[]")}

    text = write_block(OutputShape({"a[]": None}), columns, wanted=np.array([False, True, False]))

    assert text == b'{"a":[2,3]}\n'


def test_nothing_has_no_lines_and_events_without_columns_have_empty_ones():
    shape = OutputShape({})

    assert write_block(shape, {}) == b""
    assert write_block(shape, {}, events=Level.of_events(2)) == b"{}\n{}\n"


def test_a_level_that_a_rule_changed_is_written():
    block = scan_block(b'{"a":[{"n":1},{"n":2}]}\n', PathTree(["a[].n"]))
    values = block.values("a[].n")
    longer = Level.under(block.levels[""], "a[]", np.array([3]))
    taken = values.take(np.array([1, 1, 0]), longer)

    text = write_block(OutputShape({"a[].n": None}), {"a[].n": taken})

    assert text == b'{"a":[{"n":2},{"n":2},{"n":1}]}\n'


def test_columns_that_do_not_fit_are_refused():
    events = Level.of_events(1)
    two, three = (Level.under(events, "a[]", np.array([n])) for n in (2, 3))
    shape = OutputShape({"a[].x": None, "a[].y": None, "b": None})

    with pytest.raises(ParameterError, match="agree"):
        write_block(shape, {"a[].x": Values.of(two, [1, 2]), "a[].y": Values.of(three, [1, 2, 3])})
    with pytest.raises(ParameterError, match="isn't in the shape"):
        write_block(shape, {"c": Values.of(events, [1])})
    with pytest.raises(ParameterError, match="another level"):
        write_block(shape, {"b": Values.of(two, [1, 2])})


@pytest.mark.parametrize(
    "names",
    [
        {"": "x"},
        {"a.*": None},
        {"a:string": None},
        {"a": "x", "b": "x"},
        {"a": "b", "b": None},
        {"a": "x", "a[]": "y"},
        {"a": "\ud800"},
    ],
)
def test_shapes_that_cannot_be_are_refused(names):
    with pytest.raises(PolicyError):
        OutputShape(names)


def test_odd_names_are_written_as_they_are():
    event = {name: {name: [1]} for name in NAMES}

    assert event == json.loads(_kept(json.dumps(event).encode(), ["**"]))

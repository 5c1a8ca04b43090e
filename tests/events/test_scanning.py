"""Blocks against a plain reader: any document, any form of it, any paths, and mutated bytes."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.json_documents import (  # type: ignore[import-not-found] # beside, not in a package
    ELEMENT,
    MISSING,
    NAMES,
    accepted,
    documents,
    found_at,
    places_in,
    token,
    written,
)
from halfmask.events import Limits, Path, PathTree, Step, scan_block
from halfmask.events.block import _block

STEPS = st.lists(st.sampled_from([*NAMES, Step.ELEMENT]), min_size=1, max_size=4).filter(
    lambda steps: steps[0] is not Step.ELEMENT
)
PATTERNS = st.lists(
    st.sampled_from([*NAMES[:4], Step.ELEMENT, Step.FIELD, Step.BENEATH]), min_size=1, max_size=4
).filter(lambda steps: steps[0] is not Step.ELEMENT)


def _expected_steps(steps):
    return [ELEMENT if step is Step.ELEMENT else step for step in steps]


def _tokens(values):
    return [
        (values.token(slot)[0].name, values.token(slot)[1]) for slot in range(len(values.kinds))
    ]


def _lines(events, seed):
    random = Random(seed)
    return "".join(f"{written(event, random)}\n" for event in events).encode()


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(documents(), max_size=5), st.lists(STEPS, max_size=6), st.integers(0, 2**32))
def test_named_paths_hold_what_a_plain_reader_finds(events, paths, seed):
    named = [Path(steps=tuple(steps)) for steps in paths]

    block = scan_block(_lines(events, seed), PathTree(named))

    assert not block.bad
    assert len(events) == block.n_events
    assert {str(path) for path in named} == set(block.paths)
    for path in named:
        expected = [token(value) for value in found_at(events, _expected_steps(path.steps))]
        assert expected == _tokens(block.values(path))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(documents(), max_size=4),
    st.lists(PATTERNS, min_size=1, max_size=3),
    st.integers(0, 2**32),
)
def test_patterns_are_found_to_mean_the_places_that_events_have(events, patterns, seed):
    tree = PathTree([Path(steps=tuple(steps)) for steps in patterns])

    block = scan_block(_lines(events, seed), tree)

    met = {path for path in places_in(events) if any(_means(p, path) for p in patterns)}
    named = {tuple(_expected_steps(p)) for p in patterns if not {*p} & {Step.FIELD, Step.BENEATH}}
    found = {tuple(_expected_steps(Path.parse(path).steps)) for path in block.paths}
    # A pattern's own elements are followed wherever the array may be, met or not.
    assert met | named <= found
    for steps in found:
        assert any(_means(p, steps) for p in patterns)
        place = Path(steps=tuple(Step.ELEMENT if step is ELEMENT else step for step in steps))
        expected = [token(value) for value in found_at(events, steps)]
        assert expected == _tokens(block.values(place))
        assert any(path.matches(place) for path in tree.paths)


def _means(pattern, place):
    """Whether a pattern means a place: by a regular expression over its steps."""
    code = {step: chr(0x100 + i) for i, step in enumerate([*NAMES, ELEMENT])}
    parts = []
    for i, step in enumerate(pattern):
        if step is Step.BENEATH:
            parts.append(".+" if i == len(pattern) - 1 else ".*")
        elif step is Step.FIELD:
            parts.append(f"[^{code[ELEMENT]}]")
        else:
            parts.append(code[ELEMENT if step is Step.ELEMENT else step])
    return re.fullmatch("".join(parts), "".join(code[step] for step in place)) is not None


@pytest.mark.slow
@settings(max_examples=150)
@given(documents(), st.integers(0, 2**32), st.data())
def test_mutated_bytes_are_refused_exactly_where_a_strict_reader_refuses(event, seed, data):
    line = bytearray(written(event, Random(seed)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(line)))
        piece = data.draw(
            st.binary(max_size=3)
            | st.sampled_from([b'"', b"\\", b"\\u", b"\\ud800", b"{", b"]", b",", b"1", b"-", b"."])
        )
        line[at : at + data.draw(st.integers(0, 3))] = piece
    # A line end makes two lines of one.
    text = bytes(line).replace(b"\n", b"")

    block = scan_block(text + b"\n", PathTree(["**"]), first_line=2)

    value = accepted(text)
    if not text.strip(b" \t\r"):
        assert (block.n_events, len(block.bad)) == (0, 0)
    elif block.bad and block.bad[0].reason == "duplicate-key":
        # Of two faults in a line the first that is met is named.
        assert block.n_events == 0
    else:
        assert isinstance(value, dict) == (block.n_events == 1)
        assert isinstance(value, dict) != (len(block.bad) == 1)
        if value is not MISSING and block.bad:
            assert block.bad[0].reason == "not-an-object"


@given(st.binary(max_size=400))
def test_no_bytes_break_the_scan(data):
    block = scan_block(data, PathTree(["**"]), Limits(depth=4, line_bytes=100, paths=8))

    assert block.n_lines == len(data.split(b"\n")) - (data[-1:] in {b"\n", b""})
    for bad in block.bad:
        assert b"\n" not in data[bad.start : bad.stop]


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(documents(), min_size=1, max_size=4), st.integers(0, 2**32))
def test_bad_lines_take_nothing_with_them(events, seed):
    lines, random = [], Random(seed)
    for event in events:
        text = written(event, random).encode()
        lines += [text, text[:-1], b"", text + b"x", b'{"a":[[1,2],[{"a":3', b"[1]"]
    paths = ["a", "a[]", "a[][]", "a[][].a", "**"]

    with_bad = scan_block(b"\n".join(lines), PathTree(paths))
    without = scan_block(b"\n".join(lines[::6]), PathTree(paths))

    assert list(range(1, 6 * len(events), 6)) == with_bad.lines.tolist()
    assert 4 * len(events) == len(with_bad.bad)
    assert set(without.paths) <= set(with_bad.paths)
    for path in without.paths:
        assert _tokens(without.values(path)) == _tokens(with_bad.values(path))


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_a_block_is_the_same_whatever_room_there_is_at_first(size, monkeypatch):
    lines = b'{"a": [1, 2, {"b": "\\u0041"}], "c\\u0041": null}\n' * 200
    monkeypatch.setattr(_block._Scan, "SPARSENESS", size)

    block = scan_block(lines, PathTree(["a[]", "a[].b", "*"]))

    assert block.values("a[]").objects() == [1, 2, {}] * 200
    assert block.values("a[].b").objects() == [..., ..., "A"] * 200
    assert block.values("cA").objects() == [None] * 200


def test_threads_that_share_a_tree_find_the_same():
    lines = [
        b"".join(b'{"k%d": {"x": [%d]}, "t": "%d"}\n' % (n % 40 + k, n, k) for n in range(500))
        for k in range(8)
    ]
    tree = PathTree(["t", "*.x[]"])

    with ThreadPoolExecutor(4) as threads:
        blocks = list(threads.map(lambda data: scan_block(data, tree), lines))

    for data, found in zip(lines, blocks, strict=True):
        alone = scan_block(data, tree)
        assert alone.paths == found.paths
        for path in alone.paths:
            assert alone.values(path).objects() == found.values(path).objects()

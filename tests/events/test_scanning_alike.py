"""Lines that are nearly alike: what is remembered of one is never believed of another."""

from __future__ import annotations

from random import Random

import pytest

from events.json_documents import (  # type: ignore[import-not-found] # beside, not in a package
    ELEMENT,
    accepted,
    found_at,
    token,
)
from halfmask.events import Path, PathTree, Step, scan_block

FIELDS = {
    "id": ["1", "-20", "3.5", "1e3", '"x"'],
    "name": ['"Ann"', '"é"', '"a\\u0041"', "null"],
    "a long name that no 64 bytes have room for, as no other field here has": ["true", "7"],
    "in": ['{"id":1,"name":"b"}', '{"name":"b","id":2}', "{}", "[]", '[{"id":5},{"id":6}]'],
    "list": ['[{"id":1,"t":2},{"id":3,"t":4}]', '[{"t":1,"id":2}]', "[1,[2]]"],
    "t": ["0", '""', "false"],
}
PATHS = ["id", "name", "in", "in.id", "in[].id", "list[]", "list[].id", "list[].t", "t"]


def alike(random, space):
    """Return a line of most of the fields, mostly in their order."""
    names = [name for name in FIELDS if random.random() < 0.85]
    if random.random() < 0.2:
        random.shuffle(names)
    if random.random() < 0.05 and names:
        names.append(random.choice(names))
    fields = [f'"{name}"{space}:{random.choice(FIELDS[name])}' for name in names]
    return ("{" + f"{space},{space}".join(fields) + "}").encode()


def mutated(line, random):
    """Return a line with a byte of its structure taken out, put in or changed."""
    line = bytearray(line)
    at = random.randrange(len(line))
    line[at : at + random.randrange(2)] = random.choice([b"", b",", b'"', b":", b"}", b"]", b"1"])
    return bytes(line)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("space", ["", " "])
def test_lines_alike_are_refused_and_read_as_if_each_were_alone(seed, space):
    random = Random(seed)
    lines = [alike(random, space) for _ in range(300)]
    lines = [line if random.random() < 0.6 else mutated(line, random) for line in lines]

    block = scan_block(b"\n".join(lines), PathTree(PATHS))

    refused = {bad.line: bad.reason for bad in block.bad}
    documents = []
    for number, line in enumerate(lines, start=1):
        alone = scan_block(line, PathTree(PATHS))
        assert [bad.reason for bad in alone.bad] == [
            refused[number] for _ in [0] if number in refused
        ]
        document = accepted(line)
        # What is wrong behind a second key isn't looked for.
        if refused.get(number) != "duplicate-key":
            assert isinstance(document, dict) == (number not in refused)
        if number not in refused:
            documents.append(document)
    assert len(documents) == block.n_events > 100
    for path in PATHS:
        steps = [ELEMENT if step is Step.ELEMENT else step for step in Path.parse(path).steps]
        expected = [token(value) for value in found_at(documents, steps)]
        values = block.values(path)
        found = [values.token(slot) for slot in range(len(values.kinds))]
        assert expected == [(kind.name, text) for kind, text in found]


def test_fields_of_another_object_are_not_taken_for_its_own():
    lines = b'{"a":{"x":1,"y":2},"b":{"y":3,"x":4}}\n{"b":{"x":5,"y":6},"a":{"y":7,"x":8}}\n' * 3

    block = scan_block(lines, PathTree(["a.x", "b.y"]))

    assert block.values("a.x").objects() == [1, 8] * 3
    assert block.values("b.y").objects() == [3, 6] * 3


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1"b":2}',
        b'{,"a":1,"b":2}',
        b'{"a":1,"b":2,}',
        b'{"a":1,,"b":2}',
        b'{"a":1,"b":2',
        b'{"a":1,"b" 2}',
        b'{"a":1,"b":2}}',
        b'{"a":1,"b":2},"b":2}',
        b'{"a":1,"a":1}',
        b'{"a":1,"b":2,"b":2}',
    ],
)
def test_what_followed_before_is_no_excuse(line):
    lines = b'{"a":1,"b":2}\n{"b":1,"a":2}\n' * 4 + line + b'\n{"a":3,"b":4}'

    block = scan_block(lines, PathTree(["a", "b"]))

    assert [bad.line for bad in block.bad] == [9]
    assert block.values("a").objects() == [1, 2] * 4 + [3]


def test_more_fields_than_are_remembered():
    lines = b"".join(
        b"{" + b",".join(b'"f%d":%d' % (n, n) for n in range(k, 3000, 2)) + b"}\n"
        for k in (0, 1, 0, 1)
    )

    block = scan_block(lines, PathTree(["f0", "f2998", "f2999"]))

    assert block.values("f2998").objects() == [2998, ..., 2998, ...]
    assert block.values("f2999").objects() == [..., 2999, ..., 2999]

"""Run the kernels as plain Python, each index checked; started with NUMBA_DISABLE_JIT=1.

Compiled loops read beyond an array without a word. Here an index beyond its end raises, and one
below zero too, which Python would take from the end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from events.json_documents import (  # type: ignore[import-not-found] # beside, not in a package
    MISSING,
    NAMES,
    NUMBERS,
    Number,
    accepted,
    written,
)
from halfmask.events import (
    EventPolicy,
    Limits,
    OutputShape,
    PathTree,
    Transform,
    Values,
    scan_block,
    write_block,
)
from halfmask.kernels.text import (
    json_gaps,
    json_keys,
    json_log,
    json_scalars,
    json_scan,
    json_sequences,
    json_strings,
    json_tokens,
    line_ends,
    masking,
    time_grids,
)
from halfmask.vault import Secret

from halfmask.kernels.text import json_join, json_numbers, json_write, rounding  # isort: skip # by what they are of

PIECES = [b'"', b"\\", b"\\u", b"\\ud800", b"{", b"]", b",", b"-", b".", b"\xed\xa0", b"\xe2"]


class Checked(np.ndarray):
    """An array that refuses an index below zero."""

    def __getitem__(self, index):
        self._check(index)
        found = super().__getitem__(index)
        return found.view(np.ndarray) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index, value):
        self._check(index)
        super().__setitem__(index, value)

    def _check(self, index):
        for part in index if isinstance(index, tuple) else (index,):
            if not isinstance(part, slice) and int(part) < 0:
                raise IndexError(f"{part} is below zero")


def word_at(data, at):
    return np.uint64(int.from_bytes(bytes(data[i] for i in range(at, at + 8)), "little"))


def lowest(word):
    word = int(word)
    return (word & -word).bit_length() - 1 if word else 64


def matches(data, at, byte):
    return _bits(data, at, lambda found: found == byte)


def specials(data, at):
    return _bits(data, at, lambda found: found < 32 or found >= 128 or found in {34, 92})


def _bits(data, at, wanted):
    return np.uint64(sum(1 << i for i in range(64) if wanted(int(data[at + i]))))


def digits_at(data, at):
    return _bits(data, at, lambda found: 48 <= found <= 57)


def alike(data, at, other):
    return np.uint64(sum(1 << i for i in range(64) if data[at + i] == data[other + i]))


def peek(array, at):
    return array[at] if array.dtype == np.uint64 else int(array[at])


def fetch(data, at):
    """Nothing: it is for speed alone."""


def poke(array, at, value):
    array[at] = value


def put_word(data, at, word):
    for i, byte in enumerate(int(word).to_bytes(8, "little")):
        data[at + i] = byte


def copy_piece(source, at, target, to):
    for i in range(json_write.PIECE):
        target[to + i] = source[at + i]


MODULES = (
    json_strings,
    json_scalars,
    json_gaps,
    json_keys,
    json_log,
    json_scan,
    json_sequences,
    json_tokens,
    json_write,
    json_numbers,
    rounding,
    line_ends,
    masking,
    time_grids,
)
PLAIN = (
    word_at,
    lowest,
    matches,
    specials,
    digits_at,
    alike,
    fetch,
    peek,
    poke,
    put_word,
    copy_piece,
)


def install():
    """Put plain functions where the compiler's own instructions are, and check all arrays."""
    plain = {f.__name__: f for f in PLAIN}
    for module in MODULES:
        for name, function in plain.items():
            if hasattr(module, name):
                setattr(module, name, function)
    entries = {
        json_scan: ("scan_lines",),
        line_ends: ("count_lines",),
        json_keys: ("enter_children",),
        json_tokens: ("enter_again", "number_distinct", "number_known"),
        json_sequences: ("number_within",),
        rounding: ("round_tokens",),
        masking: ("mask_texts",),
        time_grids: ("coarsen_times", "count_back"),
        json_numbers: ("write_decimals",),
        json_write: ("write_lines",),
        json_join: ("join_column",),
    }
    for module, names in entries.items():
        for name in names:
            setattr(module, name, _checked(getattr(module, name)))


def _checked(kernel):
    def call(*arguments):
        views = [a.view(Checked) if isinstance(a, np.ndarray) else a for a in arguments]
        with np.errstate(over="ignore"):
            return kernel(*views)

    return call


def document(random, depth=0):
    kind = random.random()
    if depth > 3 or kind < 0.5:
        text = "".join(
            random.choice('ab"\\/\n\x00\x7fé€😀') for _ in range(random.choice([0, 3, 70]))
        )
        return random.choice([None, True, False, Number(random.choice(NUMBERS)), text])
    if kind < 0.7:
        return [document(random, depth + 1) for _ in range(random.randrange(4))]
    return {name: document(random, depth + 1) for name in random.sample(NAMES, random.randrange(5))}


def mutated(text, random):
    line = bytearray(text)
    for _ in range(random.choice([0, 1, 2])):
        at = random.randrange(len(line) + 1)
        if random.random() < 0.5:
            line[at : at + random.randrange(3)] = random.choice(PIECES)
        else:
            del line[at:]
    return bytes(line).replace(b"\n", b"")


POLICY: Any = {
    "halfmask-events": 1,
    "release": "r",
    "stream": {"zone": "UTC"},
    "rule": [
        {"path": "a", "do": "sequence", "scope": "stream"},
        {"path": "a[]", "do": "sequence", "scope": "event"},
        {"path": "b", "do": "round", "step": 0.5},
        {"path": "b[]", "do": "round", "decimals": 0, "to": "up"},
        {"path": "id", "do": "mask", "first": 1},
        {"path": "id[]", "do": "hash", "bits": 64},
        {"path": "t", "do": "coarsen-time", "every": "1 hour", "zone": "UTC"},
    ],
}
TIMES = ["2014-09-04T22:57:55Z", "2014-09-04", "20140904T2257", "2014-09-04 22:57:55,5", "x", ""]


def change(lines, random):
    """Return how many lines rules write, of lines with more times and numbers."""
    transform = Transform(EventPolicy(**POLICY), secret=Secret.from_bytes(bytes(32)))
    for number in range(30):
        fields = {
            "t": random.choice(TIMES),
            "b": [Number(f"{random.randrange(-999, 999)}.{n}") for n in range(number % 4)],
            "a": [Number(str(n * n % 7)) for n in range(number % 5)],
        }
        lines.append(written(fields, random).encode())
    parts = (b"\n".join(lines[at : at + 20]) for at in range(0, len(lines), 20))
    return sum(transform.apply(part).count(b"\n") for part in parts)


def main():
    install()
    random = Random(int(sys.argv[1]))
    lines = []
    for _ in range(int(sys.argv[2])):
        event = {name: document(random, 1) for name in random.sample(NAMES, random.randrange(6))}
        lines.append(mutated(written(event, random).encode(), random))
    block = scan_block(b"\n".join(lines), PathTree(["**"]), Limits(paths=100_000), first_line=2)
    values = [accepted(line) for line in lines]
    twice = sum(bad.reason == "duplicate-key" for bad in block.bad)
    events = sum(isinstance(value, dict) for value in values)
    columns = {path: block.values(path) for path in block.paths}
    for column in columns.values():
        codes, tokens = column.distinct()
        again = Values.from_tokens(column.level, codes, tokens)
        assert codes.tolist() == again.distinct()[0].tolist()
        assert [column.token(slot) for slot in range(len(codes))] == [
            again.token(slot) for slot in range(len(codes))
        ]
    text = write_block(OutputShape(dict.fromkeys(block.paths)), columns, events=block.levels[""])
    assert all(isinstance(json.loads(line), dict) for line in text.splitlines())
    level = block.levels[""]
    numbers = np.array([random.randrange(-(2**63), 2**63) for _ in range(level.slots)], np.int64)
    Values.from_decimals(level, numbers, 3, numbers % 3 > 0)
    refused = sum(value is MISSING for value in values)
    assert block.n_events <= events <= block.n_events + twice
    assert change(lines, random) >= 30
    json.dump({"events": block.n_events, "refused": refused, "bytes": len(text)}, sys.stdout)


if __name__ == "__main__":
    main()

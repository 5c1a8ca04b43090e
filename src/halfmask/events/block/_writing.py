"""From columns to JSON lines: nothing is in them but what a column has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.events.block._buffers import ArrayLease
from halfmask.events.block._paths import Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._level import Level
    from halfmask.events.block._path_tree import OutputShape
    from halfmask.events.block._values import Values


#: Quotes, a comma and the longest word.
_AROUND = 8
_WORDS = np.frombuffer(bytearray(b"nullfalsetrue"), dtype=np.uint8)
_WORD_ENDS = np.array([0, 0, 4, 9, 13], dtype=np.int64)


def write_block(
    shape: OutputShape,
    columns: Mapping[str, Values],
    *,
    events: Level | None = None,
    wanted: NDArray[np.bool_] | None = None,
) -> bytes:
    r"""Write events as lines of JSON.

    Notes
    -----
    **Guarantees.** Every byte comes from the shape or from a column.

    **Edge cases.** A value that is MISSING isn't written, nor is a container's own: OBJECT and
    ARRAY have no content. An object is written where something is in it; an array where the level
    has one, with all of its elements: one that may have fields, or whose own value is an OBJECT,
    is ``{}`` where it has none,
    any other that is MISSING is left out. Where nothing is left of an event, its line is ``{}``.
    Where a field has a value and things beneath it, the value is written.

    Examples
    --------
    >>> from halfmask.events import OutputShape, PathTree, scan_block
    >>> lines = b'{"who": "Ann", "lines": [{"n": 1}, {"n": 2.50}, {"k": 3}]}\n{"lines": []}\n'
    >>> block = scan_block(lines, PathTree(["lines[].n"]))
    >>> shape = OutputShape({"lines[]": "group", "lines[].n": "delta"})
    >>> print(write_block(shape, {"lines[].n": block.values("lines[].n")}).decode(), end="")
    {"group":[{"delta":1},{"delta":2.50},{}]}
    {"group":[]}
    """
    return bytes(view_block(shape, columns, events=events, wanted=wanted, room=ArrayLease()))


def view_block(
    shape: OutputShape,
    columns: Mapping[str, Values],
    *,
    events: Level | None,
    wanted: NDArray[np.bool_] | None,
    room: ArrayLease,
) -> memoryview:
    """Write events as lines of JSON, into memory that may be used again."""
    from halfmask.kernels.text.json_write import PIECE, write_lines  # noqa: PLC0415 # as below

    named = {Path.parse(path).place: values for path, values in columns.items()}
    levels = _levels(shape, named, events)
    if "" not in levels:
        return memoryview(b"")
    scratch = room.another()
    tokens = _joined(list(named.values()), scratch)
    nodes, names = _program(shape, named, levels)
    arrays = [level for path, level in levels.items() if path]
    out = room.array(tokens.size + _most_around(shape, levels) + 2 * PIECE, np.uint8)
    if wanted is None:
        wanted = np.ones(levels[""].slots, dtype=np.bool_)
    size = write_lines(
        tokens.data, tokens.kinds, tokens.starts, tokens.stops,
        np.concatenate([np.zeros(0, dtype=np.int64), *(level.offsets for level in arrays)]),
        np.concatenate([np.zeros(0, dtype=np.bool_), *(level.present for level in arrays)]), wanted,
        nodes, names, np.empty((2 + max(node.depth for node in shape.nodes), 5), dtype=np.int64),
        out,
    )  # fmt: skip
    scratch.release()
    return memoryview(out)[:size]  # type: ignore[arg-type] # an array is a buffer


def _levels(
    shape: OutputShape, columns: Mapping[str, Values], events: Level | None
) -> dict[str, Level]:
    """Return the levels that the columns stand at, and those above them."""
    levels = {} if events is None else {"": events}
    for path, values in columns.items():
        if path not in shape.places:
            raise ParameterError(
                "A column has a path that isn't in the shape.", hint="Name it in the OutputShape."
            )
        if values.level.path != shape.nodes[shape.places[path]].level:
            raise ParameterError("A column stands at another level than its path.")
        level: Level | None = values.level
        while level is not None:
            other = levels.setdefault(level.path, level)
            if other is not level and not _alike(other, level):
                raise ParameterError(
                    "Columns of one array don't agree on its elements.",
                    hint="Other columns of a changed level need it too.",
                )
            level = level.above
    return levels


def _alike(one: Level, other: Level) -> bool:
    return (
        one.slots == other.slots
        and np.array_equal(one.offsets, other.offsets)
        and np.array_equal(one.present, other.present)
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Tokens:
    """All columns, one behind the other, in one run of bytes."""

    data: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    size: int


def _joined(columns: list[Values], room: ArrayLease) -> _Tokens:
    from halfmask.kernels.text.json_join import join_column  # noqa: PLC0415 # numba is slow to import
    from halfmask.kernels.text.json_write import PIECE  # noqa: PLC0415 # as above

    shifts: dict[int, int] = {}
    buffers = [_WORDS]
    size = len(_WORDS)
    for values in columns:
        if id(values.data) not in shifts:
            shifts[id(values.data)] = size
            buffers.append(values.data)
            size += len(values.data)
    data = room.array(size + PIECE, np.uint8)
    np.concatenate(buffers, out=data[:size])
    data[size:] = 0
    slots = sum(len(values.kinds) for values in columns)
    kinds = room.array(slots, np.uint8)
    starts, stops = room.array(slots, np.int64), room.array(slots, np.int64)
    at = most = 0
    for values in columns:
        most += join_column(
            values.kinds, values.starts, values.stops, shifts[id(values.data)], _WORD_ENDS, at,
            kinds, starts, stops,
        )  # fmt: skip
        at += len(values.kinds)
    return _Tokens(data=data, kinds=kinds, starts=starts, stops=stops, size=most)


def _program(
    shape: OutputShape, columns: Mapping[str, Values], levels: Mapping[str, Level]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the rows of nodes that the compiled writer follows, and the names in them."""
    from halfmask.kernels.text.json_write import PIECE  # noqa: PLC0415 # as above

    rows = np.full((len(shape.nodes), 8), -1, dtype=np.int64)
    names = bytearray()
    begins = _begins({path: values.level.slots for path, values in columns.items()})
    arrays = {path: level for path, level in levels.items() if path}
    offsets = _begins({path: len(level.offsets) for path, level in arrays.items()})
    presents = _begins({path: len(level.present) for path, level in arrays.items()})
    live = _live(shape, columns)
    for number, node in enumerate(shape.nodes):
        rows[number, 0:2] = len(names), len(names) + len(node.key)
        names += node.key
        fields = [child for child in node.fields.values() if live[child]]
        if fields:
            rows[number, 2] = fields[0]
            rows[fields[:-1], 3] = fields[1:]
        if node.element is not None and live[node.element]:
            path = shape.nodes[node.element].place
            rows[number, 4] = node.element
            rows[number, 6:8] = offsets[path], presents[path]
        rows[number, 5] = begins.get(node.place, -1)
    return rows, np.frombuffer(names + bytes(PIECE), dtype=np.uint8)


def _begins(lengths: Mapping[str, int]) -> dict[str, int]:
    """Return where each begins if they stand one behind the other."""
    return dict(zip(lengths, accumulate(lengths.values(), initial=0), strict=False))


def _live(shape: OutputShape, columns: Mapping[str, Values]) -> list[bool]:
    """Return at which nodes, or beneath which, a column stands."""
    live = [node.place in columns for node in shape.nodes]
    # What is beneath a node was made after it.
    for number in range(len(live) - 1, -1, -1):
        node = shape.nodes[number]
        beneath = [*node.fields.values(), *(() if node.element is None else (node.element,))]
        live[number] = live[number] or any(live[child] for child in beneath)
    return live


def _most_around(shape: OutputShape, levels: Mapping[str, Level]) -> int:
    """Return how many bytes the lines have at most besides the columns' tokens."""
    return sum(
        levels[node.level].slots * (len(node.key) + _AROUND)
        for node in shape.nodes
        if node.level in levels
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changed:
    """A block after its rules: released columns, not yet written as lines."""

    shape: OutputShape
    columns: Mapping[str, Values]
    events: Level
    wanted: NDArray[np.bool_]
    room: ArrayLease

    def written(self) -> bytes:
        """Return the lines."""
        return bytes(self.view())

    def view(self) -> memoryview:
        """Return the lines, in memory of the block: they are there until it is released."""
        return view_block(
            self.shape, self.columns, events=self.events, wanted=self.wanted, room=self.room
        )

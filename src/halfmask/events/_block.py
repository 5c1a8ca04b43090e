"""A block of JSON lines as columns: what was found at the named paths, and what was refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.events._bad_lines import BadLines
from halfmask.events._limits import Limits
from halfmask.events._paths import Path, Step
from halfmask.events._values import Kind, Level, Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events._path_tree import PathTree, Sprout

__all__ = ["Block", "scan_block"]

#: How many bytes can be read behind the last line: as many as are looked at at once, and some.
_PADDING = 128
#: What is noted of a line has slots of 32 bits.
_LARGEST = (1 << 31) - (1 << 16)
_LEAST_LOG = 1 << 10
_MOST_GAPS = 1 << 10
#: The room of a node whose values aren't noted: no slot is beyond it.
_NEVER = 1 << 62
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True, eq=False, kw_only=True)
class _Columns:
    """What a scan notes: one run of slots for each node, one behind the other."""

    base: NDArray[np.int64]
    room: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def of(cls, room: NDArray[np.int64]) -> _Columns:
        """Return columns with so much room for each node; none where it is `_NEVER` noted."""
        ends = np.cumsum(np.where(room == _NEVER, 0, room))
        total = int(ends[-1])
        return cls(
            base=np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]),
            room=room,
            kinds=np.zeros(total, dtype=np.uint8),
            starts=np.zeros(total, dtype=np.int64),
            stops=np.zeros(total, dtype=np.int64),
        )

    def limits(self, flags: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the room of each node, 0 where only its containers are noted."""
        from halfmask.kernels.json_state import RECORDED  # noqa: PLC0415 # as above

        return np.where(flags[: len(self.room)] & RECORDED, self.room, 0)

    def widened(self, room: NDArray[np.int64]) -> _Columns:
        """Return the same with more room."""
        other = _Columns.of(room)
        for node in np.flatnonzero((self.room > 0) & (self.room != _NEVER)).tolist():
            here, there = int(self.base[node]), int(other.base[node])
            count = int(self.room[node])
            for name in ("kinds", "starts", "stops"):
                getattr(other, name)[there : there + count] = getattr(self, name)[
                    here : here + count
                ]
        return other

    def of_node(
        self, node: int, slots: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds, starts and stops of a node's slots."""
        room = int(self.room[node])
        here = slice(int(self.base[node]), int(self.base[node]) + min(slots, room))
        columns = self.kinds[here], self.starts[here], self.stops[here]
        if room >= slots:
            return columns
        kinds, starts, stops = (np.zeros(slots, dtype=each.dtype) for each in columns)
        kinds[:room], starts[:room], stops[:room] = columns
        return kinds, starts, stops


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Block:
    """Some lines of events, as columns.

    Parameters
    ----------
    n_events
        How many events there are.
    lines
        The number in the input of each event's line, from 1 on.
    n_lines
        How many lines were read: events, refused and blank ones.
    bad
        Lines that were refused, in their order; they take no slots.
    levels
        The levels that values stand at, by path; ``""`` is that of the events.
    paths
        The places that values can be asked for: those that were named, and those that stars were
        found to mean. An order isn't promised.

    **Guarantees** - Only what the tree of paths names can be asked for. Two blocks of the same
    lines and tree are the same.

    **Edge cases** - A field that is an array in one event and something else in another: its own
    values have both kinds; its elements have slots where it is an array, and what is beneath it
    where it is an object. Beneath what isn't there, or is of another kind, values are MISSING.
    """

    n_events: int
    n_lines: int
    lines: NDArray[np.int64]
    bad: BadLines
    levels: Mapping[str, Level]
    paths: tuple[str, ...]
    _data: NDArray[np.uint8] = field(repr=False)
    _sprout: Sprout = field(repr=False)
    _columns: _Columns = field(repr=False)
    _made: dict[str, Values] = field(repr=False, default_factory=dict)

    def values(self, path: str | Path) -> Values:
        """Return what a place holds.

        Parameters
        ----------
        path
            One of `paths`, or the same in other quotes.

        Raises
        ------
        ParameterError
            The path isn't one of the places that were followed.
        """
        place = path if isinstance(path, Path) else Path.parse(path)
        node = self._sprout.nodes.get(place.steps)
        if node is None or not node or not self._sprout.wanted(node):
            raise ParameterError(
                "A path was asked for that the scan didn't follow.",
                hint="Name it in the PathTree.",
            )
        if place.place not in self._made:
            self._made[place.place] = self._values(node, self.levels[place.level])
        return self._made[place.place]

    def _values(self, node: int, level: Level) -> Values:
        kinds, starts, stops = self._columns.of_node(node, level.slots)
        arrays = kinds == Kind.ARRAY
        if arrays.any():
            starts, stops = np.where(arrays, 0, starts), np.where(arrays, 0, stops)
        return Values(level=level, kinds=kinds, data=self._data, starts=starts, stops=stops)


def scan_block(
    data: bytes | bytearray | memoryview,
    tree: PathTree,
    limits: Limits | None = None,
    *,
    first_line: int = 1,
) -> Block:
    r"""Read lines of JSON, one event each: check them wholly, keep what is named.

    Every line is checked as RFC 8259 says, also where nothing is named: UTF-8, escapes (a lone
    surrogate is refused: no UTF-8 stands for it), numbers of any size. Lines end in ``\n`` or
    ``\r\n``; blank ones are skipped; a byte order mark may stand before the first.

    Parameters
    ----------
    data
        Whole lines; the last one needs no end. At most 2 GiB less 64 KiB.
    tree
        The paths that are followed.
    limits
        What is refused for its size; None: `Limits()`.
    first_line
        The number of the first line.

    Returns
    -------
    Block
        Events of the lines that were accepted. The bytes aren't held on to.

    Raises
    ------
    DataError
        The block is too large.

    **Guarantees** - Each byte is read once, however long and whatever it is, but for what finds
    line ends.

    **Edge cases** - A field that occurs twice in an object is refused where a path goes through
    that field. What no path goes through is dropped, so it may occur twice.

    Examples
    --------
    >>> from halfmask.events import PathTree
    >>> lines = b'{"who": "a", "lines": [{"n": 1}, {"n": 2.50}]}\n{"who": "\\u0061"}\nno\n'
    >>> block = scan_block(lines, PathTree(["who", "lines[].n"]))
    >>> block.values("who").objects(), block.values("lines[].n").objects()
    (['a', 'a'], [1, 2.5])
    >>> block.bad[0].line, block.bad[0].reason
    (3, <Reason.NOT_JSON: 'not-json'>)
    """
    return _Scan(data, tree.sprout(), limits or Limits(), first_line).block()


class _Scan:
    """One block's scan: the arrays that the compiled loop fills, and what it asks for."""

    #: Bytes of input for each slot of a node, before it is known how many there are.
    SPARSENESS: ClassVar[int] = 24

    def __init__(
        self, data: bytes | bytearray | memoryview, sprout: Sprout, limits: Limits, first_line: int
    ) -> None:
        from halfmask.kernels.json_gaps import GAP  # noqa: PLC0415 # numba is slow to import
        from halfmask.kernels.json_state import FRAME, State  # noqa: PLC0415 # as above
        from halfmask.kernels.line_ends import count_lines  # noqa: PLC0415 # as above

        self.sprout, self.limits = sprout, limits
        self.named = sprout.count
        given = memoryview(data).cast("B")
        if len(given) > _LARGEST:
            raise DataError(
                f"A block of {len(given)} bytes is too large to be scanned at once.",
                hint="Split it at line ends into blocks of some megabytes.",
            )
        marked = first_line == 1 and bytes(given[: len(_BOM)]) == _BOM
        self.size = len(given) + (not given or given[-1] != ord("\n"))
        self.data = np.empty(len(given) + _PADDING, dtype=np.uint8)
        self.data[: len(given)] = given
        self.data[len(given) :] = ord("\n")
        if not given:
            self.size = 0
        most = count_lines(self.data, self.size)
        self.lines = np.empty(most, dtype=np.int64)
        self.bad = np.empty((most, 4), dtype=np.int64)
        self.columns = _Columns.of(self._rooms(0, 64 + self.size // self.SPARSENESS))
        self.log = np.empty(_LEAST_LOG + limits.depth, dtype=np.int64)
        self.gaps = np.zeros(_MOST_GAPS * GAP, dtype=np.int64)
        self.stack = np.zeros((limits.depth + 1) * FRAME, dtype=np.int64)
        self.state = np.zeros(State.SIZE, dtype=np.int64)
        self.state[State.AT] = len(_BOM) if marked else 0
        self.state[State.LINE] = first_line - 1
        self.first_line = first_line

    def block(self) -> Block:
        """Scan to the end, and put the columns together."""
        from halfmask.kernels import json_state  # noqa: PLC0415 # as above

        while (why := self._run()) != json_state.DONE:
            if why == json_state.FULL:
                self._lengthen()
            else:
                self._grow(element=why == json_state.NEW_ELEMENT)
        state, place = self.state, json_state.State
        events, refused = int(state[place.EVENTS]), int(state[place.BAD])
        sprout = self.sprout
        wanted = (node for node in range(1, sprout.count) if sprout.wanted(node))
        return Block(
            n_events=events,
            n_lines=int(state[place.LINE]) - self.first_line + 1,
            lines=self.lines[:events].copy(),
            bad=BadLines(self.bad[:refused].copy()),
            levels=MappingProxyType(_levels(events, sprout, self.columns)),
            paths=tuple(str(Path(steps=sprout.steps[node])) for node in wanted),
            _data=self.data,
            _sprout=sprout,
            _columns=self.columns,
        )

    def _run(self) -> int:
        from halfmask.kernels.json_scan import scan_lines  # noqa: PLC0415 # as above

        tree, limits, columns = self.sprout, self.limits, self.columns
        return scan_lines(
            self.data,
            self.size,
            limits.depth,
            limits.line_bytes,
            self.state,
            self.stack,
            tree.flags,
            tree.element,
            tree.level,
            tree.parents,
            tree.spans,
            tree.names,
            tree.table,
            tree.stamps,
            tree.firsts,
            self.gaps,
            tree.counts,
            columns.base,
            columns.room,
            columns.limits(tree.flags),
            columns.kinds,
            columns.starts,
            columns.stops,
            self.log,
            self.lines,
            self.bad,
        )

    def _rooms(self, first: int, count: int) -> NDArray[np.int64]:
        """Return how much room each node is given from a node on."""
        from halfmask.kernels.json_state import RECORDED  # noqa: PLC0415 # as above

        tree = self.sprout
        here = slice(first, tree.count)
        noted = (tree.flags[here] & RECORDED > 0) | (tree.element[here] >= 0)
        return np.where(noted, count, _NEVER)

    def _lengthen(self) -> None:
        """Make room for the value, or the line, that the scan stands before."""
        from halfmask.kernels.json_state import State  # noqa: PLC0415 # as above

        node, slot = int(self.state[State.NODE]), int(self.state[State.SLOT])
        if node < 0:
            length = int(self.state[State.END] - self.state[State.BEGIN])
            self.log = np.empty(length + self.limits.depth, dtype=np.int64)
            return
        room = self.columns.room.copy()
        room[node] = 64 + slot + slot // 2
        self.columns = self.columns.widened(room)

    def _grow(self, *, element: bool) -> None:
        """Place a field or an array that only a star names, or refuse its line."""
        from halfmask.kernels.json_state import TOO_MANY_PATHS, State  # noqa: PLC0415 # as above

        node = int(self.state[State.NODE])
        if self.sprout.count - self.named >= self.limits.paths:
            self.state[State.REFUSED] = TOO_MANY_PATHS
            return
        if element:
            self.sprout.grow(node, Step.ELEMENT)
        else:
            start, stop = self.state[[State.KEY_START, State.KEY_STOP]].tolist()
            self.sprout.grow(node, str(json.loads(b'"%b"' % self.data[start:stop].tobytes())))

        columns = self.columns
        known = len(columns.room)
        # A node may have got elements, whose array is noted from now on.
        room = np.where(columns.room == _NEVER, self._rooms(0, 0)[:known], columns.room)
        columns.room = np.concatenate([room, self._rooms(known, 0)])
        columns.base = np.concatenate([columns.base, np.zeros(len(columns.room) - known, np.int64)])


def _levels(events: int, sprout: Sprout, columns: _Columns) -> dict[str, Level]:
    levels = [Level.of_events(events)]
    for node in sprout.levels[1:]:
        array = int(sprout.parents[node])
        above = levels[int(sprout.level[array])]
        kinds, _, sizes = columns.of_node(array, above.slots)
        present = kinds == Kind.ARRAY
        path = str(Path(steps=sprout.steps[node]))
        levels.append(Level.under(above, path, np.where(present, sizes, 0), present=present))
    return {level.path: level for level in levels}

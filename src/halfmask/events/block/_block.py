"""A block of JSON lines as columns: what was found at the named paths, and what was refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.events.block._bad_lines import BadLines, Limits
from halfmask.events.block._buffers import ArrayLease
from halfmask.events.block._columns import NEVER, Columns
from halfmask.events.block._level import Level
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._values import Kind, Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._path_tree import PathTree, ScanTree
    from halfmask.events.running._context import Context

#: How many bytes can be read behind the last line: as many as are looked at at once, and some.
_PADDING = 128
#: What is noted of a line has slots of 32 bits.
_LARGEST = (1 << 31) - (1 << 16)
#: Enough for lines of 16 KB: the scan is left where the log is too short.
_LEAST_LOG = 1 << 13
#: Bytes of a block that distinguish it from others.
_LEAST_LEARNED = 1 << 16
_MOST_GAPS = 1 << 10
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Block:
    """Some lines of events, as columns.

    Notes
    -----
    **Guarantees.** Only what the tree of paths names can be asked for. Two blocks of the same
    lines and tree are the same.

    **Edge cases.** A field that is an array in one event and something else in another: its own
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
    _tree: ScanTree = field(repr=False)
    _columns: Columns = field(repr=False)
    room: ArrayLease = field(repr=False)
    ahead: dict[str, tuple[Values, list[tuple[int, Context]]]] = field(
        repr=False, default_factory=dict
    )
    _made: dict[str, Values] = field(repr=False, default_factory=dict)

    def values(self, path: str | Path) -> Values:
        """Return what a place holds."""
        place = path if isinstance(path, Path) else Path.parse(path)
        node = self._tree.nodes.get(place.steps)
        if node is None or not node or not self._tree.wanted(node):
            raise ParameterError(
                "A path was asked for that the scan didn't follow.", hint="Name it in the PathTree."
            )
        if place.place not in self._made:
            self._made[place.place] = self._values(node, self.levels[place.level])
        return self._made[place.place]

    def release(self) -> None:
        """Let the block's memory be reused; its values are no longer valid."""
        self._made.clear()
        self.ahead.clear()
        self.room.release()

    def _values(self, node: int, level: Level) -> Values:
        kinds, starts, stops = self._columns.of_node(node, level.slots)
        arrays = kinds == int(Kind.ARRAY)
        if arrays.any():
            starts, stops = np.where(arrays, 0, starts), np.where(arrays, 0, stops)
        return Values(level=level, kinds=kinds, data=self._data, starts=starts, stops=stops)


def scan_block(
    data: bytes | bytearray | memoryview,
    tree: PathTree,
    limits: Limits | None = None,
    *,
    first_line: int = 1,
    lease: ArrayLease | None = None,
    own: NDArray[np.uint8] | None = None,
) -> Block:
    r"""Read lines of JSON, one event each: check them wholly, keep what is named.

    Every line is checked as RFC 8259 says, also where nothing is named: UTF-8, escapes (a lone
    surrogate is refused: no UTF-8 stands for it), numbers of any size. Lines end in ``\n`` or
    ``\r\n``; blank ones are skipped; a byte order mark may stand before the first.

    Notes
    -----
    **Guarantees.** Each byte is read once, however long and whatever it is, except for what finds
    line ends.

    **Edge cases.** A field that occurs twice in an object is refused where a path goes through
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
    scan = _Scan(data, tree.for_block(), limits or Limits(), first_line, lease or ArrayLease(), own)
    return scan.block()


class _Scan:
    """One block's scan: the arrays that the compiled loop fills, and what it asks for."""

    #: Bytes of input for each slot of a node, before it is known how many there are.
    SPARSENESS: ClassVar[int] = 24

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        tree: ScanTree,
        limits: Limits,
        first_line: int,
        lease: ArrayLease,
        own: NDArray[np.uint8] | None,
    ) -> None:
        from halfmask.kernels.text.json_gaps import GAP  # noqa: PLC0415 # numba is slow to import
        from halfmask.kernels.text.json_state import FRAME, State  # noqa: PLC0415 # as above
        from halfmask.kernels.text.line_ends import count_lines  # noqa: PLC0415 # as above

        self.tree, self.limits, self.lease = tree, limits, lease
        self.named = tree.count
        given = memoryview(data).cast("B")
        if len(given) > _LARGEST:
            raise DataError(
                f"A block of {len(given)} bytes is too large to be scanned at once.",
                hint="Split it at line ends into blocks of some megabytes.",
            )
        marked = first_line == 1 and bytes(given[: len(_BOM)]) == _BOM
        self.size = len(given) + (not given or given[-1] != ord("\n"))
        if own is None:
            self.data = lease.array(len(given) + _PADDING, np.uint8)
            self.data[: len(given)] = given
        else:
            self.data = own[: len(given) + _PADDING]
        self.data[len(given) :] = ord("\n")
        if not given:
            self.size = 0
        most = count_lines(self.data, self.size)
        self.lines = np.empty(most, dtype=np.int64)
        self.bad = np.empty((most, 4), dtype=np.int64)
        self.columns = Columns.of(self._rooms(), lease)
        self.log = np.empty(_LEAST_LOG + limits.depth, dtype=np.int64)
        self.gaps = np.zeros(_MOST_GAPS * GAP, dtype=np.int64)
        self.stack = np.zeros((limits.depth + 1) * FRAME, dtype=np.int64)
        self.state = np.zeros(State.SIZE, dtype=np.int64)
        self.state[State.AT] = len(_BOM) if marked else 0
        self.state[State.LINE] = first_line - 1
        self.first_line = first_line

    def block(self) -> Block:
        """Scan to the end, and put the columns together."""
        from halfmask.kernels.text import json_state  # noqa: PLC0415 # as above

        while (why := self._run()) != json_state.DONE:
            if why == json_state.FULL:
                self._lengthen()
            else:
                self._grow(element=why == json_state.NEW_ELEMENT)
        self._learn()
        state, place = self.state, json_state.State
        events, refused = int(state[place.EVENTS]), int(state[place.BAD])
        tree = self.tree
        wanted = (node for node in range(1, tree.count) if tree.wanted(node))
        return Block(
            n_events=events,
            n_lines=int(state[place.LINE]) - self.first_line + 1,
            lines=self.lines[:events].copy(),
            bad=BadLines(self.bad[:refused].copy()),
            levels=MappingProxyType(_levels(events, tree, self.columns)),
            paths=tuple(str(Path(steps=tree.steps[node])) for node in wanted),
            _data=self.data,
            _tree=tree,
            _columns=self.columns,
            room=self.lease,
        )

    def _run(self) -> int:
        from halfmask.kernels.text.json_scan import scan_lines  # noqa: PLC0415 # as above

        tree, limits, columns = self.tree, self.limits, self.columns
        return scan_lines(
            self.data, self.size, limits.depth, limits.line_bytes, self.state, self.stack,
            tree.flags, tree.element, tree.level, tree.parents, tree.spans, tree.names, tree.table,
            tree.stamps, tree.firsts, self.gaps, tree.counts, columns.base, columns.room,
            columns.limits(tree.flags), columns.kinds, columns.starts, columns.stops, self.log,
            self.lines, self.bad,
        )  # fmt: skip

    def _rooms(self, *, first: int = 0, at_first: bool = True) -> NDArray[np.int64]:
        """Return how much room nodes are given: a quarter more than such lines took before."""
        from halfmask.kernels.text.json_state import RECORDED  # noqa: PLC0415 # as above

        tree = self.tree
        here = slice(first, tree.count)
        noted = (tree.flags[here] & RECORDED > 0) | (tree.element[here] >= 0)
        if not at_first:
            return np.where(noted, 0, NEVER)
        shares = [tree.density.get(n, 1 / self.SPARSENESS) for n in range(len(tree.levels))]
        count = 64 + (1.25 * self.size * np.array(shares)).astype(np.int64)
        return np.where(noted, count[tree.level[here]], NEVER)

    def _learn(self) -> None:
        """Remember how many slots there are for each byte, for the blocks that follow."""
        from halfmask.kernels.text.json_state import State  # noqa: PLC0415 # as above

        tree = self.tree
        if self.size > _LEAST_LEARNED:
            counts = tree.counts[: len(tree.levels)] / self.size
            tree.density.update(enumerate(counts[: tree.named_levels].tolist()))
            tree.density[0] = int(self.state[State.EVENTS]) / self.size

    def _lengthen(self) -> None:
        """Make room for the value, or the line, that the scan stands before."""
        from halfmask.kernels.text.json_state import State  # noqa: PLC0415 # as above

        node, slot = int(self.state[State.NODE]), int(self.state[State.SLOT])
        if node < 0:
            length = int(self.state[State.END] - self.state[State.BEGIN])
            self.log = np.empty(length + self.limits.depth, dtype=np.int64)
            return
        room = self.columns.room.copy()
        # Nodes that are named are given room together: each time, all is copied.
        alike = np.arange(self.tree.count) == node
        if node < self.named:
            alike |= self.tree.level[: self.tree.count] == self.tree.level[node]
            alike[self.named :] = False
        room = np.where(alike & (room != NEVER), np.maximum(room, 64 + 2 * slot), room)
        self.columns.widen(room, self.lease)

    def _grow(self, *, element: bool) -> None:
        """Place a field or an array that only a star names, or refuse its line."""
        from halfmask.kernels.text.json_state import TOO_MANY_PATHS, State  # noqa: PLC0415 # as above

        node = int(self.state[State.NODE])
        if self.tree.count - self.named >= self.limits.paths:
            self.state[State.REFUSED] = TOO_MANY_PATHS
            return
        if element:
            self.tree.grow(node, Step.ELEMENT)
        else:
            start, stop = self.state[[State.KEY_START, State.KEY_STOP]].tolist()
            self.tree.grow(node, str(json.loads(b'"%b"' % self.data[start:stop].tobytes())))

        columns = self.columns
        known = len(columns.room)
        # A node may have got elements, whose array is noted from now on.
        room = np.where(columns.room == NEVER, self._rooms(at_first=False)[:known], columns.room)
        columns.room = np.concatenate([room, self._rooms(first=known, at_first=False)])
        columns.base = np.concatenate([columns.base, np.zeros(len(columns.room) - known, np.int64)])


def _levels(events: int, tree: ScanTree, columns: Columns) -> dict[str, Level]:
    levels = [Level.of_events(events)]
    for node in tree.levels[1:]:
        array = int(tree.parents[node])
        above = levels[int(tree.level[array])]
        kinds, _, sizes = columns.of_node(array, above.slots)
        present = kinds == int(Kind.ARRAY)
        path = str(Path(steps=tree.steps[node]))
        levels.append(Level.under(above, path, np.where(present, sizes, 0), present=present))
    return {level.path: level for level in levels}

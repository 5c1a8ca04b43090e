"""Columns that a scan fills: one run of slots for each node of the tree of paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._values import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._buffers import ArrayLease

#: The room of a node whose values aren't noted: no slot is beyond it.
NEVER = 1 << 62


@dataclass(slots=True, eq=False, kw_only=True)
class Columns:
    """What a scan notes: one run of slots for each node."""

    base: NDArray[np.int64]
    room: NDArray[np.int64]
    used: int
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def of(cls, room: NDArray[np.int64], lease: ArrayLease) -> Columns:
        """Return columns with so much room for each node; none where it is `NEVER` noted."""
        ends = np.cumsum(np.where(room == NEVER, 0, room))
        total = int(ends[-1])
        kinds = lease.array(total, np.uint8)
        kinds[:] = 0
        return cls(
            base=np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]),
            room=room,
            used=total,
            kinds=kinds,
            starts=lease.array(total, np.int64),
            stops=lease.array(total, np.int64),
        )

    def limits(self, flags: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the room of each node, 0 where only its containers are noted."""
        from halfmask.kernels.text.json_state import RECORDED  # noqa: PLC0415 # as above

        return np.where(flags[: len(self.room)] & RECORDED, self.room, 0)

    def widen(self, room: NDArray[np.int64], lease: ArrayLease) -> None:
        """Give nodes more room: what they have moves behind all others, which stay where they are.

        So a node of which nothing was known costs no more than its own slots, however many there
        are, and arrays are made again only where they would have to be twice as long.
        """
        wider = np.flatnonzero((room != self.room) & (room != NEVER))
        end = self.used + int(room[wider].sum())
        if end > len(self.kinds):
            self._lengthen(max(2 * len(self.kinds), end), lease)
        self.kinds[self.used : end] = 0
        for node in wider.tolist():
            here, count = int(self.base[node]), int(self.room[node])
            there = self.used
            if 0 < count < NEVER:
                for array in (self.kinds, self.starts, self.stops):
                    array[there : there + count] = array[here : here + count]
            self.base[node] = there
            self.used += int(room[node])
        self.room = room

    def _lengthen(self, slots: int, lease: ArrayLease) -> None:
        for name in ("kinds", "starts", "stops"):
            array = getattr(self, name)
            longer = lease.array(slots, array.dtype.type)
            longer[: self.used] = array[: self.used]
            setattr(self, name, longer)

    def of_node(
        self, node: int, slots: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds, starts and stops of a node's slots."""
        room = int(self.room[node])
        here = slice(int(self.base[node]), int(self.base[node]) + min(slots, room))
        columns = self.kinds[here], self.starts[here], self.stops[here]
        missing = columns[0] == int(Kind.MISSING)
        if missing.any():  # what stands there is left over from something else
            columns[1][missing] = columns[2][missing] = 0
        if room >= slots:
            return columns
        kinds, starts, stops = (np.zeros(slots, dtype=each.dtype) for each in columns)
        kinds[:room], starts[:room], stops[:room] = columns
        return kinds, starts, stops

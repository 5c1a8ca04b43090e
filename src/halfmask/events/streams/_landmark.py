"""Landmark: the bytes before a place in a file, by which the file is known again."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from halfmask.events.streams._readers import reading

if TYPE_CHECKING:
    from halfmask.events.streams._chunk import Position

_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place in a file, its first bytes and the last ones before the place.

    A file that was emptied and written again has the same inode, and may be as long as before or
    longer. Only its bytes tell.

    Notes
    -----
    **Edge cases.** A file whose first and last 4,096 bytes are the same again is taken for the
    same file, whatever is between.
    """

    offset: int = 0
    head: bytes = b""
    tail: bytes = b""

    def after(self, data: bytes | memoryview) -> Self:
        """Return the landmark behind the next bytes."""
        head = self.head
        if self.offset < _BYTES:
            head += data[: _BYTES - self.offset]
        return type(self)(
            offset=self.offset + len(data),
            head=head,
            tail=(self.tail + data[-_BYTES:])[-_BYTES:],
        )

    def is_in(self, descriptor: int) -> bool:
        """Return whether the file still has these bytes."""
        return self == self.read(descriptor, self.offset, len(self.head), len(self.tail))

    @classmethod
    def read(cls, descriptor: int, offset: int, head: int = _BYTES, tail: int = _BYTES) -> Self:
        """Return the landmark of a place as the file has it now."""
        head, tail = min(head, offset), min(tail, offset)
        with reading():
            return cls(
                offset=offset,
                head=os.pread(descriptor, head, 0),
                tail=os.pread(descriptor, tail, offset - tail),
            )

    def to_position(self) -> dict[str, Any]:
        """Return what a position keeps of it: lengths and hashes, no bytes."""
        return {"offset": self.offset, "head": _mark(self.head), "tail": _mark(self.tail)}

    @classmethod
    def found(cls, descriptor: int, position: Position) -> Self | None:
        """Return the landmark of a position in a file; None if it isn't there."""
        head, tail = position["head"], position["tail"]
        there = cls.read(descriptor, int(position["offset"]), int(head[0]), int(tail[0]))
        same = _mark(there.head) == [*head] and _mark(there.tail) == [*tail]
        return cls.read(descriptor, there.offset) if same else None


def _mark(data: bytes) -> list[Any]:
    return [len(data), hashlib.sha256(data).hexdigest()]

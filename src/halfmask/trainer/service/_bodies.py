"""Bodies of requests: read to the end or to a limit, and within a time."""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.trainer.store import RefusedError

if TYPE_CHECKING:
    from starlette.requests import Request

    from halfmask.trainer.store import Lease

#: How many times longer a body may be when it is unpacked.
MAX_RATIO = 32
#: Less than this is unpacked whatever the ratio: a short text of one letter is no attack.
SMALL = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a body has to come."""

    seconds: float
    stall_seconds: float
    bytes_per_second: int

    def deadline(self, start: float, now: float, size: int) -> float:
        """Return when more has to come, of a body that began at a time and has so many bytes."""
        late = start + self.stall_seconds + size / self.bytes_per_second
        return min(start + self.seconds, now + self.stall_seconds, late)


async def read_body(request: Request, lease: Lease, *, most: int, pace: Pace) -> list[bytes]:
    """Return the pieces of a body."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > most:
        raise _too_long(most)
    packing = request.headers.get("content-encoding", "identity").strip().lower()
    if packing not in {"identity", "gzip"}:
        raise RefusedError(
            "The body is packed in a way that isn't known here.",
            status=415,
            word="media-type",
            hint="Content-Encoding may be gzip.",
        )
    pieces = _Gunzipped(most) if packing == "gzip" else _Plain(most)
    clock, received = asyncio.get_running_loop().time, 0
    start = clock()
    try:
        async with asyncio.timeout_at(pace.deadline(start, start, 0)) as limit:
            async for piece in request.stream():
                before, received = pieces.size, received + len(piece)
                pieces.add(piece)
                lease.take(pieces.size - before)
                limit.reschedule(pace.deadline(start, clock(), received))
    except TimeoutError:
        raise RefusedError(
            "The body didn't come in time.",
            status=408,
            word="timeout",
            hint="Send smaller batches.",
        ) from None
    return pieces.whole()


class _Plain:
    """A body as it comes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self._most:
            raise _too_long(self._most)
        self._pieces.append(piece)

    def whole(self) -> list[bytes]:
        return self._pieces


class _Gunzipped(_Plain):
    """A body that is unpacked as it comes, and no further than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._packed = 0
        self._gunzip = zlib.decompressobj(wbits=31)

    def add(self, piece: bytes) -> None:
        self._packed += len(piece)
        # One byte more than may be is enough to know.
        allowed = min(self._most, max(SMALL, MAX_RATIO * self._packed)) - self.size + 1
        try:
            super().add(self._gunzip.decompress(piece, max_length=allowed))
        except zlib.error:
            raise _damaged() from None
        if self._gunzip.unconsumed_tail or self.size > max(SMALL, MAX_RATIO * self._packed):
            raise RefusedError(
                "The body is packed more tightly than hashed rows can be.",
                status=413,
                word="too-large",
                hint="Send it in smaller batches, or as it is.",
            )

    def whole(self) -> list[bytes]:
        if not self._gunzip.eof or self._gunzip.unused_data:
            raise _damaged()
        return super().whole()


def _too_long(most: int) -> RefusedError:
    return RefusedError(
        f"The body is longer than {most:,} bytes.",
        status=413,
        word="too-large",
        hint="Send it in smaller batches.",
    )


def _damaged() -> RefusedError:
    return RefusedError("The body isn't whole gzip.", status=400, word="bad-request")

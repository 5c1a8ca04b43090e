"""Streams of Arrow to hashed rows, where nothing of the bytes is believed."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import DataError, HalfmaskError
from halfmask.trainer._messages import batches_of
from halfmask.trainer.store._limits import RefusedError

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows

#: How many record batches a body may have: each costs time, however small.
MAX_BATCHES = 256
#: How many times longer a body may be when it is unpacked.
MAX_RATIO = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """Hashed rows of a request body."""

    parts: tuple[HashedRows, ...]
    rows: int
    inflated: int


def unpack(body: bytes, *, most: int) -> Unpacked:
    """Return the rows of a stream."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s, and --help needs none

    from halfmask.hashing import HashedRows  # noqa: PLC0415 # the same

    parts: list[HashedRows] = []
    inflated = 0
    try:
        for batch, more in batches_of(body, most=most, too_long=_too_long):
            inflated += more
            if inflated > most or inflated > MAX_RATIO * len(body):
                raise _too_long()
            if len(parts) == MAX_BATCHES:
                raise _too_long()
            parts.append(HashedRows.from_batch(batch))
    except HalfmaskError:
        raise
    # What Arrow's reader raises for bytes that are no stream: OSError is of no file here, and
    # ValueError may be of a name that is no text.
    except (pa.ArrowException, OSError, EOFError, struct.error, LookupError, ValueError):
        raise DataError("The body is no whole stream of Arrow record batches.") from None
    full = tuple(each for each in parts if len(each))
    if not full:
        raise DataError("The body has no rows.")
    return Unpacked(parts=full, rows=sum(map(len, full)), inflated=inflated)


def bytes_of(rows: HashedRows) -> bytes:
    """Return hashed rows as the bytes of an Arrow stream.

    Parameters
    ----------
    rows
        Hashed rows.
    """
    import pyarrow as pa  # noqa: PLC0415 # as above

    sink, batch = pa.BufferOutputStream(), rows.to_batch()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _too_long() -> RefusedError:
    return RefusedError(
        "The body is too long when it is unpacked, or has too many record batches.",
        status=413,
        word="too-large",
        hint="Send it in smaller batches.",
    )

"""The idempotency key of a batch, made of its content."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows

KEY_BYTES = 16
_BATCH, _TARGET = b"halfmask batch/1", b"halfmask work/1"


def content_key(rows: HashedRows, *, stream: str, model: str, first_row: int) -> bytes:
    """Return the key of a batch: of what it holds, and of where it stands in its stream.

    Notes
    -----
    **Guarantees.** The same rows at the same place of the same stream have the same key, in every
    process and with every version of Arrow; other rows, another place, stream or model another
    one (BLAKE2b of 16 bytes, RFC 7693). It reveals nothing that the rows don't, except the
    word of the stream, which who has the rows can guess.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.hashing import HashedRows
    >>> rows = HashedRows(indices=np.array([[3, 1]], dtype=np.uint32), bits=3)
    >>> content_key(rows, stream="", model="fraud", first_row=0).hex()
    '5ea47897af414c74a26690e21eac0484'
    """
    state = blake2b(digest_size=KEY_BYTES, person=_BATCH)
    for word in (stream, model, rows.label_kind):
        encoded = word.encode()
        state.update(struct.pack("<Q", len(encoded)) + encoded)
    width = -1 if rows.width is None else rows.width
    state.update(struct.pack("<QQqQ", first_row, len(rows), width, rows.bits))
    for array in (rows.indptr, rows.indices, rows.values, rows.labels, rows.weights):
        if array is None:
            state.update(struct.pack("<q", -1))
        else:
            state.update(struct.pack("<q", array.nbytes))
            state.update(array.data)
    return state.digest()


def work_name(*words: str) -> str:
    """Return a short name of what a journal is of: the service, the model and the stream."""
    state = blake2b(digest_size=KEY_BYTES, person=_TARGET)
    for word in words:
        encoded = word.encode()
        state.update(struct.pack("<Q", len(encoded)) + encoded)
    return state.hexdigest()

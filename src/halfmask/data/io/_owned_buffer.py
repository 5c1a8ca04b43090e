"""Bytes in Arrow's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def owned_buffer(block: bytes) -> pa.Buffer:
    """Copy bytes into Arrow's memory, which Arrow frees without the GIL.

    If a thread of Arrow frees a Python object while the process ends, the process aborts.

    Parameters
    ----------
    block
        The bytes to copy.

    Examples
    --------
    >>> owned_buffer(b"17,f").to_pybytes()
    b'17,f'
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and not every format needs it

    buffer = pa.allocate_buffer(len(block))
    pa.FixedSizeBufferWriter(buffer).write(block)
    return buffer

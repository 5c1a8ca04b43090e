"""Padding: how long an answer takes, and how long it is, in coarse steps alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

Result = TypeVar("Result")
#: The length of a body is a multiple of this.
BLOCK_BYTES: Final = 4096


def padded(body: bytes, filler: bytes) -> bytes:
    """Return a body that is filled up to a multiple of a block.

    Examples
    --------
    >>> len(padded(b"{}", b" "))
    4096
    """
    return body + filler * (-len(body) % BLOCK_BYTES)


async def in_steps_of(seconds: float, work: Awaitable[Result]) -> Result:
    """Return a result, or raise an error, after a whole number of steps of time."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    try:
        return await work
    finally:
        await asyncio.sleep(seconds - (loop.time() - begun) % seconds)

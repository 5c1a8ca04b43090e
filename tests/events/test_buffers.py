"""Memory that is used again, and how much of it waits at most."""

from __future__ import annotations

import numpy as np

from halfmask.events.block import _buffers
from halfmask.events.block._buffers import Buffers


def test_what_was_given_back_is_used_again_and_once_alone():
    buffers = Buffers()
    lease = buffers.lease()
    first = lease.array(100_000, np.uint8)
    second = lease.array(100_000, np.uint8)
    assert not np.shares_memory(first, second)

    lease.release()
    again = [buffers.lease().array(100_000, np.uint8) for _ in range(3)]

    assert sum(np.shares_memory(each, first) for each in again) == 1
    assert sum(np.shares_memory(each, second) for each in again) == 1
    assert not any(np.shares_memory(again[2], each) for each in again[:2])


def test_no_more_waits_than_may(monkeypatch):
    """Sizes that nobody asks for any more make room for others."""
    monkeypatch.setattr(_buffers, "_MOST_IDLE", 1 << 20)
    buffers = Buffers()
    for size in (1 << 18, 1 << 18, 1 << 19, 1 << 20, 1 << 21):
        buffers.give(np.empty(size, np.uint8))
        assert buffers.idle <= max(1 << 20, size)

    monkeypatch.setattr(_buffers, "_MOST", 1 << 19)
    before = buffers.idle
    buffers.give(np.empty(1 << 20, np.uint8))
    assert buffers.idle == before

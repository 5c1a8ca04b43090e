"""A token bucket: limits the rate of a client."""

from __future__ import annotations

import time
from collections.abc import Callable


class Bucket:
    """Fills with time, and is emptied by what is done.

    Guarantees
    ----------
    Over any stretch of ``t`` seconds no more than ``per_second * (t + 1)`` is let through, and one
    request more: one that is larger than the bucket goes through when it is full, and is paid for
    before the next.

    Examples
    --------
    >>> bucket = Bucket(10.0, clock=lambda: 0.0)
    >>> bucket.take(10), bucket.take(5), bucket.take(1)
    (0.0, 0.1, 0.1)
    """

    def __init__(self, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._level = self._most
        self._clock = clock
        self._last = clock()

    def take(self, amount: float) -> float:
        """Take an amount; return 0, or after how many seconds it may be asked for again."""
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._last) * self._per_second)
        self._last = now
        wanted = min(amount, 1.0, self._most)
        if self._level < wanted:
            return (wanted - self._level) / self._per_second
        self._level -= amount
        return 0.0

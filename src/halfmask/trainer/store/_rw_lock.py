"""A reader-writer lock: neither side waits for more than the other's next turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RWLock:
    """A lock that readers share, and that its one writer has alone.

    Phase-fair: a reader that waits for the writer goes before the writer's next turn, and the
    writer goes before readers that come after it (Brandenburg and Anderson, "Spin-based
    reader-writer synchronization for multiprocessor real-time systems", 2010, section 3).

    Examples
    --------
    >>> lock = RWLock()
    >>> with lock.reading(), lock.reading():
    ...     pass
    >>> with lock.writing():
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._waiting = 0
        self._phase = 0
        self._writer = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Take a reader's turn."""
        with self._changed:
            if self._writer:
                phase = self._phase
                self._waiting += 1
                while self._phase == phase:
                    self._changed.wait()
            else:
                self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take the writer's turn. There is one writer."""
        with self._changed:
            self._writer = True
            while self._readers:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._writer = False
                # Those who wait are let in here, so that the writer can't overtake them.
                self._readers += self._waiting
                self._waiting = 0
                self._phase += 1
                self._changed.notify_all()

"""A queue that is emptied in one go, and that can be closed."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BatchQueue(Generic[Item]):
    """What several threads put in and one takes out, all that there is at once.

    Examples
    --------
    >>> queue = BatchQueue()
    >>> queue.put(1), queue.put(2)
    (True, True)
    >>> queue.take(most=10)
    [1, 2]
    >>> queue.close()
    >>> queue.put(3), queue.take(most=10)
    (False, None)
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item) -> bool:
        """Put an item in; return False where the queue is closed."""
        with self._changed:
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify()
            return True

    def take(self, *, most: int, seconds: float | None = None) -> list[Item] | None:
        """Wait for items; return up to `most`, none if time is up, None if closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed, seconds)
            if not self._items:
                return None if self._closed else []
            taken, self._items = self._items[:most], self._items[most:]
            return taken

    def close(self) -> None:
        """Take nothing more in; what is in it can still be taken out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

"""Where values stand in a block: at events, or at the elements of their arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Level:
    """The level of values: one slot for each event, or for each array element.

    Parameters
    ----------
    path
        The path of the elements, such as ``"products[]"``; ``""`` is the level of the events.
    event
        For each slot, the number of its event in the block, ascending.
    offsets
        Slots ``offsets[i]`` to ``offsets[i + 1]`` belong to slot i of the level above; empty for
        the level of events.
    present
        Whether slot i of the level above holds an array. An empty array is present but has no
        slots. Empty for the level of events.
    above
        The level that encloses it; None for the level of events.

    Notes
    -----
    **Guarantees.** Slots are in the order of the input.

    Examples
    --------
    >>> import numpy as np
    >>> orders = Level.of_events(2)
    >>> lines = Level.under(orders, "products[]", np.array([2, 1]))
    >>> lines.slots, lines.event.tolist(), lines.offsets.tolist()
    (3, [0, 0, 1], [0, 2, 3])
    """

    path: str
    event: NDArray[np.int64]
    offsets: NDArray[np.int64]
    present: NDArray[np.bool_]
    above: Level | None

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.event)

    @classmethod
    def of_events(cls, count: int) -> Self:
        """Return the level of so many events.

        Parameters
        ----------
        count
            The number of events.
        """
        return cls(
            path="",
            event=np.arange(count, dtype=np.int64),
            offsets=np.zeros(0, dtype=np.int64),
            present=np.zeros(0, dtype=np.bool_),
            above=None,
        )

    @classmethod
    def under(
        cls,
        above: Level,
        path: str,
        counts: NDArray[np.integer],
        *,
        present: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Return the level of the elements of an array that stands at another level.

        Parameters
        ----------
        above
            The level of the array.
        path
            The path of the elements.
        counts
            How many elements the array has in each slot of `above`.
        present
            Whether there is an array in each slot of `above`; None: where it has elements.
        """
        offsets = np.zeros(above.slots + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(
            path=path,
            event=np.repeat(above.event, counts),
            offsets=offsets,
            present=np.asarray(counts) > 0 if present is None else present,
            above=above,
        )

    def parents(self) -> NDArray[np.int64]:
        """Return which slot of the level above each slot belongs to.

        For the level of events: each event itself.
        """
        if self.above is None:
            return self.event
        return np.repeat(np.arange(self.above.slots), np.diff(self.offsets))

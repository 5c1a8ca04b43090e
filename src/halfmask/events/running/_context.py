"""What a rule sees of the block that it works on, and where it says what it couldn't do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask.events.block._buffers import ArrayLease
from halfmask.events.block._levels import brought
from halfmask.events.block._values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.events.block._level import Level
    from halfmask.events.block._values import Values


@dataclass(slots=True, kw_only=True)
class BlockView:
    """A block, as all rules see it."""

    read: Callable[[str], Values]
    events: int
    first_event: int
    room: ArrayLease = field(default_factory=ArrayLease)
    refused: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.refused = np.zeros(self.events, np.bool_)


@dataclass(slots=True, kw_only=True)
class Context:
    """A block, as one rule sees it at one path."""

    view: BlockView
    path: str
    failures: Counter[str] = field(default_factory=Counter)
    failed: NDArray[np.bool_] | None = None

    @property
    def room(self) -> ArrayLease:
        """What memory is taken by that is used until the block is written."""
        return self.view.room

    @property
    def first_event(self) -> int:
        """The number in the stream of the block's first event."""
        return self.view.first_event

    def values(self, path: str, level: Level) -> Values:
        """Return the original values of a path of the same or an enclosing level, for each slot."""
        return brought(self.view.read(path), level)

    def fail(self, reason: str, level: Level, slots: NDArray[np.bool_]) -> None:
        """Count what the rule couldn't do; what it returns must be MISSING there."""
        count = int(np.count_nonzero(slots))
        if not count:
            return
        self.failures[reason] += count
        if self.failed is None:
            self.failed = np.zeros(self.view.events, np.bool_)
        self.failed[level.event[slots]] = True

    def scalars(self, values: Values, *kinds: Kind) -> NDArray[np.bool_]:
        """Return where values are of some kinds; others but NULL and MISSING are failures."""
        # All kinds that are asked for stand together in the order of kinds.
        first, last = int(min(kinds)), int(max(kinds))
        fits = (values.kinds >= first) & (values.kinds <= last)
        if not fits.all():
            self.fail("wrong-type", values.level, ~fits & (values.kinds > int(Kind.NULL)))
        return fits


class Applier(Protocol):
    """An action, made ready: with its keys, tables and state.

    One that has a true `is_local` gives the same for a block whatever blocks were before it, and
    several threads may use it: its work is done ahead, while earlier blocks are worked on.
    """

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values: one slot for each, MISSING where it is dropped.

        NULL stays NULL.
        """
        ...

"""Levels of slots, brought to each other: from an enclosing one, and with elements repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.events.block._level import Level
from halfmask.events.block._values import Kind, Values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def brought(values: Values, level: Level) -> Values:
    """Return values of an enclosing level, or of the same, for each slot of a level."""
    if level.path == values.level.path:
        return values
    return values.take(enclosing(level, values.level.path), level)


def enclosing(level: Level, path: str) -> NDArray[np.int64]:
    """Return, for each slot of a level, the slot that it lies in of the level of a path."""
    index: NDArray[np.int64] = np.arange(level.slots)
    at: Level | None = level
    while at is not None and at.path != path:
        index = at.parents()[index]
        at = at.above
    if at is None:
        raise ParameterError("A rule reads a field of another array than its own.")
    return index


def first_of_event(level: Level) -> NDArray[np.int64]:
    """Return the first slot of each slot's event."""
    if level.above is None:
        return np.arange(level.slots)
    starts = np.flatnonzero(np.diff(level.event, prepend=-1))
    return np.repeat(starts, np.diff(starts, append=level.slots))


def ordinals(level: Level) -> NDArray[np.int64]:
    """Return the number of each slot within its event, from 0."""
    return np.arange(level.slots) - first_of_event(level)


def absent(level: Level) -> Values:
    """Return a column that has no value anywhere."""
    return Values.from_tokens(level, np.full(level.slots, -1, np.int32), ())


def only(values: Values, kept: NDArray[np.bool_]) -> Values:
    """Return values with those that aren't kept MISSING."""
    if kept.all():
        return values
    return Values(
        level=values.level,
        kinds=np.where(kept, values.kinds, np.uint8(Kind.MISSING)),
        data=values.data,
        starts=values.starts,
        stops=values.stops,
    )


def merged(columns: Sequence[Values]) -> Values:
    """Return, for each slot, the first of some columns that has a value there."""
    found = columns[0]
    for other in columns[1:]:
        take = (found.kinds == int(Kind.MISSING)) & (other.kinds != int(Kind.MISSING))
        if not take.any():
            continue
        shift = len(found.data)
        found = Values(
            level=found.level,
            kinds=np.where(take, other.kinds, found.kinds),
            data=np.concatenate([found.data, other.data]),
            starts=np.where(take, other.starts + shift, found.starts),
            stops=np.where(take, other.stops + shift, found.stops),
        )
    return found


def repeated(
    level: Level, counts: NDArray[np.int64], above: Level
) -> tuple[Level, NDArray[np.int64]]:
    """Return a level with each slot so many times, and the slot that each comes from."""
    index = np.repeat(np.arange(level.slots), counts)
    sums = np.concatenate([[0], np.cumsum(counts)])
    each = np.diff(sums[level.offsets])
    return Level.under(above, level.path, each, present=level.present), index

"""Grids of time: which window of a zone's clock a time lies in, and when that is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._times import DAY, EARLIEST, LATEST, Zone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.policy._sections import Duration

_HOUR = 3_600_000_000
#: 1970-01-05 was a Monday.
_MONDAY = 4 * DAY
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def cell_of(
    clock: NDArray[np.int64], every: Duration
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the cells of times on a clock begin and end, in microseconds on that clock."""
    if every.months:
        months = clock.astype("M8[us]").astype("M8[M]").astype(np.int64)
        first = months // every.months * every.months
        return _month_start(first), _month_start(first + every.months)
    origin = origin_of(every)
    start = (clock - origin) // every.micros * every.micros + origin
    return start, start + every.micros


def origin_of(every: Duration) -> int:
    """Return where a cell begins, of a grid that isn't of months; weeks begin on Monday."""
    return _MONDAY if every.micros % (7 * DAY) == 0 else 0


def _month_start(months: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(months.astype("M8[M]").astype("M8[us]").astype(np.int64))


class Grid:
    """Windows without gaps, each as long as a clock says.

    Notes
    -----
    **Guarantees.** Every time lies in one window. Windows of an hour or less are as long as they
    say: where clocks are put back, there are two of the same clock time, with different offsets
    from UTC. Longer ones are all times at which the clock shows what lies in them: that of the
    change is longer or shorter.

    Examples
    --------
    >>> from halfmask.events.policy._sections import Duration
    >>> import numpy as np
    >>> days = Grid(Duration.parse("1 day"), zone=Zone("Europe/Berlin"))
    >>> key = days.keys(np.array([1_414_281_600_000_000]))  # midnight UTC of 26 October 2014
    >>> (days.ends(key) - key).item() // 3_600_000_000 + 2  # key is the clock, two hours ahead
    25
    >>> days.written(int(key[0]))
    '2014-10-26'
    """

    __slots__ = ("_every", "_exact", "_zone")

    def __init__(self, every: Duration, *, zone: Zone) -> None:
        self._every = every
        self._zone = zone
        self._exact = not every.months and every.micros <= _HOUR

    def keys(self, utc: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for the window of each time, in the order of the windows.

        It is where the window begins: in UTC for those of an hour or less, else on the clock.
        """
        ahead = self._zone.ahead(utc)
        start = cell_of(utc + ahead, self._every)[0]
        return start - ahead if self._exact else start

    def ends(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times of UTC from which on no time lies in a window."""
        if self._exact:
            return keys + self._every.micros
        different, where = np.unique(keys, return_inverse=True)
        stop = cell_of(different, self._every)[1]
        before, after = self._zone.ahead(stop - 2 * DAY), self._zone.ahead(stop + 2 * DAY)
        ends = stop - before
        for at in np.flatnonzero(before != after).tolist():
            change = self._change(int(stop[at]))
            # Clocks that are put back show what was before again; those put forward may skip it.
            second = int(stop[at] - after[at])
            ends[at] = second if change < second else min(change, int(ends[at]))
        return ends[where]

    def _change(self, clock: int) -> int:
        """Return when clocks change within two days of a time on the clock."""
        start, stop = clock - 2 * DAY, clock + 2 * DAY
        first = self._zone.ahead(np.array([start]))[0]
        while stop - start > 1:
            middle = (start + stop) // 2
            if self._zone.ahead(np.array([middle]))[0] == first:
                start = middle
            else:
                stop = middle
        return stop

    def written(self, key: int) -> str:
        """Return how a window's start is written: its date, or clock time.

        With the offset from UTC for windows of an hour or less, which may occur twice by the clock.
        """
        if self._exact:
            at = np.array([key])
            ahead = int(self._zone.ahead(np.clip(at, EARLIEST, LATEST))[0])
            clock = (_EPOCH + timedelta(microseconds=key + ahead)).replace(tzinfo=None)
            return clock.isoformat() + _offset(ahead)
        clock = (_EPOCH + timedelta(microseconds=key)).replace(tzinfo=None)
        whole = bool(self._every.months) or self._every.micros % DAY == 0
        return clock.date().isoformat() if whole else clock.isoformat()


def _offset(ahead: int) -> str:
    if not ahead:
        return "Z"
    seconds = abs(ahead) // 1_000_000
    parts = [seconds // 3600, seconds // 60 % 60, *([seconds % 60] if seconds % 60 else [])]
    return ("+" if ahead > 0 else "-") + ":".join(f"{part:02d}" for part in parts)

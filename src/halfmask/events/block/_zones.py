"""Time zones by the column: from UTC to a zone's clock and back, as zoneinfo has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from pydantic import AfterValidator, Field

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 86_400_000_000
#: In place of a zone: the clock that each text was written by.
OWN = "own"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP = timedelta(microseconds=1)
#: Times from 0001-01-03 to 9999-12-29 have a clock in every zone.
EARLIEST = (datetime(1, 1, 3, tzinfo=UTC) - _EPOCH) // _STEP
LATEST = (datetime(9999, 12, 29, tzinfo=UTC) - _EPOCH) // _STEP
_MOST_DAYS = 100_000


class Zone:
    """A time zone of the IANA data base.

    Notes
    -----
    **Guarantees.** What `zoneinfo` says, for all times from `EARLIEST` to `LATEST`, provided that
    no zone changes its clock twice within one day of UTC.

    Examples
    --------
    >>> import numpy as np
    >>> summer = np.array([1_409_871_475_000_000])
    >>> (Zone("Europe/Berlin").ahead(summer) // 3_600_000_000).tolist()
    [2]
    """

    __slots__ = ("_days", "_info", "name")

    def __init__(self, name: str) -> None:
        try:
            self._info = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ParameterError(
                "There is no such time zone on this machine.",
                hint='Write a name of the IANA data base, such as "Europe/Berlin" or "UTC".',
            ) from None
        self.name = name
        self._days: dict[int, tuple[int, int, int]] = {}

    @property
    def even(self) -> int | None:
        """How far the clock is before UTC at any time, in microseconds; None if that changes."""
        if self.name == "UTC":
            return 0
        return self._at(0) if self.name.startswith("Etc/") else None

    def ahead(self, utc: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how far the zone's clock is before UTC, in microseconds, at times of UTC."""
        if self.name == "UTC" or not len(utc):
            return np.zeros(len(utc), np.int64)
        days, where = np.unique(np.clip(utc, EARLIEST, LATEST) // DAY, return_inverse=True)
        offsets = np.array([self._day(day) for day in days.tolist()], np.int64)
        before, change, after = offsets[:, 0][where], offsets[:, 1][where], offsets[:, 2][where]
        return np.where(utc < change, before, after)

    def utc(self, clock: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the times of UTC at which the zone's clock shows something, and whether it does.

        Where it does twice, as clocks are put back, it is the first of both times.
        """
        early, late = self.ahead(clock - DAY), self.ahead(clock + DAY)
        first = clock - early
        there = np.ones(len(clock), np.bool_)
        changing = np.flatnonzero(early != late)
        if len(changing):
            one, other = first[changing], clock[changing] - late[changing]
            fits_one = self.ahead(one) == early[changing]
            fits_other = self.ahead(other) == late[changing]
            first[changing] = np.where(fits_one, one, other)
            there[changing] = fits_one | fits_other
        return first, there

    def _day(self, day: int) -> tuple[int, int, int]:
        """Return what the clock is before UTC as a day begins, when that changes, and then."""
        known = self._days.get(day)
        if known is None:
            if len(self._days) >= _MOST_DAYS:
                self._days.clear()
            known = self._days[day] = self._looked_up(day * DAY, (day + 1) * DAY)
        return known

    def _looked_up(self, start: int, stop: int) -> tuple[int, int, int]:
        before, after = self._at(start), self._at(stop)
        # The change is after `start` and at or before `stop`.
        while before != after and stop - start > 1:
            middle = (start + stop) // 2
            start, stop = (middle, stop) if self._at(middle) == before else (start, middle)
        return before, stop, after

    def _at(self, utc: int) -> int:
        offset = (_EPOCH + timedelta(microseconds=utc)).astimezone(self._info).utcoffset()
        return (offset or timedelta()) // _STEP


def _checked(text: str) -> str:
    Zone(text)
    return text


def _checked_clock(text: str) -> str:
    return text if text == OWN else _checked(text)


ClockText: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(_checked_clock)]
ZoneText: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(_checked)]

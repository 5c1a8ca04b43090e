"""Columns of times: read to microseconds of UTC, and written by the clock of a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from pydantic import AfterValidator, Field

from halfmask._errors import ParameterError
from halfmask.events.block._levels import only
from halfmask.events.block._quantities import Quantities, ten_to, with_nulls
from halfmask.events.block._values import Kind, Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.running._context import Context


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


Unit: TypeAlias = Literal["seconds", "milliseconds", "microseconds"]
Form: TypeAlias = Literal["local", "offset", "date", "seconds", "milliseconds", "microseconds"]
#: Digits of a microsecond in a unit.
_DIGITS = {"seconds": 6, "milliseconds": 3, "microseconds": 0}
_FORMS = {"date": 0, "local": 1, "offset": 2}
#: Bytes of a date: no sign of an offset stands among them.
_SHORTEST = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """A column of times."""

    source: Values
    utc: NDArray[np.int64]
    fits: NDArray[np.bool_]


def read_times(
    values: Values, context: Context, *, zone: Zone | None, unit: Unit | None = None
) -> Times:
    """Read times: texts of ISO 8601, and numbers whose unit is given."""
    from halfmask.kernels.text.iso_times import NO_ZONE, NOT_A_TIME, parse_times  # noqa: PLC0415 # numba is slow to import

    level = values.level
    numeric = (Kind.INTEGER, Kind.NUMBER) if unit is not None else ()
    context.scalars(values, Kind.STRING, *numeric)
    texts = values.kinds == int(Kind.STRING)
    starts, stops = np.where(texts, values.starts, 0), np.where(texts, values.stops, 0)
    utc, found = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    parse_times(values.data, starts, stops, utc, found)
    context.fail("not-a-time", level, texts & (found == NOT_A_TIME))
    unzoned = texts & (found == NO_ZONE)
    fits = texts & (found != NOT_A_TIME)
    if zone is None:
        context.fail("no-zone", level, unzoned)
        fits &= ~unzoned
    elif unzoned.any():
        shifted, there = zone.utc(np.clip(utc[unzoned], EARLIEST, LATEST))
        within = (utc[unzoned] >= EARLIEST) & (utc[unzoned] <= LATEST)
        utc[unzoned] = np.where(within, shifted, utc[unzoned])
        skipped = np.zeros(len(texts), np.bool_)
        skipped[unzoned] = ~there & within
        context.fail("no-such-time", level, skipped)
        fits &= ~skipped
    if unit is not None:
        counted = _counted(values, context, unit)
        utc, fits = np.where(counted.fits, counted.utc, utc), fits | counted.fits
    return _within(Times(source=values, utc=utc, fits=fits), context)


def _counted(values: Values, context: Context, unit: Unit) -> Times:

    numbers = only(values, (values.kinds == int(Kind.INTEGER)) | (values.kinds == int(Kind.NUMBER)))
    read = Quantities.read(numbers, context, ())
    digits = _DIGITS[unit]
    fits = read.fits.copy()
    more = read.places <= digits
    # What is finer than a microsecond is cut off.
    cut = read.units // ten_to(np.maximum(read.places - digits, 0))
    raised = np.maximum(digits - read.places, 0)
    small = np.abs(read.units) <= LATEST // ten_to(raised)
    context.fail("out-of-range", values.level, fits & more & ~small)
    fits &= ~more | small
    utc = np.where(more, np.where(small, read.units, 0) * ten_to(raised), cut)
    return Times(source=values, utc=np.where(fits, utc, 0), fits=fits)


def _within(times: Times, context: Context) -> Times:
    far = times.fits & ((times.utc < EARLIEST) | (times.utc > LATEST))
    context.fail("out-of-range", times.source.level, far)
    fits = times.fits & ~far
    return Times(source=times.source, utc=np.where(fits, times.utc, 0), fits=fits)


class ZoneClock:
    """Whose clock is read off times and written: one of a zone, or of each text its own."""

    __slots__ = ("_form", "_reading", "_zone")

    def __init__(self, name: str, *, zoneless: str | None, form: Form) -> None:
        self._form = form
        self._zone = None if name == OWN else Zone(name)
        # What such a text shows is its own clock, wherever that was.
        unsaid = "UTC" if name == OWN and form in {"local", "date"} else None
        name_of_zone = zoneless or unsaid
        self._reading = None if name_of_zone is None else Zone(name_of_zone)

    @property
    def even(self) -> int | None:
        """How far it is before UTC at any time, in microseconds; None if that changes."""
        return None if self._zone is None else self._zone.even

    @property
    def zoneless(self) -> Zone | None:
        """The zone of texts that don't say theirs; None: they can't be read."""
        return self._reading

    def read(
        self, values: Values, context: Context, unit: Unit | None
    ) -> tuple[Times, NDArray[np.int64]]:
        """Return times, and how far the clock is before UTC at each, in microseconds."""
        times = read_times(values, context, zone=self._reading, unit=unit)
        if self._zone is not None:
            return times, np.where(times.fits, self._zone.ahead(times.utc), 0)
        return times, _own_ahead(times, self._reading)

    def write(
        self, times: Times, clock: NDArray[np.int64], ahead: NDArray[np.int64], context: Context
    ) -> Values:
        """Write what the clock is to show; NULL stays where it was."""
        if self._form in {"local", "date"}:
            shown = Times(source=times.source, utc=clock, fits=times.fits)
            return write_times(shown, np.zeros(len(clock), np.int64), context, form=self._form)
        utc = clock - ahead
        if self._zone is not None:
            utc, _ = self._zone.utc(np.clip(clock, EARLIEST, LATEST))
            ahead = self._zone.ahead(utc)
        within = (clock >= EARLIEST) & (clock <= LATEST)
        # Beyond that no zone has a clock, and it is counted.
        utc = np.where(within, utc, LATEST + 1)
        shifted = Times(source=times.source, utc=utc, fits=times.fits)
        return write_times(shifted, ahead, context, form=self._form)


def _own_ahead(times: Times, zoneless: Zone | None) -> NDArray[np.int64]:
    """Return how far the clock of each text is before UTC: what it shows, less the time of UTC."""
    from halfmask.kernels.text.iso_times import NO_ZONE, parse_times  # noqa: PLC0415 # numba is slow to import

    values = times.source
    data = values.data
    texts = times.fits & (values.kinds == int(Kind.STRING))
    if not texts.any():
        return np.zeros(len(texts), np.int64)
    stops = np.where(texts, values.stops, 0)
    starts = np.where(texts, values.starts, 0)
    behind = np.zeros(len(stops), np.int64)
    # +02, +0200, +02:00, Z: the text is a time, so no other sign stands there.
    for length, signs in ((3, b"+-"), (5, b"+-"), (6, b"+-"), (1, b"Zz")):
        at = np.maximum(stops - length, 0)
        found = texts & (stops - starts > length + _SHORTEST) & np.isin(data[at], [*signs])
        behind = np.where(found, length, behind)
    clock, kinds = np.empty(len(stops), np.int64), np.empty(len(stops), np.uint8)
    parse_times(data, starts, stops - behind, clock, kinds)
    ahead = np.where(texts & (behind > 0) & (kinds == NO_ZONE), clock - times.utc, 0)
    unsaid = texts & (behind == 0)
    if zoneless is not None and unsaid.any():
        ahead[unsaid] = zoneless.ahead(times.utc[unsaid])
    return ahead


def write_times(times: Times, ahead: NDArray[np.int64], context: Context, *, form: Form) -> Values:
    """Write times by clocks; NULL stays where it was."""
    from halfmask.kernels.text.iso_times import LONGEST  # noqa: PLC0415 # numba is slow to import
    from halfmask.kernels.text.iso_times import write_times as write  # noqa: PLC0415 # the same

    times = _within(times, context)
    level, fits = times.source.level, times.fits
    if form in _DIGITS:
        numbers = times.utc // ten_to(_DIGITS[form])
        return with_nulls(Values.from_integers(level, numbers, fits), times.source)
    data = np.empty(len(fits) * LONGEST, np.uint8)
    starts, stops = np.empty(len(fits), np.int64), np.empty(len(fits), np.int64)
    write(times.utc + ahead, ahead, fits, _FORMS[form], data, starts, stops)
    kinds = np.where(fits, np.uint8(Kind.STRING), np.uint8(Kind.MISSING))
    written = Values(level=level, kinds=kinds, data=data, starts=starts, stops=stops)
    return with_nulls(written, times.source)

"""Columns of times: read to microseconds of UTC, and written by a zone's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from halfmask.events._levels import only
from halfmask.events._quantities import Quantities, ten_to, with_nulls
from halfmask.events._values import Kind, Values
from halfmask.events._zones import EARLIEST, LATEST, Zone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events._context import Context

__all__ = ["Form", "Times", "Unit", "read_times", "write_clock", "write_times"]

Form: TypeAlias = Literal["local", "offset", "date", "seconds", "milliseconds"]
Unit: TypeAlias = Literal["seconds", "milliseconds", "microseconds"]
#: Digits of a microsecond in a unit.
_DIGITS = {"seconds": 6, "milliseconds": 3, "microseconds": 0}
_FORMS = {"date": 0, "local": 1, "offset": 2}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """A column of times.

    Parameters
    ----------
    source
        What they were read from.
    utc
        Microseconds since 1970; 0 where there is none.
    fits
        Where there is one.
    """

    source: Values
    utc: NDArray[np.int64]
    fits: NDArray[np.bool_]


def read_times(
    values: Values, context: Context, *, zone: Zone | None, unit: Unit | None = None
) -> Times:
    """Read times: texts of ISO 8601, and numbers where it is said what they count.

    Parameters
    ----------
    values
        What is read.
    context
        Counts what is no time: ``wrong-type``, ``not-a-time``, ``no-zone``, ``no-such-time`` (the
        zone's clocks skip it), ``out-of-range``, and what numbers may be.
    zone
        Of texts that don't say theirs; None refuses them.
    unit
        What numbers count since 1970; None refuses them.
    """
    from halfmask.kernels.iso_times import NO_ZONE, NOT_A_TIME, parse_times  # noqa: PLC0415 # numba is slow to import

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
        told, there = zone.utc(np.clip(utc[unzoned], EARLIEST, LATEST))
        within = (utc[unzoned] >= EARLIEST) & (utc[unzoned] <= LATEST)
        utc[unzoned] = np.where(within, told, utc[unzoned])
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


def write_times(times: Times, context: Context, *, zone: Zone, form: Form) -> Values:
    """Write times by a zone's clock; NULL stays where it was.

    Parameters
    ----------
    times
        What is written; times that no clock shows are counted as ``out-of-range``.
    context
        Counts.
    zone
        Whose clock.
    form
        ``local``: date and time of the clock; ``offset``: with how far it is from UTC; ``date``:
        its date; ``seconds``, ``milliseconds``: since 1970, whole ones.
    """
    from halfmask.kernels.iso_times import LONGEST  # noqa: PLC0415 # numba is slow to import
    from halfmask.kernels.iso_times import write_times as write  # noqa: PLC0415 # the same

    times = _within(times, context)
    level, fits = times.source.level, times.fits
    if form in {"seconds", "milliseconds"}:
        numbers = times.utc // ten_to(6 if form == "seconds" else 3)
        return with_nulls(Values.from_integers(level, numbers, fits), times.source)
    ahead = zone.ahead(times.utc)
    data = np.empty(len(fits) * LONGEST, np.uint8)
    starts, stops = np.empty(len(fits), np.int64), np.empty(len(fits), np.int64)
    write(times.utc + ahead, ahead, fits, _FORMS[form], data, starts, stops)
    kinds = np.where(fits, np.uint8(Kind.STRING), np.uint8(Kind.MISSING))
    written = Values(level=level, kinds=kinds, data=data, starts=starts, stops=stops)
    return with_nulls(written, times.source)


def write_clock(
    times: Times, clock: NDArray[np.int64], context: Context, *, zone: Zone, form: Form
) -> Values:
    """Write what a zone's clock is to show.

    Parameters
    ----------
    times
        What the clock's times were made from.
    clock
        What is shown, as microseconds since 1970 on that clock; it may be a time that it skips.
    context, zone, form
        As of `write_times`.
    """
    if form in {"local", "date"}:
        shown = Times(source=times.source, utc=clock, fits=times.fits)
        return write_times(shown, context, zone=Zone("UTC"), form=form)
    utc, _ = zone.utc(np.clip(clock, EARLIEST, LATEST))
    within = (clock >= EARLIEST) & (clock <= LATEST)
    # Beyond that no zone has a clock, and it is counted.
    told = Times(source=times.source, utc=np.where(within, utc, LATEST + 1), fits=times.fits)
    return write_times(told, context, zone=zone, form=form)

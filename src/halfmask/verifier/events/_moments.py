"""Times that actions write, and whether they lie on a grid."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from halfmask.verifier.events._reading import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DAY: Final = 86_400_000_000
_HOUR: Final = 3_600_000_000
_UNITS: Final = {
    "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": _HOUR, "day": _DAY,
    "week": 7 * _DAY,
}  # fmt: skip
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_PART: Final = re.compile(r"(\d+) ?([a-z]+?)s?(?=\W|\d|$)")
_TEXT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d(?:\.\d{3}(?:\d{3})?)?)(Z|[+-]\d\d:\d\d(?::\d\d)?)?)?"
)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 # a clock's, of any zone
#: 1970-01-05 was a Monday.
_MONDAY: Final = 4 * _DAY
#: Clocks that skip no time: the offset of a text is taken unchanged.
_UNSKIPPED: Final = {"UTC", "own"}
#: By how much a clock is put on: a time that it skips is written as its neighbour.
_SKIPPED: Final = (0, _HOUR, -_HOUR, _HOUR // 2, -_HOUR // 2)


def is_moment(value: object, form: Mapping[str, Any]) -> bool:
    """Return whether a value is a time as an action writes it."""
    if form["write"] in {"seconds", "milliseconds"}:
        return _is_count(value, form)
    micros = _clock(value, form["write"])
    if micros is None:
        return False
    if "every" not in form or (form["write"] == "date" and not _of_days(form)):
        return True
    skips = form["write"] == "offset" and form["zone"] not in _UNSKIPPED
    return any(_on_grid(micros + by, form) for by in (_SKIPPED if skips else (0,)))


def _clock(value: object, write: str) -> int | None:
    """Return what a clock shows that is written as a text; None if it isn't written so."""
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None or isinstance(value, Number):
        return None
    date, clock, offset = found.groups()
    wanted = {"date": (False, False), "local": (True, False), "offset": (True, True)}[write]
    if (clock is not None, offset is not None) != wanted:
        return None
    try:
        shown = datetime.fromisoformat(date if clock is None else f"{date}T{clock}")
    except ValueError:
        return None
    return (shown - _EPOCH) // timedelta(microseconds=1)


def _is_count(value: object, form: Mapping[str, Any]) -> bool:
    if not isinstance(value, Number) or not value.lstrip("-").isdigit():
        return False
    if "every" not in form or _finer_than(form):
        return True
    unit = 1_000_000 if form["write"] == "seconds" else 1_000
    try:
        utc = _EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=int(value) * unit)
        ahead = utc.astimezone(ZoneInfo(form["zone"])).utcoffset() or timedelta()
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return False
    micros = int(value) * unit + ahead // timedelta(microseconds=1)
    skips: Iterable[int] = (0,) if form["zone"] == "UTC" else _SKIPPED
    return any(_on_grid(micros + by, form) for by in skips)


def _finer_than(form: Mapping[str, Any]) -> bool:
    """Return whether a grid or jitter is finer than what is written, which cuts it off."""
    unit = 1_000_000 if form["write"] == "seconds" else 1_000
    spans = [_span(form[key])[0] for key in ("every", "jitter") if form.get(key)]
    return any(micros % unit for micros in spans)


def _of_days(form: Mapping[str, Any]) -> bool:
    micros, months = _span(form["every"])
    return not form.get("jitter") and (bool(months) or micros % _DAY == 0)


def _on_grid(clock: int, form: Mapping[str, Any]) -> bool:
    start = _cell(clock, *_span(form["every"]))
    jitter = form.get("jitter")
    return clock == start if not jitter else (clock - start) % _span(jitter)[0] == 0


def _cell(clock: int, micros: int, months: int) -> int:
    """Return where the cell of a time begins."""
    if not months:
        origin = _MONDAY if micros % (7 * _DAY) == 0 else 0
        return (clock - origin) // micros * micros + origin
    shown = _EPOCH + timedelta(microseconds=clock)
    month = ((shown.year - 1970) * 12 + shown.month - 1) // months * months
    first = datetime(1970 + month // 12, month % 12 + 1, 1)  # noqa: DTZ001 # as above
    return (first - _EPOCH) // timedelta(microseconds=1)


def _span(text: str) -> tuple[int, int]:
    """Return a duration in microseconds, and in months."""
    parts = _PART.findall(text)
    micros = sum(int(number) * _UNITS.get(unit, 0) for number, unit in parts)
    return micros, sum(int(number) * _MONTHS.get(unit, 0) for number, unit in parts)

"""Durations as people write them: ``15 minutes``, ``1 month``, ``+4 minutes 30 seconds``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Self, TypeAlias

from pydantic import AfterValidator, Field

from halfmask._errors import ParameterError

_MICROS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_PART = re.compile(r"(\d{1,9}) ?([a-z]+)")
#: A thousand years.
_MOST = 1_000 * 366 * _MICROS["day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time: so many microseconds, or so many months of the calendar; not both.

    Examples
    --------
    >>> Duration.parse("-4 minutes 30 seconds").micros
    -270000000
    >>> Duration.parse("1 quarter").months
    3
    """

    micros: int = 0
    months: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a duration."""
        stripped = text.strip()
        sign = -1 if stripped.startswith("-") else 1
        rest = stripped.removeprefix("-").removeprefix("+").strip()
        parts = _PART.findall(rest)
        micros = months = 0
        for number, unit in parts:
            word = unit.removesuffix("s")
            if word not in _MICROS and word not in _MONTHS:
                raise _unread()
            micros += int(number) * _MICROS.get(word, 0)
            months += int(number) * _MONTHS.get(word, 0)
        left = _PART.sub("", rest).strip()
        both = micros and months
        if not parts or left or both or micros > _MOST or months > 12_000:
            raise _unread()
        return cls(micros=sign * micros, months=sign * months)


def _unread() -> ParameterError:
    return ParameterError(
        "A duration must be numbers with units, and not months or years together with others.",
        hint='Write such as "15 minutes", "1 day", "1 month" or "-4 minutes 30 seconds".',
    )


def _checked(text: str) -> str:
    Duration.parse(text)
    return text


DurationText: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(_checked)]

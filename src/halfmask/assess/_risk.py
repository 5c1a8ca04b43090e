"""Risk: a share in [0, 1] with its interval and what it is compared with, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import fraction

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(Facts):
    """How often an attacker is right, as a share in [0, 1].

    Parameters
    ----------
    value
        The share itself.
    low, high
        The ends of its confidence interval; both are the value where it was counted over all rows.
    baseline
        What the same attacker reaches without the release, such as by guessing among all rows.
        ``None`` where it wasn't measured.
    control
        What the same attack reaches against people who aren't in the data. ``None`` where it
        wasn't measured; a counted risk has no such people.

    Examples
    --------
    >>> Risk.counted(0.1, baseline=0.001)
    Risk(value=0.1, low=0.1, high=0.1, baseline=0.001, control=None)
    """

    value: float
    low: float
    high: float
    baseline: float | None = None
    control: float | None = None

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "baseline", "control"):
            share = getattr(self, name)
            if share is not None or name in {"value", "low", "high"}:
                fraction(owner="Risk", **{name: share})
        if not self.low <= self.value <= self.high:
            raise ParameterError(
                f"The value of a Risk must be between its ends. "
                f"Got {self.value!r}, {self.low!r} and {self.high!r}."
            )

    @classmethod
    def counted(cls, value: float, *, baseline: float | None = None) -> Self:
        """Return a risk that was counted over all rows, and so has no interval.

        Parameters
        ----------
        value
            The risk, in [0, 1].
        baseline
            What is reached without the release; ``None`` if unknown.
        """
        return cls(value=value, low=value, high=value, baseline=baseline)


def listed(names: Sequence[str]) -> str:
    """List names as a sentence does.

    Examples
    --------
    >>> listed(["age"]), listed(["age", "sex"]), listed(["age", "sex", "pay"])
    ('age', 'age and sex', 'age, sex and pay')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def percent(share: float) -> str:
    """Format a share as a percentage, without rounding to 0 % or 100 %.

    Examples
    --------
    >>> percent(0.1), percent(0.00001), percent(0.0), percent(0.99999), percent(1.0)
    ('10 %', 'less than 0.01 %', '0 %', 'more than 99.99 %', '100 %')
    """
    if 0 < share < 0.0001:
        return "less than 0.01 %"
    if 0.9999 < share < 1:
        return "more than 99.99 %"
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def row_text(n: int) -> str:
    """Say a number of rows.

    Examples
    --------
    >>> row_text(1), row_text(48842)
    ('1 row', '48,842 rows')
    """
    return "1 row" if n == 1 else f"{n:,} rows"

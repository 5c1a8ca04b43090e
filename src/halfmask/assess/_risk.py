"""Risk: a share in [0, 1] with its interval and what it is to be compared with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Self

from halfmask._errors import ParameterError
from halfmask._validation import fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
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

    Raises
    ------
    ParameterError
        When a share isn't in [0, 1], or the value isn't between its ends.

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

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers under their names, for JSON."""
        return asdict(self)

"""The unit of privacy: whose presence an answer doesn't reveal, and how much each contributes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least

#: More rows or groups of one person than this make noise that no answer survives.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """A row, or all rows of a person with bounds on what a person contributes.

    Two tables are neighbours if one has all rows of one unit more than the other (add or remove).

    Parameters
    ----------
    person
        The column that names the person of each row; ``None`` if each row is a unit.
    max_rows
        The most rows of a person that count in one answer, or in one group of it. At least 1.
    max_groups
        The most groups of one answer that a person counts in. At least 1.

    Raises
    ------
    ParameterError
        If a bound isn't such a number, or is above 1 where each row is a unit.

    Examples
    --------
    >>> PrivacyUnit(person="customer", max_rows=10, max_groups=2).sentence()
    "all rows of one 'customer', at most 10 of them in a group and in at most 2 groups"
    """

    person: str | None = None
    max_rows: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        owner = "PrivacyUnit"
        integer_at_least(1, owner=owner, max_rows=self.max_rows, max_groups=self.max_groups)
        if self.person is None and (self.max_rows, self.max_groups) != (1, 1):
            raise ParameterError(
                "Bounds on rows and groups are for persons, and no column names them.",
                hint="Give the column by person=, or leave the bounds out.",
            )
        if max(self.max_rows, self.max_groups) > _MOST:
            raise ParameterError(
                f"The bounds of PrivacyUnit must be at most {_MOST:,}.",
                hint="Noise grows with them: choose what most persons have.",
            )

    def l1(self, value: int, *, grouped: bool) -> int:
        """Return the L1 sensitivity of sums, where a row adds at most ``value`` to one.

        Parameters
        ----------
        value
            The largest absolute value of a row, in units of the grid.
        grouped
            Whether the sums are those of groups.
        """
        return value * self.max_rows * (self.max_groups if grouped else 1)

    def l2_squared(self, value: int, *, grouped: bool) -> int:
        """Return the squared L2 sensitivity of sums, as an exact integer.

        Parameters
        ----------
        value
            The largest absolute value of a row, in units of the grid.
        grouped
            Whether the sums are those of groups.
        """
        return (value * self.max_rows) ** 2 * (self.max_groups if grouped else 1)

    def l2(self, value: int, *, grouped: bool) -> float:
        """Return the L2 sensitivity of sums, rounded up.

        Parameters
        ----------
        value
            The largest absolute value of a row, in units of the grid.
        grouped
            Whether the sums are those of groups.
        """
        squared = self.l2_squared(value, grouped=grouped)
        root = math.isqrt(squared)
        return float(root) if root * root == squared else math.nextafter(squared**0.5, math.inf)

    def sentence(self) -> str:
        """Return the unit in words, as a claim states it."""
        if self.person is None:
            return "one row"
        rows = f"at most {self.max_rows:,} of them in a group"
        groups = "groups" if self.max_groups > 1 else "group"
        return (
            f"all rows of one {self.person!r}, {rows} and in at most {self.max_groups:,} {groups}"
        )

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the unit as a dictionary of JSON."""
        return asdict(self)

"""The journalist: looks for anyone of the population, without knowing who is in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.assess._risk import Risk
from halfmask.assess.risk._shares import ShareAbove, shares_above
from halfmask.assess.risk._wording import percent, row_text

if TYPE_CHECKING:
    from halfmask.assess.risk._alike import Alike


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalistRisk:
    """The risk that an attacker identifies a row by looking at a population.

    Parameters
    ----------
    highest
        The risk of the rows that fewest people of the population look like.
    average
        The larger of the mean risk of all rows, and of the success rate of someone who draws
        people of the population who look like a row of the table.
    rows_at_highest
        How many rows have the highest risk.
    at_risk
        For each threshold the share of rows whose risk is above it.
    """

    highest: Risk
    average: Risk
    rows_at_highest: int
    at_risk: tuple[ShareAbove, ...]

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            "Someone who doesn't know who is in the table, and looks its rows up in the whole "
            f"population, names the right person with a chance of {percent(self.highest.value)} "
            f"at worst ({row_text(self.rows_at_highest)}) and of {percent(self.average.value)} "
            "on average."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "highest": self.highest.to_dict(),
            "average": self.average.to_dict(),
            "rows_at_highest": self.rows_at_highest,
            "at_risk": [above.to_dict() for above in self.at_risk],
        }


def journalist_risk(alike: Alike, *, thresholds: Sequence[float]) -> JournalistRisk:
    """Compute the journalist's risk: ``1 / F`` for a row that ``F`` people match.

    Source: as of :func:`prosecutor_risk`. The average is ``max(J / sum(F), mean of 1 / F)`` over
    ``J`` classes; where missing is a wildcard, classes overlap and it is the mean alone. The
    baseline is a guess among the population, where its size is given.

    Parameters
    ----------
    alike
        Groups of rows with equal quasi-identifiers, and the rows that each matches.
    thresholds
        Risks to count the rows above, each in (0, 1].

    Raises
    ------
    ParameterError
        When the population isn't known.
    """
    population = alike.population
    if population is None:
        raise ParameterError("The risk of a journalist takes the population.")
    chance = 1.0 / population
    average = alike.mean_chance(population)
    if (alike.rows == alike.sample).all():
        average = max(average, len(alike.rows) / int(population.sum()))
    smallest = int(population.min())
    guess = alike.guess_in_population
    return JournalistRisk(
        highest=Risk.counted(1.0 / smallest, baseline=guess),
        average=Risk.counted(average, baseline=guess),
        rows_at_highest=int(alike.rows[population == smallest].sum()),
        at_risk=shares_above(alike, chance, thresholds),
    )

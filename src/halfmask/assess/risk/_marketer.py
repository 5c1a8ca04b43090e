"""The marketer: links every row to someone, and cares how many links are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.assess._risk import Risk
from halfmask.assess.risk._wording import percent

if TYPE_CHECKING:
    from halfmask.assess.risk._alike import Alike


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketerRisk:
    """The share of rows that an attacker who links every row links correctly.

    Parameters
    ----------
    linked
        The expected share of right links.
    against_population
        Whether rows are linked to the population, or to a list of just the people in the table.
    """

    linked: Risk
    against_population: bool

    @property
    def sentence(self) -> str:
        """The number in one sentence, for a privacy officer."""
        whom = (
            "a person of the population"
            if self.against_population
            else "a person on a list of everyone in the table"
        )
        return (
            f"Someone who links every row to {whom} with the same quasi-identifiers is expected "
            f"to be right for {percent(self.linked.value)} of the rows."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {"linked": self.linked.to_dict(), "against_population": self.against_population}


def marketer_risk(alike: Alike) -> MarketerRisk:
    """Compute the marketer's risk: the mean over rows of 1 over their matches.

    Source: F. K. Dankar and K. El Emam, "A method for evaluating marketer re-identification risk",
    PAIS 2010: ``1/n * sum(f / F)`` over classes of ``f`` rows in the table and ``F`` in the
    population; without a population ``F = f``, and it is the number of classes by that of rows.

    Parameters
    ----------
    alike
        Groups of rows with equal quasi-identifiers, and the rows that each matches.
    """
    known = alike.population is not None
    people = alike.sample if alike.population is None else alike.population
    guess = alike.guess_in_population if known else 1.0 / alike.n_rows
    return MarketerRisk(
        linked=Risk.counted(alike.mean_chance(people), baseline=guess),
        against_population=known,
    )

"""The prosecutor: knows that a person is in the table, and looks for that person's row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.assess._risk import Risk
from halfmask.assess.risk._shares import ShareAbove, shares_above
from halfmask.assess.risk._wording import percent, row_text

if TYPE_CHECKING:
    from halfmask.assess.risk._alike import Alike


@dataclass(frozen=True, slots=True, kw_only=True)
class ProsecutorRisk:
    """The risk for a person whom the attacker knows to be in the table.

    Parameters
    ----------
    highest
        The risk of the rows that fewest others look like: 1 / the smallest class.
    average
        The mean risk of all rows, which is also the share of rows that are picked rightly when
        this is tried for each (the success rate).
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
            "Someone who knows that a certain person is in the table, and all of the person's "
            "quasi-identifiers, picks the right row with a chance of "
            f"{percent(self.highest.value)} at worst ({row_text(self.rows_at_highest)}) and of "
            f"{percent(self.average.value)} on average."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "highest": self.highest.to_dict(),
            "average": self.average.to_dict(),
            "rows_at_highest": self.rows_at_highest,
            "at_risk": [above.to_dict() for above in self.at_risk],
        }


def prosecutor_risk(alike: Alike, *, thresholds: Sequence[float]) -> ProsecutorRisk:
    """Compute the prosecutor's risk: ``1 / f`` for a row in a class of ``f``.

    Source: K. El Emam, "Guide to the de-identification of personal health information", 2013,
    chapter 16; F. Prasser et al., ARX, ``RiskModelSampleSummary``. The baseline is a guess among
    all rows.

    Parameters
    ----------
    alike
        Groups of rows with equal quasi-identifiers, and the rows that each matches.
    thresholds
        Risks to count the rows above, each in (0, 1].
    """
    chance = 1.0 / alike.sample
    smallest = int(alike.sample.min())
    guess = 1.0 / alike.n_rows
    return ProsecutorRisk(
        highest=Risk.counted(1.0 / smallest, baseline=guess),
        average=Risk.counted(alike.mean_chance(alike.sample), baseline=guess),
        rows_at_highest=int(alike.rows[alike.sample == smallest].sum()),
        at_risk=shares_above(alike, chance, thresholds),
    )

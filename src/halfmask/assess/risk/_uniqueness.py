"""Sample uniqueness: the rows that no other row of the table looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.assess._risk import Risk
from halfmask.assess.risk._wording import percent, row_text

if TYPE_CHECKING:
    from halfmask.assess.risk._alike import Alike


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleUniqueness:
    """How many rows are alone with their quasi-identifiers.

    Parameters
    ----------
    share
        Their share of all rows.
    rows
        Their number.
    """

    share: Risk
    rows: int

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        are = "is" if self.rows == 1 else "are"
        return (
            f"{row_text(self.rows)} ({percent(self.share.value)}) {are} the only one with "
            "those quasi-identifiers in the table: an attacker who knows them finds the person."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {"share": self.share.to_dict(), "rows": self.rows}


def sample_uniqueness(alike: Alike) -> SampleUniqueness:
    """Count the rows that look like no other row of the table.

    Parameters
    ----------
    alike
        Groups of rows with equal quasi-identifiers, and the rows that each matches.
    """
    alone = alike.sample == 1
    return SampleUniqueness(
        share=Risk.counted(alike.share_of_rows(alone)), rows=int(alike.rows[alone].sum())
    )

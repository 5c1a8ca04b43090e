"""What the verifier found of a claim about classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.verifier._result import CheckedClaim

if TYPE_CHECKING:
    from halfmask.claims import ClassClaim
    from halfmask.claims._claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck(CheckedClaim):
    """A claim about classes, counted again.

    Attributes
    ----------
    claim, holds, sentence, found, checked, cure
        As of `halfmask.verifier.CheckedClaim`.
    stated
        The claim as the manifest states it: its model, parameters, columns and unit.
    counted
        The level of the worst class, or of the whole table, as counted, missing being a value of
        its own; ``None`` where it couldn't be counted, ``inf`` where a class has no finite level,
        such as recursive (c,l)-diversity with fewer values than l.
    counted_wildcard
        The level of the worst record when a missing quasi-identifier agrees with everything: each
        record is judged by all rows that are compatible with it. Equal to ``counted`` where
        nothing is missing.
    classes, smallest_class
        As counted, a missing cell being a value of its own.
    """

    stated: ClassClaim
    counted: float | None
    counted_wildcard: float | None
    classes: int | None
    smallest_class: int | None

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object; an infinite level is the text ``"inf"``."""
        found: dict[str, Json] = {
            "counted": _finite(self.counted),
            "counted_wildcard": _finite(self.counted_wildcard),
            "classes": self.classes,
            "smallest_class": self.smallest_class,
        }
        return {
            **super(ClaimCheck, self).to_dict(),
            "found": found,
            # As versions before 0.3 had it.
            "column": self.stated.column,
            "quasi_identifiers": list(self.stated.quasi_identifiers),
            "claimed": self.stated.evidence.achieved,
            **found,
            "unit": self.stated.unit,
        }


def _finite(level: float | None) -> float | str | None:
    return "inf" if level == float("inf") else level

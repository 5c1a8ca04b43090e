"""The guarantee ``"differential-privacy"`` of a policy, and its keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.data import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialPrivacy:
    """(epsilon, delta)-differential privacy of the released rows.

    Notes
    -----
    No classes are judged: rows are drawn at random, written at one level a column, and classes of
    fewer than k rows are left out.

    Source: Bild, Kuhn and Prasser 2018 (SafePub).
    """

    model: ClassVar[str] = "differential-privacy"
    sentence: ClassVar[str] = (
        "Rows are sampled, generalized and suppressed so that they are differentially private."
    )
    meaning: ClassVar[str] = (
        "Whether a person is in the table changes the probability of any release by a factor of "
        "at most {epsilon_high}, except with a probability of {delta}."
    )
    counts_persons: ClassVar[bool] = True

    epsilon: float = field(
        metadata={
            "gt": 0,
            "description": "The budget, the choice of levels included.",
        }
    )
    delta: float = field(
        metadata={"gt": 0, "lt": 1, "description": "Far below one in the number of rows."}
    )
    sampling_fraction: float = field(
        metadata={
            "ge": 0.001,
            "lt": 1,
            "description": "The probability with which each row is drawn, at most "
            "1 - exp(-(epsilon - search_epsilon)).",
        }
    )
    search_epsilon: float = field(
        default=0.0,
        metadata={
            "ge": 0,
            "description": "The part of epsilon for a choice of levels by the rows; 0 if "
            "least_level and greatest_level of each column agree.",
        },
    )

    @classmethod
    def needs_hierarchy(cls, parameters: Mapping[str, object], kind: Kind | None) -> bool:
        """Return False: no column is held against a hierarchy."""
        del parameters, kind
        return False

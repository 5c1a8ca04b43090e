"""The factor between generalization and suppression."""

from __future__ import annotations

from typing import NamedTuple

from halfmask._validation import fraction


class Factors(NamedTuple):
    """By how much the loss of each kind of row counts."""

    generalization: float
    suppression: float


def factors_of(gs_factor: float, *, owner: str) -> Factors:
    """Return what a factor between generalization and suppression stands for.

    Examples
    --------
    >>> factors_of(0.5, owner="Loss"), factors_of(0.25, owner="Loss"), factors_of(1, owner="Loss")
    (Factors(generalization=1.0, suppression=1.0), Factors(generalization=1.0, suppression=0.5),
    Factors(generalization=0.0, suppression=1.0))
    """
    fraction(owner=owner, gs_factor=gs_factor)
    return Factors(
        generalization=min(1.0, 2.0 - 2.0 * gs_factor), suppression=min(1.0, 2.0 * gs_factor)
    )

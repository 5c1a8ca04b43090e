"""Links of people to traces: how many are right, beside strangers' links and guessing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.tables._expected import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess.attacks.events._owned import Owned

__all__ = ["doubles", "link_outcome", "share"]


def share(which: NDArray[np.bool_]) -> float:
    """Return the share of which something holds; 0 of nobody."""
    return float(which.mean()) if len(which) else 0.0


def doubles(entity: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each of n links of people who aren't in the release a person who is.

    A stranger's link counts as right where it hits this double's trace: the same attack, that can
    only be right by chance.
    """
    return rng.choice(entity, n) if len(entity) else np.full(n, -1)


def link_outcome(
    name: str,
    measure: str,
    *,
    released: Owned,
    right: NDArray[np.float64],
    by_chance: NDArray[np.float64],
    needed: int,
    needed_of: str,
    details: Mapping[str, float],
) -> Outcome:
    """Return how many links are right.

    Parameters
    ----------
    name, measure, needed, needed_of, details
        As of an outcome.
    released
        What was linked to: guessing one of its traces is the baseline.
    right
        How probably each link is right.
    by_chance
        How probably each link of strangers hits another's trace, or the same links do where there
        are no strangers.
    """
    return Outcome(
        attack=name,
        measure=measure,
        success=Expected(float(right.sum()), len(right)),
        control=Expected(float(by_chance.sum()), len(by_chance)),
        baseline=Certain(1 / max(1, released.n)),
        needed=needed,
        needed_of=needed_of,
        details=details,
    )

"""Links of people to traces: the right ones, compared with controls and guessing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.tables._expected import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess.attacks.events._trace_owners import TraceOwners


def share(which: NDArray[np.bool_]) -> float:
    """Return the share of true values; 0 of none."""
    return float(which.mean()) if len(which) else 0.0


def doubles(entity: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each of n links of people who aren't in the release a person who is.

    A link of a control person counts as right if it hits this double's trace: the same attack,
    which can be right only by chance.
    """
    return rng.choice(entity, n) if len(entity) else np.full(n, -1)


def link_outcome(
    name: str,
    measure: str,
    *,
    released: TraceOwners,
    right: NDArray[np.float64],
    by_chance: NDArray[np.float64],
    needed: int,
    needed_of: str,
    details: Mapping[str, float],
) -> Outcome:
    """Return how many links are right."""
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

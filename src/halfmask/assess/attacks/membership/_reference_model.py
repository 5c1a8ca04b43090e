"""The reference model: the first shadow model, which was trained on other people.

It is one model, and no interval covers its luck in separating rows: intervals cover the draw of
people. So nothing is beyond doubt there with fewer trials than a measure needs. Attack again with
other seeds if a finding is near the tolerance. `benchmarks/quality/false_alarms.py` counts how
often this luck occurs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.membership._shadows import shadow
from halfmask.assess.attacks.membership._view import TRAINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.membership._view import View


def reference_view(target: ModelTarget, view: View, *, random_state: int) -> View | None:
    """Return the reference model's view, by trained rows, of people who didn't train it.

    Its predictions separate members from non-members only by their *rows*: the protection changed
    members' rows and not the others'. ``None`` for original rows, where nothing but membership
    differs, and for a target without `train`.
    """
    if view.rows != TRAINED or target.train is None:
        return None
    probabilities = (
        shadow(target, 0, random_state=random_state).probabilities[TRAINED].astype(np.float64)
    )
    return replace(view, probabilities=probabilities).only(
        held_out(target, random_state=random_state)
    )


def held_out(target: ModelTarget, *, random_state: int) -> NDArray[np.bool_]:
    """Return the people who didn't train the reference model."""
    return ~shadow(target, 0, random_state=random_state).inside

"""Stranger: the same people seen by a model that was trained on others.

It is one model, the first of the shadow models. How well *it* happens to tell rows apart is luck
that no interval holds: those are about which people were drawn. So nothing is beyond doubt there
with fewer trials than a measure needs, and what is near the tolerance should be attacked again with
other seeds. `benchmarks/quality/false_alarms.py` counts how often such luck is seen.
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

__all__ = ["outsiders", "seen_by_stranger"]


def seen_by_stranger(target: ModelTarget, view: View, *, random_state: int) -> View | None:
    """Return a view by trained rows of people who didn't train the first shadow model, as it sees.

    What it says of them tells members from non-members only as far as their *rows* do: members'
    were changed by the protection and non-members' weren't. ``None`` for original rows, where
    nothing differs but membership, and where there is no way to train.

    Raises
    ------
    DataError
        If the model can't be trained or fails to answer.
    """
    if view.rows != TRAINED or target.train is None:
        return None
    answered = (
        shadow(target, 0, random_state=random_state).probabilities[TRAINED].astype(np.float64)
    )
    return replace(view, probabilities=answered).only(outsiders(target, random_state=random_state))


def outsiders(target: ModelTarget, *, random_state: int) -> NDArray[np.bool_]:
    """Return who didn't train the first shadow model."""
    return ~shadow(target, 0, random_state=random_state).inside

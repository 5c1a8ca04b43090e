"""How far weights can have moved: where that is bounded, no batch needs to be taken back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halfmask.trainer.learner._examples import Examples
    from halfmask.trainer.learner._settings import LearnerSettings
    from halfmask.trainer.learner._state import LearnerState

#: Far below where the kernels give up, and where 32 bits end.
_SAFE = 1e12


def bound_after(
    settings: LearnerSettings, state: LearnerState, examples: Examples, passes: int
) -> float:
    """Return what no weight will be beyond after some passes, or infinity.

    Notes
    -----
    The slope of the logistic, hinge, softmax and quantile losses is at most 1. On a value of one,
    a step of SGD moves a weight by at most the rate times the row's weight, and one of AdaGrad,
    which divides by the root of a sum with that very square in it, by no more. A slot that is
    ``longest`` times in a row gets as many steps.
    """
    if settings.loss == "squared" or settings.optimizer == "ftrl" or examples.values is not None:
        return math.inf
    moves = float(np.maximum(examples.weights, 1.0).sum(dtype=np.float64)) * passes
    most = max(1, examples.longest)
    squares = float(np.square(examples.weights, dtype=np.float64).sum()) * passes * most
    bound = state.bound + (settings.rate * moves * most) + squares
    return bound if bound * (most + 1) < _SAFE else math.inf

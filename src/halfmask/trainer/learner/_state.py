"""The state of an online learner: its weights, and the state of the optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.trainer.learner._progress import ProgressiveValidation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.trainer.learner._settings import LearnerSettings


@dataclass(slots=True, kw_only=True, eq=False)
class LearnerState:
    """The part of a learner that changes."""

    model: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    counts: NDArray[np.float64]
    progress: ProgressiveValidation
    bound: float

    @classmethod
    def fresh(cls, settings: LearnerSettings) -> LearnerState:
        """Return the state of a learner that has seen nothing."""
        return cls(
            model=np.zeros((settings.slots + 1, settings.lanes, settings.outputs), np.float32),
            scales=None,
            counts=np.zeros(2),
            progress=ProgressiveValidation.none(answers=settings.answers),
            bound=0.0,
        )

    def copy(self) -> LearnerState:
        """Return a state that shares no array with this one."""
        return LearnerState(
            model=self.model.copy(),
            scales=None if self.scales is None else self.scales.copy(),
            counts=self.counts.copy(),
            progress=self.progress,
            bound=self.bound,
        )

    def need_scales(self) -> NDArray[np.float32]:
        """Return the scales; if there are none yet, each is what rows without values left it at.

        A value that isn't given is one: the scale of every slot, where such rows came before.
        """
        if self.scales is None:
            start = 1.0 if self.counts[0] else 0.0
            self.scales = np.full(len(self.model) - 1, start, np.float32)
        return self.scales

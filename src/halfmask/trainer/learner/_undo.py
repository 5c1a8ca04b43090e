"""What a batch is going to change, kept so that it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.trainer.learner._state import LearnerState


@dataclass(slots=True, kw_only=True, eq=False)
class Undo:
    """The slots of a batch as they were before it; all of them where that is less."""

    indices: NDArray[np.uint32] | None
    model: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    bias: NDArray[np.float32]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, state: LearnerState, indices: NDArray[np.uint32]) -> Undo:
        """Keep what rows of these indices may change."""
        rest = {"bias": state.model[-1].copy(), "counts": state.counts.copy()}
        if len(indices) >= len(state.model):
            scales = None if state.scales is None else state.scales.copy()
            return cls(indices=None, model=state.model.copy(), scales=scales, **rest)
        scales = None if state.scales is None else _read(state.scales, indices)
        return cls(indices=indices, model=_read(state.model, indices), scales=scales, **rest)

    def restore(self, state: LearnerState) -> None:
        """Bring the state back to what it was."""
        for now, kept in ((state.model, self.model), (state.scales, self.scales)):
            if now is None or kept is None:
                continue
            if self.indices is None:
                now[...] = kept
            else:
                from halfmask.kernels.online.slots import scatter  # noqa: PLC0415 # numba: a second

                scatter(now.reshape(len(now), -1), self.indices, kept)
        state.model[-1] = self.bias
        state.counts[...] = self.counts


def _read(array: NDArray[np.float32], indices: NDArray[np.uint32]) -> NDArray[np.float32]:
    from halfmask.kernels.online.slots import gather  # noqa: PLC0415 # numba: a second

    slots = array.reshape(len(array), -1)
    kept = np.empty((len(indices), slots.shape[1]), np.float32)
    gather(slots, indices, kept)
    return kept

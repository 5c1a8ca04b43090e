"""One learner from several that learnt different shards of the rows.

Each slot's weight is the mean of the shards', by how much each shard has learnt about that slot:
the sum of squared gradients where the optimizer keeps one, and the number of rows else. Those sums
add up, so that folding shards pair by pair gives the same mean, but for rounding.

Agarwal, Chapelle, Dudik and Langford, "A reliable effective terascale linear learning system"
(JMLR 2014), section 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.trainer.learner._state import LearnerState, ProgressiveValidation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.trainer.learner._state import LearnerSettings

#: Slots are averaged in blocks: sums of 64 bits of all of them would take twice the memory.
_BLOCK = 1 << 18


def average_states(
    settings: LearnerSettings, states: Sequence[LearnerState], weights: Sequence[float]
) -> LearnerState:
    """Return the mean of states of the same settings; a shard's weight multiplies its evidence."""
    found = LearnerState.fresh(settings)
    found.counts = sum((state.counts for state in states), np.zeros(2))
    found.progress = sum(
        (state.progress for state in states), ProgressiveValidation.none(answers=settings.answers)
    )
    if any(state.scales is not None for state in states):
        each = [state.scales for state in states if state.scales is not None]
        found.scales = np.maximum.reduce(each)
    for start in range(0, len(found.model), _BLOCK):
        _average(settings, states, weights, found, slice(start, start + _BLOCK))
    found.bound = float(max(found.model.max(), -found.model.min()))
    return found


def _average(
    settings: LearnerSettings,
    states: Sequence[LearnerState],
    weights: Sequence[float],
    found: LearnerState,
    block: slice,
) -> None:
    """Write the mean of a block of slots."""
    shape = found.model[block, 0].shape
    total, evidence, squares, gradients = (np.zeros(shape) for _ in range(4))
    for state, weight in zip(states, weights, strict=True):
        model = state.model[block].astype(np.float64)
        known = np.full(shape, state.counts[0]) if settings.lanes == 1 else model[:, -1]
        known = known * weight
        total += known * model[:, 0] * _shrunk(settings, state, found, block)
        evidence += known
        squares += model[:, -1]
        gradients += model[:, 1] if settings.lanes == 3 else 0.0
    mean = np.divide(total, evidence, out=np.zeros(shape), where=evidence > 0)
    found.model[block, 0] = mean
    if settings.lanes > 1:
        found.model[block, -1] = squares
    if settings.lanes == 3:
        found.model[block, 1] = _gradients(settings, mean, squares, gradients, found, block)


def _shrunk(
    settings: LearnerSettings, state: LearnerState, found: LearnerState, block: slice
) -> NDArray[np.float64] | float:
    """Return what a shard's weights shrink by when its scales are raised to those of all."""
    if found.scales is None:
        return 1.0
    now = found.scales[block].astype(np.float64)
    was = now
    if state.scales is not None:
        was = state.scales[block].astype(np.float64)
    elif state.counts[0]:
        was = np.ones_like(now)
    ratio = np.divide(was, now, out=np.ones_like(now), where=(now > 0) & (was < now))
    full = np.ones(len(found.model[block]))
    full[: len(ratio)] = ratio**2 if settings.optimizer == "sgd" else ratio
    return full[:, None]


def _gradients(
    settings: LearnerSettings,
    mean: NDArray[np.float64],
    squares: NDArray[np.float64],
    gradients: NDArray[np.float64],
    found: LearnerState,
    block: slice,
) -> NDArray[np.float64]:
    """Return the sums of gradients for which FTRL's weights are the means."""
    slots = np.arange(len(found.model))[block]
    is_slot = (slots < settings.slots)[:, None]  # the bias has no L1 and no L2
    l1, l2 = np.where(is_slot, settings.l1, 0.0), np.where(is_slot, settings.l2, 0.0)
    unit = np.ones((len(slots), 1))
    if found.scales is not None:
        scales = found.scales[block].astype(np.float64)
        unit[: len(scales), 0] = np.where(scales > 0, scales, 1.0)
    strength = (settings.beta + np.sqrt(squares)) / settings.rate + l2
    moved = -(mean * unit * strength) - np.sign(mean) * l1
    return np.where(mean == 0.0, np.clip(gradients, -l1, l1), moved)

"""Examples as the kernels take them, learned by one writer, by several threads, or in shards."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.trainer.learner._state import LOSSES, OPTIMIZERS, LearnerState, ProgressiveValidation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.learner._state import LearnerSettings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Labelled rows in the flat layout, all of it checked."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32] | None
    labels: NDArray[Any]
    weights: NDArray[np.float32]
    longest: int

    @classmethod
    def of(cls, rows: HashedRows, settings: LearnerSettings) -> Examples:
        """Return rows as examples."""
        check_rows(rows, settings)
        indptr, indices, values = rows.flat()
        weights = np.ones(len(rows), np.float32) if rows.weights is None else rows.weights
        longest = rows.width
        if longest is None:
            longest = int(np.diff(indptr).max()) if len(rows) else 0
        return cls(
            indptr=indptr,
            indices=indices,
            values=values,
            labels=_labels(rows, settings),
            weights=weights,
            longest=longest,
        )

    def __post_init__(self) -> None:
        # Loops would be compiled again for writable arrays: one kind of them is enough.
        for name in ("indptr", "indices", "values", "labels", "weights"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, frozen(array))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def used(self) -> NDArray[np.uint32]:
        """The indices of these rows."""
        return self.indices[self.indptr[0] : self.indptr[-1]]

    def of_ones(self) -> Examples:
        """Return the rows with the values that they stand for without any."""
        return replace(self, values=np.ones(len(self.indices), np.float32))

    def part(self, start: int, stop: int) -> Examples:
        """Return some of the rows; features aren't copied."""
        return replace(
            self,
            indptr=self.indptr[start : stop + 1],
            labels=self.labels[start:stop],
            weights=self.weights[start:stop],
        )

    def reordered(self, order: NDArray[np.intp]) -> Examples:
        """Return the rows in another order."""
        lengths = np.diff(self.indptr)[order]
        bounds = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=bounds[1:])
        places = np.arange(bounds[-1]) + np.repeat(self.indptr[:-1][order] - bounds[:-1], lengths)
        return Examples(
            indptr=bounds,
            indices=self.indices[places],
            values=None if self.values is None else self.values[places],
            labels=self.labels[order],
            weights=self.weights[order],
            longest=self.longest,
        )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that can't be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_rows(rows: HashedRows, settings: LearnerSettings) -> None:
    """Raise ParameterError unless the rows have the learner's bits."""
    if rows.bits != settings.bits:
        raise ParameterError(
            f"The rows have {rows.bits} bits, and the learner {settings.bits}.",
            hint="Hash with the bits of the model.",
        )


def _labels(rows: HashedRows, settings: LearnerSettings) -> NDArray[Any]:
    labels = rows.labels
    if labels is None:
        raise DataError("The rows have no labels to learn from.")
    if settings.loss == "softmax":
        if labels.dtype != np.int32:
            raise DataError("The loss 'softmax' needs labels of int32.")
        if len(labels) and int(labels.max()) >= settings.outputs:
            raise DataError(f"A label is not below the learner's {settings.outputs} classes.")
        return labels
    if settings.loss in ("logistic", "hinge") and not ((labels == 0) | (labels == 1)).all():
        raise DataError(f"The labels of the loss {settings.loss!r} must be 0 or 1.")
    return np.ascontiguousarray(labels, dtype=np.float32)


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


#: Threads see each other's bias, and the schedule of rates, once in so many rows.
_STRIDE = 4096


def learn_all(
    settings: LearnerSettings, state: LearnerState, examples: Examples
) -> ProgressiveValidation | None:
    """Learn examples in order; return how they were predicted, or None if learning diverged.

    The state's model, scales and counts change, also where learning diverged.
    """
    if settings.loss == "softmax":
        return _learn_classes(settings, state, examples, state.counts)
    return _learn_numbers(settings, state, examples, state.counts)


def learn_threaded(
    settings: LearnerSettings, state: LearnerState, examples: Examples
) -> ProgressiveValidation | None:
    """Learn examples in threads that don't wait for each other; otherwise as `learn_all`.

    Notes
    -----
    Recht, Re, Wright and Niu, "Hogwild!" (NeurIPS 2011): an update that another thread writes over
    is lost, which is rare with sparse rows.
    """
    learn = _learn_classes if settings.loss == "softmax" else _learn_numbers
    starts = iter(range(0, len(examples), _STRIDE))
    lock = Lock()

    def work() -> list[ProgressiveValidation | None]:
        done: list[ProgressiveValidation | None] = []
        while True:
            with lock:
                start = next(starts, None)
                before = state.counts.copy()
            if start is None:
                return done
            counts = before.copy()
            done.append(learn(settings, state, examples.part(start, start + _STRIDE), counts))
            with lock:
                state.counts += counts - before

    with ThreadPoolExecutor(max_workers=settings.threads) as pool:
        futures = [pool.submit(work) for _ in range(settings.threads)]
        parts = [part for future in futures for part in future.result()]
    known = [part for part in parts if part is not None]
    return (
        sum(known, ProgressiveValidation.none(answers=settings.answers))
        if len(known) == len(parts)
        else None
    )


def _learn_numbers(
    settings: LearnerSettings, state: LearnerState, examples: Examples, counts: NDArray[np.float64]
) -> ProgressiveValidation | None:
    """Learn with one prediction a row."""
    from halfmask.kernels.online.adagrad import learn_adagrad  # noqa: PLC0415 # numba: a second
    from halfmask.kernels.online.ftrl import learn_ftrl  # noqa: PLC0415 # the same
    from halfmask.kernels.online.losses import summed_losses  # noqa: PLC0415 # the same
    from halfmask.kernels.online.sgd import learn_sgd  # noqa: PLC0415 # the same

    loss, tau, bias = LOSSES.index(settings.loss), settings.tau, float(settings.intercept)
    margins = np.empty(len(examples))
    rows = (
        examples.indptr, examples.indices, examples.values, examples.labels, examples.weights,
    )  # fmt: skip
    if settings.optimizer == "sgd":
        learnt = learn_sgd(
            *rows, state.model.reshape(-1), state.scales, loss, tau, settings.rate, settings.decay,
            settings.normalized, settings.invariant, bias, counts, margins,
        )  # fmt: skip
    elif settings.optimizer == "adagrad":
        room = np.empty(examples.longest + 8, np.float32)
        learnt = learn_adagrad(
            *rows, state.model[:, :, 0], state.scales, loss, tau, settings.rate,
            settings.normalized, settings.invariant, bias, counts, margins, room,
        )  # fmt: skip
    else:
        learnt = learn_ftrl(
            *rows, state.model[:, :, 0], state.scales, loss, tau, settings.rate, settings.beta,
            settings.l1, settings.l2, bias, margins,
        )  # fmt: skip
        counts[0] += learnt
    if learnt < len(examples):
        return None
    sums = np.zeros(3)
    summed_losses(loss, tau, margins, examples.labels, examples.weights, sums)
    return _progress(settings, examples, sums)


def _learn_classes(
    settings: LearnerSettings, state: LearnerState, examples: Examples, counts: NDArray[np.float64]
) -> ProgressiveValidation | None:
    """Learn with a prediction for each class."""
    from halfmask.kernels.online.softmax import learn_softmax  # noqa: PLC0415 # numba: a second

    sums = np.zeros(3)
    learnt = learn_softmax(
        examples.indptr, examples.indices, examples.values, examples.labels, examples.weights,
        state.model, state.scales, list(OPTIMIZERS).index(settings.optimizer), settings.rate,
        settings.decay, settings.beta, settings.l1, settings.l2, settings.normalized,
        float(settings.intercept), counts, sums, np.empty(settings.outputs),
    )  # fmt: skip
    return _progress(settings, examples, sums) if learnt == len(examples) else None


def _progress(
    settings: LearnerSettings, examples: Examples, sums: NDArray[np.float64]
) -> ProgressiveValidation | None:
    """Return the sums as a progress, or None if learning diverged."""
    cost, right, weight = map(float, sums)
    if not math.isfinite(cost):
        return None
    return ProgressiveValidation(
        rows=len(examples),
        weight=weight,
        loss_sum=cost,
        right_sum=right if settings.answers else None,
    )


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

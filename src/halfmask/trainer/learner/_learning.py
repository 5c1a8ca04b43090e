"""Learn examples: by one writer, or by several threads that write over each other."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from halfmask.trainer.learner._progress import ProgressiveValidation
from halfmask.trainer.learner._settings import LOSSES, OPTIMIZERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.trainer.learner._examples import Examples
    from halfmask.trainer.learner._settings import LearnerSettings
    from halfmask.trainer.learner._state import LearnerState

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

"""Reference: a learner that can't do worse than it shows on rows that it holds back.

Boosting without a stop can diverge where labels are rare: their leaves have next to no curvature,
and each step overshoots more than the one before. So the stage is chosen on held-back rows, and
predicting without any feature is one of the stages.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints

LEARNER = "HistGradientBoosting, its stage chosen on held-back rows"
STAGES = 100
#: Bounds the leaves: a sum of gradients is divided by at least this.
REGULARIZATION = 1.0
#: Of the rows to learn from: on these the stage is chosen.
HELD_BACK = 0.2
MAX_HELD_BACK = 5_000
MIN_CHANCE = 1e-6


def chances_of(
    features: NDArray[np.float32], codes: Ints, asked: NDArray[np.float32], *, random_state: int
) -> Floats:
    """Learn classes, and return the probability of each for the rows that are asked about."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 # 1 s to import

    learnt, held = _parts(len(codes), random_state)
    n_values = int(codes.max()) + 1
    known, places = np.unique(codes[learnt], return_inverse=True)
    frequencies = np.bincount(codes, minlength=n_values) / len(codes)

    def whole(chances: Floats) -> Floats:
        found = np.zeros((len(chances), n_values))
        found[:, known] = chances
        return found

    def loss(chances: Floats) -> float:
        of_truth = np.take_along_axis(chances, codes[held][:, None], axis=1)
        return float(-np.log(of_truth.clip(MIN_CHANCE)).mean())

    without = np.broadcast_to(frequencies, (len(asked), n_values)).copy()
    if len(known) < 2:
        return without
    model = HistGradientBoostingClassifier(
        max_iter=STAGES,
        early_stopping=False,
        l2_regularization=REGULARIZATION,
        random_state=random_state,
    ).fit(features[learnt], places)
    stage = _best_stage(
        loss(np.broadcast_to(frequencies, (len(held), n_values))),
        (loss(whole(each)) for each in model.staged_predict_proba(features[held])),
    )
    return whole(_at(model.staged_predict_proba(asked), stage)) if stage else without


def numbers_of(
    features: NDArray[np.float32], label: Floats, asked: NDArray[np.float32], *, random_state: int
) -> Floats:
    """Learn numbers, and return those of the rows that are asked about; as `chances_of`."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 # 1 s to import

    learnt, held = _parts(len(label), random_state)
    mean = float(label.mean())
    if not len(learnt):
        return np.full(len(asked), mean)
    model = HistGradientBoostingRegressor(
        max_iter=STAGES, early_stopping=False, random_state=random_state
    ).fit(features[learnt], label[learnt])
    stage = _best_stage(
        float(((mean - label[held]) ** 2).mean()),
        (
            float(((each - label[held]) ** 2).mean())
            for each in model.staged_predict(features[held])
        ),
    )
    return _at(model.staged_predict(asked), stage) if stage else np.full(len(asked), mean)


def _parts(n_rows: int, random_state: int) -> tuple[Ints, Ints]:
    """Return which rows are learnt from, and which are held back, at least one."""
    order = np.random.default_rng(random_state).permutation(n_rows)
    n_held = max(1, min(int(n_rows * HELD_BACK), MAX_HELD_BACK))
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _best_stage(without: float, losses: Iterable[float]) -> int:
    """Return the number of stages with the least loss; 0 if none is better than no feature."""
    return int(np.argmin([without, *losses]))


def _at(stages: Iterable[Any], stage: int) -> Floats:
    """Return a model's prediction at a stage, counted from 1."""
    return np.asarray(next(islice(stages, stage - 1, None)), dtype=np.float64)

"""Stealing: a copy of the model is trained on what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import as_numbers, numbers_of
from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, required
from halfmask.assess.attacks._trainer_target import (
    PUBLIC,
    TrainerTarget,
    labels_of,
    matrix_of,
    picked,
    predicted,
)

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.hashing import HashedRows

_CLIP = 1e-7
_RIDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStealing(
    DeclaredAttack, name="hashing/model-stealing", target=TrainerTarget, needs=(PUBLIC,)
):
    """Ask for predictions of public rows, and train a copy on the answers.

    Parameters
    ----------
    n_queries
        How many rows are asked about, at most; a target with a quota answers no more than that.

    Notes
    -----
    Tramèr, Zhang, Juels, Reiter and Ristenpart, "Stealing machine learning models via prediction
    APIs" (USENIX Security 2016), section 4: of a logistic model each probability is one linear
    equation of its weights, solved by least squares that weigh an answer by the precision of its
    digits; labels alone train a logistic regression. Success: how often the copy predicts what the
    model predicts, on other rows. Control: always the model's more frequent class.
    Baseline: a logistic regression of as many rows with their true labels, without any answer.
    """

    n_queries: int = field(default=1000, metadata={"ge": 10})

    def _measure(self, target: TrainerTarget, random_state: int) -> Found:
        public = required(target.public, "public rows")
        with foreign("The trainer failed to learn"):
            trainer = target.make()
            for client, rows in target.stream:
                trainer.learn(rows, client=client)
        n = min(self.n_queries, len(public), target.quota or self.n_queries)
        places = np.random.default_rng(random_state).choice(len(public), n, replace=False)
        asked = _rows(public, np.sort(places))
        buckets = np.unique(asked.flat()[1]).astype(np.int64)
        known, judged = matrix_of(asked, buckets), matrix_of(target.holdout, buckets)
        model = predicted(trainer, target.holdout) >= 0.5
        answered = _answers(target, predicted(trainer, asked))
        copied = _copied(known, answered, judged, random_state) >= 0.5
        without = _copied(known, labels_of(asked).astype(np.float64), judged, random_state) >= 0.5
        return self._make_outcome(
            "agreement of the copy",
            _agreement(copied, model),
            SuccessCount(max(int(model.sum()), int((~model).sum())), len(model)),
            needed=(500, "rows held out"),
            baseline=_agreement(without, model),
            details={"queries": float(n), "weights of the copy": float(len(buckets))},
        )


def _agreement(one: Bools, other: Bools) -> SuccessCount:
    return SuccessCount(int((one == other).sum()), len(one))


def _rows(rows: HashedRows, places: Ints) -> HashedRows:
    return picked(rows, places, labels=labels_of(rows)[places])


def _answers(target: TrainerTarget, predictions: Floats) -> Floats:
    """Return the answers that a client gets; noise may put them outside [0, 1]."""
    if target.answer is None:
        return predictions
    with foreign("The way to answer failed"):
        answered = as_numbers(target.answer(predictions))
    return numbers_of(answered, predictions.shape, who="The way to answer", what="answers")


def _copied(known: Floats, answered: Floats, judged: Floats, random_state: int) -> Floats:
    """Return a copy's predictions of the judged rows, given answers about known rows."""
    if np.isin(answered, (0.0, 1.0)).all():
        return _by_labels(known, answered, judged, random_state)
    clipped = np.clip(answered, _CLIP, 1 - _CLIP)
    # An answer's last digit moves a log-odds by 1 / (p (1 - p)): near 0 and 1 it is imprecise.
    trust = clipped * (1 - clipped)
    odds = np.log(clipped / (1 - clipped))
    weighted = known * trust[:, None]
    square = weighted.T @ weighted + _RIDGE * np.eye(known.shape[1])
    weights = np.linalg.solve(square, weighted.T @ (trust * odds))
    return np.asarray(1 / (1 + np.exp(-np.clip(judged @ weights, -500, 500))))


def _by_labels(known: Floats, answered: Floats, judged: Floats, random_state: int) -> Floats:
    if len(np.unique(answered)) < 2:
        return np.full(len(judged), answered[0])
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 # sklearn loads late

    model = LogisticRegression(max_iter=1000, random_state=random_state).fit(known, answered > 0.5)
    return np.asarray(model.predict_proba(judged)[:, 1])

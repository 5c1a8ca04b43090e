"""What a model discloses: a copy by its answers, and values by its weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import as_numbers, numbers_of
from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given, required
from halfmask.assess.attacks._hashes import salts_given, unkeyed_schemes
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks._trainer_target import (
    PUBLIC,
    TrainerTarget,
    ask_trainer,
    labels_of,
    matrix_of,
    pick_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Bools, Floats, Ints


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
        places = np.sort(places)
        asked = pick_rows(public, places, labels=labels_of(public)[places])
        buckets = np.unique(asked.flat()[1]).astype(np.int64)
        known, judged = matrix_of(asked, buckets), matrix_of(target.holdout, buckets)
        model = ask_trainer(trainer, target.holdout) >= 0.5
        answered = _answers(target, ask_trainer(trainer, asked))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightReading(
    DeclaredAttack,
    name="hashing/weights",
    target=HashingTarget,
    needs=(
        given("train", "a way to train weights"),
        given("labels", "labels"),
        given("population", "a population with labels"),
        given("population_labels", "a population with labels"),
    ),
):
    """Say of the most predictive values of the population which weights are theirs.

    Parameters
    ----------
    values
        How many values are looked for: those whose weight is largest in the attacker's own model.
    salts, seeds
        As of the dictionary.

    Notes
    -----
    The attacker holds the trained weights and no row, and other people of the population with their
    labels. First a dictionary: where the buckets of values, hashed by some way without a key, have
    weights far more often than chance has it, that way is believed. Otherwise the attacker trains a
    model of the same kind on the population, and gives to each value the bucket whose weight is
    nearest to its own, each bucket once (Kuhn 1955). Exact: each of the values is counted. Control:
    guessing one of the buckets that have a weight.
    """

    values: int = field(default=100, metadata={"ge": 1})
    salts: tuple[bytes, ...] = field(default=(), metadata={"take": salts_given})
    seeds: int = field(default=4, metadata={"ge": 0})

    def _measure(self, target: HashingTarget, random_state: int) -> Found:  # noqa: ARG002 # exact
        if target.labels is None:
            raise ParameterError("This attack needs labels.")
        weights = _trained(target, target.buckets, target.labels, who="The owner's model")
        held = np.flatnonzero(weights)
        wanted, expected = self._wanted(target)
        truth = [_bucket_of(target, *value) for value in wanted]
        by_hash = self._by_dictionary(target, weights, wanted)
        guess = by_hash if by_hash is not None else _nearest(weights, held, expected)
        right = int((guess == np.array(truth)).sum())
        return self._make_outcome(
            "predictive values found in the weights",
            Certain(right / len(wanted), len(wanted)),
            Certain(1 / max(1, len(held)), len(wanted)),
            needed=(20, "values"),
            details={"weights": float(len(held)), "by a dictionary": float(by_hash is not None)},
        )

    def _wanted(self, target: HashingTarget) -> tuple[list[tuple[str, str]], Floats]:
        """Return the most predictive values that the rows have, too, and the weights expected."""
        population, labels = target.population, target.population_labels
        if population is None or labels is None:
            raise ParameterError("This attack needs a population with labels.")
        codes: list[Ints] = []
        names: list[tuple[str, str]] = []
        for name in population.columns:
            values, number = np.unique(population[name].to_numpy().astype(str), return_inverse=True)
            codes.append(number.ravel() + len(names))
            names += [(name, str(value)) for value in values]
        if len(names) > 1 << target.bits:
            raise DataError("The population has more values than there are buckets.")
        attacker_rows = np.column_stack(codes).astype(np.uint32)
        weights = _trained(target, attacker_rows, labels, who="The attacker's model")[: len(names)]
        there = {name: set(target.original[name].unique().to_list()) for name in population.columns}
        order = np.argsort(-np.abs(weights), kind="stable")
        kept = [i for i in order.tolist() if names[i][1] in there[names[i][0]]][: self.values]
        if not kept:
            raise DataError("The rows share no value with the population.")
        return [names[i] for i in kept], weights[kept]

    def _by_dictionary(
        self, target: HashingTarget, weights: Floats, wanted: list[tuple[str, str]]
    ) -> Ints | None:
        """Return the buckets by the way that hits weights most often, if that is no chance."""
        by_column: dict[str, list[int]] = {}
        for place, (name, _) in enumerate(wanted):
            by_column.setdefault(name, []).append(place)
        best, hits = None, (weights != 0).mean() + 0.5
        for scheme in unkeyed_schemes(seeds=self.seeds, salts=self.salts):
            buckets = np.empty(len(wanted), dtype=np.int64)
            for name, places in by_column.items():
                buckets[places] = scheme.buckets(name, [wanted[i][1] for i in places], target.bits)
            share = (weights[buckets] != 0).mean()
            if share > hits:
                best, hits = buckets, share
        return best


def _trained(
    target: HashingTarget, buckets: NDArray[np.uint32], labels: Floats, *, who: str
) -> Floats:
    """Return the weights that a model learns of rows, one for each bucket."""
    if target.train is None:
        raise ParameterError("This attack needs a way to train.")
    with foreign(f"{who} couldn't be trained"):
        weights = as_numbers(target.train(buckets, labels))
    return numbers_of(weights, (1 << target.bits,), who=who, what="weights", of="buckets")


def _bucket_of(target: HashingTarget, name: str, value: str) -> int:
    """Return the bucket of a value of the rows: the evaluator's."""
    place = target.original.columns.index(name)
    row = int(np.argmax(target.original[name].to_numpy() == value))
    return int(target.buckets[row, place])


def _nearest(weights: Floats, held: Ints, expected: Floats) -> Ints:
    """Return for each expected weight the bucket of the nearest one, each bucket once."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    attacker_rows = weights[held]
    found = np.full(len(expected), -1, dtype=np.int64)
    if not len(held):
        return found
    rank = np.argsort(-np.abs(attacker_rows), kind="stable")[: 50 * len(expected)]
    apart = np.abs(expected[:, None] - attacker_rows[rank][None, :])
    of_value, of_bucket = linear_sum_assignment(apart)
    found[of_value] = held[rank[of_bucket]]
    return found

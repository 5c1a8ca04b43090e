"""One learner from shards: the fold that clusters run."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask import ParameterError
from halfmask.trainer.learner import OnlineLearner
from trainer.learner.test_learner import (  # type: ignore[import-not-found] # beside, no package
    KINDS,
    changed,
    learner_of,
    rows_of,
)


def shards(loss, optimizer, *, n=4, values=False, **more):
    found = []
    for seed in range(n):
        learner = learner_of(loss, optimizer, **more)
        learner.learn(rows_of(1500, loss=loss, seed=seed, values=values and seed > 0))
        found.append(learner)
    return found


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_the_average_of_one_is_itself(loss, optimizer):
    """And so is that of itself twice."""
    (one,) = shards(loss, optimizer, n=1)
    rows = rows_of(loss=loss, seed=50)

    assert np.allclose(OnlineLearner.average([one]).weights, one.weights, atol=1e-6)
    assert np.allclose(
        OnlineLearner.average([one, one]).predict(rows), one.predict(rows), atol=1e-5
    )


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
@pytest.mark.parametrize("values", [False, True])
def test_shards_may_be_folded_in_any_way(loss, optimizer, values):
    """Two by two, one after another, or all at once."""
    a, b, c, d = shards(loss, optimizer, values=values)
    average = OnlineLearner.average
    at_once = average([a, b, c, d])
    for other in (average([average([a, b]), average([c, d])]), average([average([a, d, b]), c])):
        assert np.allclose(other.weights, at_once.weights, atol=1e-4)
        assert other.progress.rows == at_once.progress.rows == 6000


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_average_predicts_better_than_a_shard(loss, optimizer):
    """Rows that none of them saw, where labels are noisy."""
    rng = np.random.default_rng(6)
    parts = []
    for seed in range(4):
        rows = rows_of(1500, loss=loss, seed=seed)
        noise = rng.normal(size=1500)
        labels = (
            np.where(noise > 1, 1 - rows.labels, rows.labels).astype(np.int32)
            if loss == "logistic"
            else (rows.labels + 3 * noise).astype(np.float32)
        )
        parts.append(learner_of(loss, optimizer))
        parts[-1].learn(changed(rows, labels=labels))
    rows = rows_of(2000, loss=loss, seed=77)

    def miss(learner):
        return np.square(learner.predict(rows) - rows.labels).mean()

    assert miss(OnlineLearner.average(parts)) < np.mean([miss(part) for part in parts])


def test_ftrl_goes_on_from_the_average():
    """Its sums of gradients stand for the averaged weights, so the next row doesn't jump."""
    together = OnlineLearner.average(shards("logistic", "ftrl", l1=0.3))
    before = together.weights
    quiet = rows_of(1, seed=60)
    together.learn(quiet)
    after = together.weights
    touched = np.append(quiet.indices.ravel(), len(after) - 1)

    assert np.abs(after - before)[touched].max() < 0.2
    assert (np.delete(after, touched) == np.delete(before, touched)).all()


def test_weights_say_how_much_a_shard_counts():
    """A shard that counts next to nothing changes next to nothing."""
    one, two = shards("logistic", "adagrad", n=2)
    nearly = OnlineLearner.average([one, two], [1e9, 1e-6])
    known = OnlineLearner.average([one]).weights != 0

    assert np.allclose(nearly.weights[known], one.weights[known], atol=1e-5)


def test_learners_that_do_not_go_together_are_refused():
    """As are weights that don't fit them."""
    one, other = learner_of(), learner_of(optimizer="sgd")
    for wrong in (([],), ([one, other],), ([one], [1.0, 2.0]), ([one], [0.0]), ([one], [-1.0])):
        with pytest.raises(ParameterError):
            OnlineLearner.average(*wrong)

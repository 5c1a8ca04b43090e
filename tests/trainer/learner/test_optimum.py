"""Where online learning ends: at the optimum that scikit-learn finds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss

from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner

N, WIDTH, BITS = 600, 4, 3


def table(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH)).astype(np.float32)
    scores = X @ rng.normal(size=(WIDTH, classes)) + rng.gumbel(size=(N, classes)) * 1.5
    return X, scores.argmax(axis=1).astype(np.int32), scores[:, 0].astype(np.float32)


def dense(X, labels, classes=2):
    slots = np.tile(np.arange(WIDTH, dtype=np.uint32), (len(X), 1))
    return HashedRows(indices=slots, values=X, labels=labels, classes=classes, bits=BITS)


@pytest.mark.parametrize(
    ("optimizer", "more"),
    [("sgd", {"rate": 1.0, "decay": 0.5}), ("adagrad", {"rate": 0.1}), ("ftrl", {"rate": 0.3})],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_and_softmax_reach_the_optimum(classes, optimizer, more):
    """Within a thousandth of the mean log-loss."""
    X, y, _ = table(classes)
    best = log_loss(y, LogisticRegression(C=np.inf, max_iter=2000).fit(X, y).predict_proba(X))
    learner = OnlineLearner(
        loss="logistic" if classes == 2 else "softmax", optimizer=optimizer, bits=BITS,
        classes=classes, **more,
    )  # fmt: skip
    rows = dense(X, y, classes)
    learner.learn(rows, passes=150)

    assert log_loss(y, learner.predict(rows)) == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
def test_squared_reaches_least_squares(optimizer):
    """Within a percent of its error."""
    X, _, y = table()
    rate = {"sgd": 0.5, "adagrad": 0.2, "ftrl": 0.2}[optimizer]
    best = np.square(LinearRegression().fit(X, y).predict(X) - y).mean()
    learner = OnlineLearner(loss="squared", optimizer=optimizer, bits=BITS, rate=rate, decay=0.5)
    rows = dense(X, y)
    learner.learn(rows, passes=100)

    assert np.square(learner.predict(rows) - y).mean() == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantile_finds_the_share_below(tau):
    """A share tau of the numbers is below the prediction."""
    y = np.random.default_rng(2).exponential(size=20_000).astype(np.float32)
    rows = HashedRows(indices=np.zeros((len(y), 1), np.uint32), labels=y, bits=1)
    learner = OnlineLearner(loss="quantile", tau=tau, bits=1, optimizer="sgd", decay=0.5)
    learner.learn(rows)

    assert (y < learner.predict(rows)[0]).mean() == pytest.approx(tau, abs=0.02)


def test_plain_steps_are_those_of_scikit_learn():
    """One pass of plain gradient descent over one-hot rows, number by number."""
    rng = np.random.default_rng(4)
    slots = rng.integers(0, 50, (500, 3)) + np.array([0, 50, 100])
    y = (rng.random(500) < 0.4).astype(np.int32)
    rows = HashedRows(indices=slots.astype(np.uint32), labels=y, bits=8)
    theirs = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="constant", eta0=0.1, shuffle=False,
        max_iter=1, tol=None,
    )  # fmt: skip
    theirs.fit(rows.to_csr(), y)
    ours = OnlineLearner(
        optimizer="sgd", bits=8, rate=0.1, decay=0.0, normalized=False, invariant=False
    )
    ours.learn(rows)

    # Theirs slows the intercept of sparse rows down; what the slots learn follows from it.
    theirs_dense = theirs.fit(rows.to_csr().toarray(), y)
    assert np.allclose(ours.weights[:-1], theirs_dense.coef_[0], atol=1e-5)
    assert ours.weights[-1] == pytest.approx(theirs_dense.intercept_[0], abs=1e-5)

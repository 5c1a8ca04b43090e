"""Networks learn the same from turned rows and first weights, unless they step by coordinate."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from halfmask.encode import Codec


@pytest.fixture(autouse=True)
def _one_thread():
    """Models this small wait for threads longer than they learn."""
    with threadpool_limits(1):
        yield


def _rows(n=800, seed=1):
    """Return rows of correlated and skewed columns, and numbers of about 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 2] = np.exp(x[:, 2])
    x = x.round(9)  # a float of all digits next to zero may be refused, as the machine rounds it
    numbers = x[:, 0] + 2 * np.sin(x[:, 1]) - 0.5 * x[:, 2] + rng.normal(size=n) / 2
    return pl.DataFrame(x, schema=[f"x{i}" for i in range(6)]), numbers / 2


ROWS, NUMBERS = _rows()


def _network(x, y, weights, *, adam):
    """Train one hidden layer by full gradients of the squared error; return its answers."""
    first, second = weights[0].copy(), weights[1].copy()
    state = [np.zeros_like(first), np.zeros_like(second)]
    square = [np.zeros_like(first), np.zeros_like(second)]
    for _ in range(50):
        hidden = np.tanh(x @ first.T)
        error = (hidden @ second - y) / len(y)
        slopes = [((error[:, None] * second) * (1 - hidden**2)).T @ x, hidden.T @ error]
        for i, weight in enumerate((first, second)):
            state[i] = 0.9 * state[i] + slopes[i]
            square[i] = 0.99 * square[i] + 0.01 * slopes[i] ** 2
            step = state[i] / (np.sqrt(square[i]) + 1e-8) if adam else state[i]
            np.subtract(weight, 0.01 * (step + 0.01 * weight), out=weight)
    return np.tanh(x @ first.T) @ second


@pytest.mark.parametrize(("adam", "same"), [(False, True), (True, False)])
def test_gradient_descent_from_turned_weights_learns_the_same(secret, adam, same):
    """Momentum and weight decay included; Adam steps by coordinate and learns something else."""
    codec = Codec(learner="networks", secret=secret, rows="kept").fit(ROWS)
    plain, sent = codec.plain(ROWS).to_numpy(), codec.encode(ROWS).to_numpy()
    turn = np.linalg.lstsq(plain, sent, rcond=None)[0]  # what the owner has, and known rows give
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(8, 6)) / 3, rng.normal(size=8) / 3
    y = NUMBERS

    home = _network(plain, y, (first, second), adam=adam)
    away = _network(sent, y, (first @ turn, second), adam=adam)

    assert (np.abs(home - away).max() < 1e-9) == same
    assert np.mean((home - y) ** 2) < 0.8 * y.var()


def _multilayer(x, y, first, **settings):
    """Train scikit-learn's network from given first weights; return its answers."""
    model = MLPRegressor(
        hidden_layer_sizes=(8,), activation="tanh", warm_start=True, random_state=0, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that one step, and a few, don't converge
        # One step of no length makes a network, in whose place the given weights go.
        model.set_params(learning_rate_init=1e-300, max_iter=1).fit(x, y)
        model.coefs_[0] = first.copy()
        model.set_params(learning_rate_init=0.01, max_iter=20).fit(x, y)
    return model.predict(x)


@pytest.mark.parametrize(("solver", "same"), [("sgd", True), ("adam", False)])
def test_a_network_of_scikit_learn_learns_the_same_from_turned_weights(secret, solver, same):
    """Mini-batches, Nesterov's momentum and L2 decay included; with Adam it doesn't."""
    codec = Codec(learner="networks", secret=secret, rows="kept").fit(ROWS)
    plain, sent = codec.plain(ROWS).to_numpy(), codec.encode(ROWS).to_numpy()
    turn, _ = orthogonal_procrustes(plain, sent)
    first = np.random.default_rng(3).normal(size=(6, 8)) / 3
    y = NUMBERS

    home = _multilayer(plain, y, first, solver=solver, alpha=0.01)
    away = _multilayer(sent, y, turn.T @ first, solver=solver, alpha=0.01)

    assert (np.abs(home - away).max() < 1e-9) == same
    assert np.mean((home - y) ** 2) < 0.8 * y.var()

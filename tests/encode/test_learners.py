"""Predictions of models that never saw a plain row are those of plain training, where that is said.

Each learner is trained twice: at home on plain columns, and on encoded rows whose predictions are
decoded. 10,000 other rows are predicted.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from halfmask.encode import Codec


@pytest.fixture(autouse=True)
def _one_thread():
    """Models this small wait for threads longer than they learn."""
    with threadpool_limits(1):
        yield


def _rows(n, seed):
    """Return rows whose columns are correlated and skewed, their classes and their numbers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 2] = np.exp(x[:, 2])
    x[:, 3] = rng.integers(0, 50, n)
    hidden = x[:, 0] + 2 * np.sin(x[:, 1]) - 0.5 * x[:, 2] + x[:, 3] / 25 + rng.normal(size=n) / 2
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(6)}).cast({"x3": pl.Int64})
    classes = np.array(["low", "middle", "high"])[np.digitize(hidden, [-1, 1])]
    return frame, pl.Series("class", classes), pl.Series("number", 1000 * hidden)


TRAIN, CLASSES, NUMBERS = _rows(800, 1)
OTHERS, _, _ = _rows(10_000, 2)
IS_HIGH = (CLASSES == "high").alias("class")


def _array(frame):
    return frame.to_numpy().astype(np.float64)


def _predicted(learner, model, target, secret, *, rows=OTHERS, **settings):
    """Return what the model predicts for rows: trained at home, and trained elsewhere."""
    table = TRAIN.with_columns(target)
    codec = Codec(learner=learner, secret=secret, **settings).fit(table, target=target.name)
    sent = codec.encode(table)
    home = model().fit(_array(codec.plain(table)), target.to_numpy()[codec.plan_.order(800, 0)])
    away = model().fit(_array(sent[:, :-1]), sent[:, -1].to_numpy())

    plain = home.predict(_array(codec.plain(rows, batch=1)))
    order = np.argsort(codec.plan_.order(rows.height, 1))  # type: ignore[arg-type] # keyed rows
    answer = away.predict(_array(codec.encode(rows, batch=1)))
    return plain[order], codec.decode_predictions(answer, batch=1)


LABELS = [
    ("trees", lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0)),
    ("distances", lambda: KNeighborsClassifier(weights="distance")),
    ("distances", lambda: LogisticRegression(tol=1e-10, max_iter=1000)),
    ("distances", LinearDiscriminantAnalysis),
    ("linear", LinearDiscriminantAnalysis),
    ("linear", QuadraticDiscriminantAnalysis),
    ("linear", lambda: LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)),
    ("networks", lambda: KNeighborsClassifier(weights="distance")),
]
VALUES = [
    ("trees", lambda: HistGradientBoostingRegressor(max_iter=10, random_state=0)),
    (
        "distances",
        lambda: TransformedTargetRegressor(
            KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1),
            transformer=StandardScaler(with_std=False),
        ),
    ),
    ("distances", Ridge),
    ("distances", KNeighborsRegressor),
    ("linear", LinearRegression),
]
OTHER_LABELS = [
    ("trees", KNeighborsClassifier, 0.95),
    ("trees", lambda: LogisticRegression(max_iter=10_000), 0.97),
    ("distances", GaussianNB, 0.97),
    ("distances", lambda: DecisionTreeClassifier(random_state=0), 0.95),
    ("linear", KNeighborsClassifier, 0.97),
]


@pytest.mark.parametrize(("learner", "model"), LABELS)
def test_labels_are_those_of_plain_training(secret, learner, model):
    plain, decoded = _predicted(learner, model, CLASSES, secret)

    assert len(plain) == 10_000
    assert set(plain) == {"low", "middle", "high"}
    assert np.array_equal(plain, decoded)


def test_labels_of_support_vectors_are_those_of_plain_training(secret):
    """Of two classes: with more, one vote for each is a tie, which goes to the lowest code."""
    plain, decoded = _predicted("distances", lambda: SVC(tol=1e-9), IS_HIGH, secret)

    assert set(plain) == {False, True}
    assert np.array_equal(plain, decoded)


@pytest.mark.parametrize(("learner", "model"), VALUES)
def test_numbers_are_those_of_plain_training(secret, learner, model):
    plain, decoded = _predicted(learner, model, NUMBERS, secret)

    assert np.abs(plain - decoded).max() <= 1e-9 * np.abs(plain).max()


def test_trees_are_exact_on_the_rows_that_they_were_grown_from(secret):
    labels = lambda: DecisionTreeClassifier(random_state=0)  # noqa: E731 # made twice
    numbers = lambda: DecisionTreeRegressor(random_state=0, min_samples_leaf=5)  # noqa: E731

    plain, decoded = _predicted("trees", labels, CLASSES, secret, rows=TRAIN)
    assert np.array_equal(plain, decoded)

    plain, decoded = _predicted("trees", numbers, NUMBERS, secret, rows=TRAIN)
    assert np.abs(plain - decoded).max() <= 1e-9 * np.abs(plain).max()


def test_between_training_values_trees_agree_on_most_rows(secret):
    tree = lambda: DecisionTreeClassifier(random_state=0)  # noqa: E731 # made twice
    forest = lambda: RandomForestClassifier(10, random_state=0, n_jobs=1)  # noqa: E731

    for model, least in ((tree, 0.98), (forest, 0.95)):
        plain, decoded = _predicted("trees", model, CLASSES, secret)
        assert least < np.mean(plain == decoded) < 1


@pytest.mark.parametrize(("learner", "model", "most"), OTHER_LABELS)
def test_the_comparison_sees_learners_that_notice(secret, learner, model, most):
    """What is said not to be invariant isn't, so that equal labels above mean something."""
    plain, decoded = _predicted(learner, model, CLASSES, secret)

    assert np.mean(plain == decoded) < most


@pytest.mark.parametrize(
    ("learner", "model"), [("distances", lambda: Lasso(10)), ("linear", lambda: Ridge(10))]
)
def test_the_comparison_sees_regressions_that_notice(secret, learner, model):
    plain, decoded = _predicted(learner, model, NUMBERS, secret)

    assert np.abs(plain - decoded).max() > 1e-3 * np.abs(plain).max()


@pytest.mark.parametrize(
    ("learner", "settings"), [("networks", {"strength": 1.0}), ("distances", {"by": "group"})]
)
def test_a_flow_and_a_matrix_for_each_group_keep_no_learner_exact(secret, learner, settings):
    rows = TRAIN.with_columns(pl.Series("group", ["a", "b"] * 400))
    codec = Codec(learner=learner, secret=secret, rows="kept", **settings).fit(rows)
    model = KNeighborsRegressor()
    plain, sent = _array(codec.plain(rows)), _array(codec.encode(rows))

    home, away = (model.fit(x, NUMBERS.to_numpy()).predict(x) for x in (plain, sent))

    assert np.abs(home - away).max() > 1
    assert {claim.scope for claim in codec.claims} == {"measured"}


def _with_towns(rows, seed):
    towns = np.random.default_rng(seed).choice(list("abcdefg"), rows.height)
    return rows.with_columns(pl.Series("town", towns))


def _one_hot(frame, column):
    """Return the other columns, and one for each of the seven codes."""
    codes = frame[column].to_numpy()[:, None] == np.arange(7)
    return np.column_stack([_array(frame.drop(column)), codes])


@pytest.mark.parametrize(
    ("learner", "model", "prepare", "same"),
    [
        ("distances", lambda _: KNeighborsClassifier(weights="distance"), _one_hot, True),
        ("distances", lambda _: LogisticRegression(tol=1e-10, max_iter=1000), _one_hot, True),
        (
            "trees",
            lambda at: HistGradientBoostingClassifier(
                max_iter=5, random_state=0, categorical_features=[at]
            ),
            lambda frame, _: _array(frame),
            True,
        ),
        (
            "trees",
            lambda _: DecisionTreeClassifier(random_state=0, max_depth=4),
            lambda frame, _: _array(frame),
            False,
        ),
    ],
)
def test_codes_of_categories_are_as_good_as_categories(secret, learner, model, prepare, same):
    """One-hot encoded elsewhere, or declared categorical; as numbers they are something else."""
    rows, others = _with_towns(TRAIN, 3), _with_towns(OTHERS, 4)
    is_far = rows["town"].is_in(["b", "d", "g"]).to_numpy()
    label = IS_HIGH.to_numpy() ^ is_far
    codec = Codec(learner=learner, secret=secret, rows="kept").fit(rows)
    token = codec.plan_.codes[0].token
    at = codec.plan_.tokens.index(token)

    home = model(at).fit(prepare(codec.plain(rows), "town"), label)
    away = model(at).fit(prepare(codec.encode(rows), token), label)
    plain = home.predict(prepare(codec.plain(others), "town"))
    sent = away.predict(prepare(codec.encode(others), token))

    assert np.mean(plain == plain[0]) < 0.9
    assert np.array_equal(plain, sent) == same


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
    codec = Codec(learner="networks", secret=secret, rows="kept").fit(TRAIN)
    plain, sent = _array(codec.plain(TRAIN)), _array(codec.encode(TRAIN))
    turn = np.linalg.lstsq(plain, sent, rcond=None)[0]  # what the owner has, and known rows give
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(8, 6)) / 3, rng.normal(size=8) / 3
    y = NUMBERS.to_numpy() / 2000

    home = _network(plain, y, (first, second), adam=adam)
    away = _network(sent, y, (first @ turn, second), adam=adam)

    assert (np.abs(home - away).max() < 1e-9) == same
    assert np.mean((home - y) ** 2) < 0.8 * y.var()

"""Predictions of models that never saw a plain row are those of plain training, where that is said.

Each learner is trained twice: at home on plain columns, and on encoded rows whose predictions are
decoded. 10,000 other rows are predicted.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
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
    x = x.round(9)  # decimals come back from a matrix, however near zero they are
    hidden = x[:, 0] + 2 * np.sin(x[:, 1]) - 0.5 * x[:, 2] + x[:, 3] / 25 + rng.normal(size=n) / 2
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(6)}).cast({"x3": pl.Int64})
    classes = np.array(["low", "middle", "high"])[np.digitize(hidden, [-1, 1])]
    return frame, pl.Series("class", classes), pl.Series("number", (1000 * hidden).round(9))


TRAIN, CLASSES, NUMBERS = _rows(800, 1)
OTHERS, _, _ = _rows(10_000, 2)
IS_HIGH = (CLASSES == "high").alias("class")


def _array(frame):
    return frame.to_numpy().astype(np.float64)


def _predicted(learner, model, target, secret, *, rows=OTHERS, train=TRAIN, **settings):
    """Return what the model predicts for rows: trained at home, and trained elsewhere."""
    table = train.with_columns(target)
    codec = Codec(learner=learner, secret=secret, **settings).fit(table, target=target.name)
    sent = codec.encode(table)
    home = model().fit(_array(codec.plain(table)), target.to_numpy()[codec.plan_.order(800, 0)])
    away = model().fit(_array(sent[:, :-1]), sent[:, -1].to_numpy())

    plain = home.predict(_array(codec.plain(rows, batch=1)))
    order = np.argsort(codec.plan_.order(rows.height, 1))  # type: ignore[arg-type] # keyed rows
    answer = away.predict(_array(codec.encode(rows, batch=1)))
    return plain[order], codec.decode_predictions(answer, batch=1)


def _lightgbm(kind, **settings):
    """Few leaves, one thread, and no word of it."""
    return kind(n_estimators=20, num_leaves=15, n_jobs=1, verbose=-1, **settings)


LABELS = [
    ("trees", lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0)),
    ("distances", QuadraticDiscriminantAnalysis),
    ("distances", lambda: make_pipeline(PCA(3), KNeighborsClassifier(weights="distance"))),
    ("linear", lambda: make_pipeline(PCA(whiten=True), KNeighborsClassifier(weights="distance"))),
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
    (
        "distances",
        lambda: GaussianProcessRegressor(
            RBF(2.0) + WhiteKernel(0.5), optimizer=None, normalize_y=True
        ),
    ),
    (
        "distances",
        lambda: TransformedTargetRegressor(
            SVR(kernel="rbf", gamma=0.1, tol=1e-11), transformer=StandardScaler()
        ),
    ),
    ("distances", Ridge),
    ("distances", LinearRegression),
    ("distances", KNeighborsRegressor),
    ("linear", LinearRegression),
]
OTHER_LABELS = [
    ("trees", KNeighborsClassifier, 0.95),
    ("trees", lambda: LogisticRegression(max_iter=10_000), 0.97),
    ("distances", GaussianNB, 0.97),
    ("distances", lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0), 0.95),
    ("distances", lambda: _lightgbm(LGBMClassifier), 0.95),
    ("distances", lambda: RandomForestClassifier(10, random_state=0, n_jobs=1), 0.97),
    ("distances", lambda: make_pipeline(StandardScaler(), KNeighborsClassifier()), 0.99),
    ("linear", lambda: SVC(gamma=0.1), 0.97),
    ("linear", lambda: _lightgbm(LGBMClassifier), 0.95),
    ("distances", lambda: DecisionTreeClassifier(random_state=0), 0.95),
    ("linear", KNeighborsClassifier, 0.97),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "model"), LABELS)
def test_labels_are_those_of_plain_training(secret, learner, model):
    plain, decoded = _predicted(learner, model, CLASSES, secret)

    assert len(plain) == 10_000
    assert set(plain) == {"low", "middle", "high"}
    assert np.array_equal(plain, decoded)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_labels_of_support_vectors_are_those_of_plain_training(secret, kernel):
    """Of two classes: with more, one vote for each is a tie, which goes to the lowest code."""
    plain, decoded = _predicted("distances", lambda: SVC(kernel=kernel, tol=1e-9), IS_HIGH, secret)

    assert set(plain) == {False, True}
    assert np.array_equal(plain, decoded)


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "model"), VALUES)
def test_numbers_are_those_of_plain_training(secret, learner, model):
    plain, decoded = _predicted(learner, model, NUMBERS, secret)

    assert np.abs(plain - decoded).max() <= 1e-9 * np.abs(plain).max()


@pytest.mark.parametrize(("missing", "same"), [("visible", True), ("hidden", False)])
def test_boosting_is_exact_only_where_it_sees_what_is_missing(secret, missing, same):
    """Hidden, a missing cell is a number among others, which boosting doesn't send either way."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"x": rng.normal(size=600), "z": rng.normal(size=600)})
    rows = rows.with_columns(y=pl.col("x") + pl.col("z"))
    gone = pl.Series(rng.random(600) < 0.2)
    rows = rows.with_columns(pl.when(gone).then(None).otherwise("x").alias("x"))
    codec = Codec(learner="trees", secret=secret, missing=missing, rows="kept")
    encoded = codec.fit(rows, target="y").encode(rows)
    features, target = encoded.drop(codec.target_name_), encoded[codec.target_name_]

    def trained(x, y):
        model = HistGradientBoostingRegressor(max_iter=10, random_state=0, early_stopping=False)
        return model.fit(x.to_numpy(), y.to_numpy()).predict(x.to_numpy())

    plain = trained(codec.plain(rows.drop("y")), rows["y"])
    decoded = codec.decode_predictions(trained(features, target))
    assert (np.abs(plain - decoded).max() <= 1e-9) == same
    told = [claim.condition for claim in codec.claims if "histogram" in claim.learner]
    assert all("missing cells visible" in condition for condition in told)


def _far(frame):
    """Return columns without a change of sign: numbers far from zero, and one with zeros."""
    return frame.with_columns(pl.col("x0", "x1") - 10, pl.col("x4", "x5") + 10)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("max_bin", [255, 15])
@pytest.mark.parametrize("target", [CLASSES, IS_HIGH], ids=["three", "two"])
def test_labels_of_lightgbm_are_those_of_plain_training(secret, max_bin, target):
    """For training rows; and for others, unless a column changes its sign between two values.

    Or a value is the float next to the middle of two: none here is.
    """
    model = lambda: _lightgbm(LGBMClassifier, max_bin=max_bin)  # noqa: E731 # made twice

    far = _predicted("trees", model, target, secret, rows=_far(OTHERS), train=_far(TRAIN))
    fitted = _predicted("trees", model, target, secret, rows=TRAIN)
    others = _predicted("trees", model, target, secret)

    assert np.array_equal(*far)
    assert np.array_equal(*fitted)
    assert np.mean(others[0] == others[1]) > 0.999


def test_numbers_of_lightgbm_are_those_of_plain_training_in_single_precision(secret):
    """It holds the target in 32 bits, which round an encoded one elsewhere."""
    where = {"rows": _far(OTHERS), "train": _far(TRAIN)}
    plain, decoded = _predicted("trees", lambda: _lightgbm(LGBMRegressor), NUMBERS, secret, **where)
    coarse, _ = _predicted(
        "trees", lambda: _lightgbm(LGBMRegressor, max_bin=15), NUMBERS, secret, **where
    )

    assert np.abs(plain - decoded).max() <= 1e-6 * np.abs(plain).max()
    assert np.abs(plain - coarse).max() > 1e-2 * np.abs(plain).max()


@pytest.mark.parametrize(
    "cluster",
    [
        lambda x: KMeans(4, init=x[:4], n_init=1).fit(x).labels_,
        lambda x: AgglomerativeClustering(4).fit(x).labels_,
    ],
    ids=["means", "hierarchy"],
)
def test_clusters_are_those_of_plain_rows(secret, cluster):
    """Of an isometry; any other matrix groups other rows."""
    found = {}
    for learner in ("distances", "linear"):
        codec = Codec(learner=learner, secret=secret, rows="kept").fit(TRAIN)
        groups = [cluster(_array(frame)) for frame in (codec.plain(TRAIN), codec.encode(TRAIN))]
        found[learner] = np.array_equal(*groups)

    assert found == {"distances": True, "linear": False}


def test_trees_are_exact_on_the_rows_that_they_were_grown_from(secret):
    labels = lambda: DecisionTreeClassifier(random_state=0)  # noqa: E731 # made twice
    numbers = lambda: DecisionTreeRegressor(random_state=0, min_samples_leaf=5)  # noqa: E731

    plain, decoded = _predicted("trees", labels, CLASSES, secret, rows=TRAIN)
    assert np.array_equal(plain, decoded)

    boosted = lambda: GradientBoostingClassifier(n_estimators=5, random_state=0)  # noqa: E731
    plain, decoded = _predicted("trees", boosted, CLASSES, secret, rows=TRAIN)
    assert np.array_equal(plain, decoded)

    plain, decoded = _predicted("trees", numbers, NUMBERS, secret, rows=TRAIN)
    assert np.abs(plain - decoded).max() <= 1e-9 * np.abs(plain).max()


def test_between_training_values_trees_agree_on_most_rows(secret):
    tree = lambda: DecisionTreeClassifier(random_state=0)  # noqa: E731 # made twice
    forest = lambda: RandomForestClassifier(10, random_state=0, n_jobs=1)  # noqa: E731

    for model, least in ((tree, 0.98), (forest, 0.93)):
        plain, decoded = _predicted("trees", model, CLASSES, secret)
        assert least < np.mean(plain == decoded) < 1


@pytest.mark.slow
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


class _Declared:
    """LightGBM with a column that is declared categorical when it is fitted."""

    def __init__(self, model, at):
        self.model, self.at = model, at

    def fit(self, rows, label):
        self.model.fit(rows, label, categorical_feature=[self.at])
        return self

    def predict(self, rows):
        return self.model.predict(rows)


def _hamming():
    return KNeighborsClassifier(401, metric="hamming", algorithm="brute")


def _codes(frame, name):
    return frame[name].to_numpy()[:, None]


def _with_towns(rows, seed):
    towns = np.random.default_rng(seed).choice(list("abcdefg"), rows.height)
    return rows.with_columns(pl.Series("town", towns))


def _one_hot(frame, column):
    """Return the other columns, and one for each of the seven codes."""
    codes = frame[column].to_numpy()[:, None] == np.arange(7)
    return np.column_stack([_array(frame.drop(column)), codes])


@pytest.mark.slow
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
            lambda at: _Declared(_lightgbm(LGBMClassifier), at),
            lambda frame, _: _array(frame),
            True,
        ),
        ("distances", lambda _: CategoricalNB(), _codes, True),
        ("distances", lambda _: _hamming(), _codes, True),
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

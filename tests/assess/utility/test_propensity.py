"""The propensity-score MSE: its null expectation, and what it sees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, ParameterError
from halfmask.assess.utility import propensity_mse

MODELS = ["logistic", "cart"]


def squared(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, rows**2, rows[:, 0] * rows[:, 1]])


@pytest.mark.parametrize("model", MODELS)
def test_equal_tables_can_not_be_separated(model):
    rows = np.random.default_rng(0).normal(size=(400, 3))

    assert propensity_mse(rows, rows, model=model, random_state=0).pmse < 1e-12


@pytest.mark.parametrize("model", MODELS)
def test_tables_apart_are_separated_in_every_row(model):
    rows = np.random.default_rng(0).normal(size=(400, 3))

    assert propensity_mse(rows, rows + 50, model=model, random_state=0).pmse > 0.24


@pytest.mark.slow
def test_two_samples_of_one_population_have_the_ratio_that_theory_expects():
    """Labels that say nothing: pMSE is (1 - c) c / N times a chi-squared of k - 1."""
    rng = np.random.default_rng(1)
    ratios = [
        propensity_mse(
            squared(rng.normal(size=(300, 2))),
            squared(rng.normal(size=(150, 2))),
            model="logistic",
            random_state=0,
        ).ratio
        for _ in range(60)
    ]

    # The null of Snoke et al. has another factor 1 - c, here 2/3. Of five degrees of freedom the
    # mean has a standard error of sqrt(2 / 5 / 60).
    assert np.mean(ratios) * 2 / 3 == pytest.approx(1.0, abs=4 * (2 / 5 / 60) ** 0.5)


@pytest.mark.slow
def test_rows_drawn_from_the_fitted_model_have_a_mean_ratio_of_one():
    """The null of Snoke et al.: the masked rows have the original's mean and deviation."""
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(80):
        rows = rng.normal(size=400)
        drawn = rng.normal(rows.mean(), rows.std(), size=400)
        tables = (np.column_stack([each, each**2]) for each in (rows, drawn))
        ratios.append(propensity_mse(*tables, model="logistic", random_state=0).ratio)

    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * (2 / 2 / 80) ** 0.5)


def test_a_tree_has_a_ratio_of_two_on_samples_of_one_population():
    rng = np.random.default_rng(2)
    ratios = [
        propensity_mse(
            rng.normal(size=(200, 2)), rng.normal(size=(200, 2)), model="cart", random_state=seed
        ).ratio
        for seed in range(6)
    ]

    assert np.mean(ratios) == pytest.approx(2.0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_more_noise_is_seen_more(model):
    rng = np.random.default_rng(3)
    rows, noise = rng.normal(size=(1500, 2)), rng.normal(size=(1500, 2))

    found = [
        propensity_mse(
            squared(rows), squared(rows + size * noise), model=model, random_state=0
        ).ratio
        for size in (0.35, 0.7, 1.4)
    ]

    assert found[0] < found[1] < found[2]
    assert found[2] > 3


def test_repeated_and_constant_features_are_no_coefficients():
    rng = np.random.default_rng(4)
    before, after = rng.normal(size=(2, 200, 1))
    more = [np.column_stack([each, 2 * each + 1, np.full(200, 7.0)]) for each in (before, after)]

    alone = propensity_mse(before, after, model="logistic", random_state=0)
    repeated = propensity_mse(*more, model="logistic", random_state=0)

    assert repeated.null == alone.null == pytest.approx(0.25 * 0.5 / 400)
    assert repeated.pmse == pytest.approx(alone.pmse, rel=1e-3)


def by_newton(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The probabilities of a logistic model: Newton's steps, written out."""
    x = np.column_stack([np.ones(len(labels)), features])
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (labels - p))
    return 1 / (1 + np.exp(-x @ beta))


def test_s_pmse_of_a_logistic_model_is_that_of_synthpop():
    """synthpop 1.9: S_pMSE = pMSE N / (df (1 - c)^2 c); utilStd = (U - df) / sqrt(2 df)."""
    rng = np.random.default_rng(7)
    before, after = rng.normal(size=(120, 2)), rng.normal(0.3, 1.2, size=(60, 2))
    labels = np.repeat([0, 1], [120, 60])
    c = 1 / 3
    pmse = float(((by_newton(squared(np.vstack([before, after])), labels) - c) ** 2).mean())

    found = propensity_mse(squared(before), squared(after), model="logistic", random_state=0)

    value = pmse * 180**4 / 120**2 / 60  # chi-squared of df = 5 under the null
    assert found.pmse == pytest.approx(pmse, rel=1e-3)
    assert found.ratio == pytest.approx(value / 5, rel=1e-3)
    assert found.standardized == pytest.approx((value - 5) / 10**0.5, rel=1e-3)


def test_the_null_of_a_tree_is_that_of_permuted_labels():
    """Mean and deviation over permutations, halved for tables of equal length."""
    rng = np.random.default_rng(8)
    before, after = rng.normal(size=(2, 80, 2))
    rows, labels = np.vstack([before, after]), np.repeat([0, 1], 80)
    shuffled, by_hand = np.random.default_rng(3), []
    for _ in range(4):
        permuted = shuffled.permutation(labels)
        tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=3).fit(rows, permuted)
        by_hand.append(((tree.predict_proba(rows)[:, 1] - 0.5) ** 2).mean())

    found = propensity_mse(before, after, model="cart", random_state=3, permutations=4)

    mean, deviation = np.mean(by_hand) / 2, np.std(by_hand, ddof=1) / 2
    assert found.ratio == pytest.approx(found.pmse / mean)
    assert found.standardized == pytest.approx((found.pmse - mean) / deviation)


@pytest.mark.parametrize("model", ["logistic", "cart"])
def test_no_features_separate_nothing(model):
    empty = np.empty((5, 0))

    found = propensity_mse(empty, empty, model=model, random_state=0)
    assert (found.ratio, found.standardized) == (0.0, None)


def test_what_can_not_be_fitted_is_refused():
    rows = np.zeros((3, 1))
    with pytest.raises(ParameterError, match="model"):
        propensity_mse(rows, rows, model="forest", random_state=0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="same features"):
        propensity_mse(rows, np.zeros((3, 2)), model="cart", random_state=0)
    with pytest.raises(ParameterError, match="permutations"):
        propensity_mse(rows, rows, model="cart", random_state=0, permutations=1)
    with pytest.raises(DataError, match="finite"):
        propensity_mse(rows, rows * np.nan, model="cart", random_state=0)
    with pytest.raises(DataError, match="no rows"):
        propensity_mse(rows, rows[:0], model="cart", random_state=0)

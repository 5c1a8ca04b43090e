"""The owner's regression: by normal equations, by Newton and by svyglm's formula, written out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.masking import compare_regression

CANARY = "canary-Žofia"


def people(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.integers(1, 3, n)
    town = rng.choice(["bonn", "kiel", "ulm"], n)
    pay = 100 + 3 * age - 20 * (sex == 2) + 15 * (town == "ulm") + rng.normal(0, 30, n)
    return pl.DataFrame(
        {
            "pay": pay,
            "age": age,
            "sex": sex,
            "town": town,
            "ill": rng.random(n) < 1 / (1 + np.exp(3 - 0.05 * age)),
            "w": rng.uniform(1, 9, n),
        }
    )


def design(table: pl.DataFrame) -> np.ndarray:
    """The columns of ``age + C(sex) + town``, written out."""
    ones = np.ones(table.height)
    dummies = [table["sex"] == 2, table["town"] == "kiel", table["town"] == "ulm"]
    return np.column_stack([ones, table["age"], *dummies]).astype(float)


def least_squares(table: pl.DataFrame, weights: np.ndarray | None = None):
    """Coefficients and errors: of lm, or of svyglm without strata and clusters."""
    x, y = design(table), table["pay"].to_numpy()
    n, k = x.shape
    w = np.ones(n) if weights is None else weights
    bread = np.linalg.inv(sum(w[i] * np.outer(x[i], x[i]) for i in range(n)))
    beta = bread @ sum(w[i] * x[i] * y[i] for i in range(n))
    rest = y - x @ beta
    if weights is None:
        covariance = bread * (rest**2).sum() / (n - k)
    else:
        scores = [w[i] * rest[i] * x[i] for i in range(n)]
        covariance = bread @ sum(np.outer(s, s) for s in scores) @ bread * n / (n - 1)
    return beta, np.sqrt(np.diag(covariance))


@pytest.mark.parametrize("weights", [None, "w"])
def test_least_squares_are_those_of_the_normal_equations(weights):
    before = people()
    after = before.with_columns(pl.col("age") // 10 * 10, (pl.col("pay") / 10).round() * 10)
    w = None if weights is None else before["w"].to_numpy()
    (old, error), (new, new_error) = least_squares(before, w), least_squares(after, w)
    t = stats.t.ppf(0.975, 300 - 5)
    low, high = (
        np.maximum(old - t * error, new - t * new_error),
        np.minimum(old + t * error, new + t * new_error),
    )
    shared = np.maximum(high - low, 0) * (1 / (2 * t * error) + 1 / (2 * t * new_error)) / 2

    found = compare_regression(before, after, "pay ~ age + C(sex) + town", weights=weights)

    frame = found.coefficients
    assert frame["name"].to_list() == ["intercept", "age", "sex = 2", "town = kiel", "town = ulm"]
    assert frame["original"].to_numpy() == pytest.approx(old)
    assert frame["error"].to_numpy() == pytest.approx(error)
    assert frame["released"].to_numpy() == pytest.approx(new)
    assert frame["released_error"].to_numpy() == pytest.approx(new_error)
    assert frame["difference"].to_numpy() == pytest.approx((new - old) / error)
    assert frame["overlap"].to_numpy() == pytest.approx(shared)
    assert found.mean_overlap == pytest.approx(shared.mean())
    assert (found.family, found.rows, found.left_out) == ("linear", 300, 0)


@pytest.mark.parametrize("weights", [None, "w"])
def test_two_categories_are_fitted_by_logistic_regression(weights):
    table = people(seed=1)
    x, y = design(table), table["ill"].to_numpy().astype(float)
    w = np.ones(300) if weights is None else table["w"].to_numpy()

    def loss(beta):
        return float((w * (np.logaddexp(0, x @ beta) - y * (x @ beta))).sum())

    scaled = optimize.minimize(lambda b: loss(b / [1, 50, 1, 1, 1]), np.zeros(5), tol=1e-10).x
    beta = scaled / [1, 50, 1, 1, 1]
    chances = 1 / (1 + np.exp(-x @ beta))
    bread = np.linalg.inv((x * (w * chances * (1 - chances))[:, None]).T @ x)
    scores = x * (w * (y - chances))[:, None]
    covariance = bread if weights is None else bread @ scores.T @ scores @ bread * 300 / 299

    found = compare_regression(table, table, "ill ~ age + C(sex) + town", weights=weights)

    frame = found.coefficients
    assert found.family == "logistic"
    assert frame["original"].to_numpy() == pytest.approx(beta, rel=1e-3, abs=1e-4)
    assert frame["error"].to_numpy() == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-3)
    assert set(frame["difference"]) == {0.0}
    assert found.least_overlap == 1.0


def test_ranges_are_middles_and_what_is_no_single_value_is_left_out():
    before = people(60)
    after = before.with_columns(
        pl.format("[{}, {}]", pl.col("age") - 1, pl.col("age") + 1),
        pl.when(pl.int_range(60) < 7).then(pl.lit("{bonn, ulm}")).otherwise("town").alias("town"),
        pl.when(pl.int_range(60) == 20).then(None).otherwise("pay").alias("pay"),
    )

    found = compare_regression(before, after, "pay ~ age + C(sex) + town")
    same = compare_regression(
        before, before.filter((pl.int_range(60) > 6) & (pl.int_range(60) != 20)),
        "pay ~ age + C(sex) + town",
    )  # fmt: skip

    assert (found.released_rows, found.released_left_out) == (52, 8)
    released = found.coefficients["released"].to_numpy()
    assert released == pytest.approx(same.coefficients["released"].to_numpy())


def test_a_level_that_is_not_released_is_not_named():
    before = people(90).with_columns(
        town=pl.when(pl.int_range(90) == 5).then(pl.lit(CANARY)).otherwise("town")
    )

    found = compare_regression(before, people(90), "pay ~ town")

    assert found.coefficients["name"].to_list()[1:] == [
        "town = level 2", "town = kiel", "town = ulm",
    ]  # fmt: skip
    assert found.coefficients.row(1)[3:] == (None, None, None, 0.0)
    assert CANARY not in repr(found) + str(found.to_dict())


def test_columns_that_others_add_up_to_are_left_out_of_both():
    before = people(80).with_columns(months=pl.col("age") * 12, hours=pl.lit(40))
    noise = pl.Series(np.random.default_rng(1).normal(size=80))

    found = compare_regression(
        before, before.with_columns(pl.col("months") + noise), "pay ~ hours + age + months"
    )

    assert found.coefficients.height == 2


def test_names_with_other_signs_stand_in_backticks():
    table = people(50).rename({"age": "age in years"})
    found = compare_regression(table, table, "pay~`age in years`+C(`sex`)")
    assert found.coefficients["name"].to_list()[1:] == ["age in years", "sex = 2"]


@pytest.mark.parametrize(
    ("formula", "error", "said"),
    [
        ("pay ~ age * sex", ParameterError, "can't be read"),
        ("pay ~ log(age)", ParameterError, "can't be read"),
        ("pay = age", ParameterError, "can't be read"),
        ("pay ~ ", ParameterError, "can't be read"),
        ("pay ~ age ~ sex", ParameterError, "can't be read"),
        ("pay ~ age + age", ParameterError, "twice"),
        ("town ~ age", ParameterError, "3 categories"),
        ("pay ~ C(w)", ParameterError, "at most 200"),
        ("pay ~ height", ColumnNotFoundError, "height"),
        ("pay ~ born", SchemaError, "born"),
        ("pay ~ one", DataError, "too few"),
        ("one ~ pay", DataError, "doesn't vary"),
        ("pay ~ name", DataError, "fewer than two"),
    ],
)
def test_what_can_not_be_fitted_is_refused(formula, error, said):
    table = people().with_columns(born=pl.date(2000, 1, 1), one=pl.lit(1.0), name=pl.lit(CANARY))
    with pytest.raises(error, match=said) as refused:
        compare_regression(table, table, formula)
    assert CANARY not in str(refused.value)


def test_weights_that_are_none_are_refused():
    table = people(20)
    wrong = table.with_columns(w=pl.when(pl.int_range(20) == 3).then(0.0).otherwise("w"))
    texts = table.with_columns(w=pl.lit("[1, 9]"))

    with pytest.raises(DataError, match=r"must be above 0\. 1 aren't"):
        compare_regression(table, wrong, "pay ~ age", weights="w")
    with pytest.raises(DataError, match="aren't numbers in both"):
        compare_regression(table, texts, "pay ~ age", weights="w")


def test_separated_outcomes_are_refused():
    table = people(40).with_columns(old=pl.col("age") > 50)
    with pytest.raises(DataError, match="separate its outcomes"):
        compare_regression(table, table, "old ~ age")

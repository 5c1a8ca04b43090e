"""The Minimizer: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    SchemaError,
)
from halfmask.data import Groups, to_polars
from halfmask.minimize import Minimizer
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    Rule,
    minimized,
    people,
)


class Waves:
    """Answer 0 and 1 to whatever tables the checks of scikit-learn come up with."""

    def __repr__(self):
        return "waves"  # a function's address would make a test's name another in each process

    def __call__(self, rows):
        first = np.nan_to_num(np.asarray(rows, dtype=float)[:, 0])
        return (np.sin(first * 1000) > 0).astype(int)


waves = Waves()


@pytest.mark.slow
@parametrize_with_checks(
    [
        Minimizer(waves, target_accuracy=0.9, random_state=0),
        Minimizer(waves, target_accuracy=0.0, scoring="accuracy", confidence=0.5, random_state=0),
    ]
)
def test_scikit_learn_takes_it_for_an_estimator(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_holds_on_rows_never_seen(seed):
    """A tree on noise needs many cuts, so the search has something to go wrong with."""
    rng = np.random.default_rng(seed)
    rows, fresh = rng.normal(size=(3000, 3)), rng.normal(size=(20_000, 3))
    noisy = rows[:, 0] + rows[:, 1] ** 2 + rng.normal(size=3000) > 1
    model = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(rows, noisy)

    minimizer = Minimizer(model, target_accuracy=0.9, random_state=seed).fit(
        rng.normal(size=(3000, 3))
    )

    kept = (model.predict(minimizer.transform(fresh)) == model.predict(fresh)).mean()
    assert kept > 0.9 - 0.006  # three standard errors of the share of fresh rows
    assert minimizer.accuracy_bound_ >= 0.9
    assert minimizer.bits_[1] < 0.6 * minimizer.bits_[0]


def test_scikit_learn_pipelines_and_polars_output():
    frame = people()
    answers = Rule().predict(frame)
    encoder = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=5, random_state=0))
    model.fit(frame, answers)

    minimizer = Minimizer(model, target_accuracy=0.97, random_state=1).fit(frame)

    assert (model.predict(minimizer.transform(frame)) == answers).mean() > 0.97
    assert "shoe" in minimizer.generalizations_.not_needed


@pytest.mark.slow
def test_pandas_keeps_its_index_and_its_types():
    frame = people().to_pandas().astype({"city": "category", "age": "int32"})
    frame.index = [f"row {i}" for i in range(len(frame))]

    written = minimized(features=["city", "age"]).fit(frame).transform(frame)

    pd.testing.assert_index_equal(written.index, frame.index)
    pd.testing.assert_series_equal(written["shoe"], frame["shoe"])
    assert written.dtypes.equals(frame.dtypes)
    assert frame["age"].nunique() > 2, "the caller's rows stay unchanged"


def test_numbers_out_of_range_go_to_the_nearest_and_unseen_categories_are_an_error():
    minimizer = minimized().fit(people())
    new = people(3).with_columns(age=pl.Series([3, 120, 40]), shoe=pl.Series([-1.0, 0.0, 1e9]))

    ages = minimizer.transform(new)["age"].to_list()

    assert ages[0] < 40 <= ages[1] == ages[2]
    with pytest.raises(SchemaError, match="'city' has 3 cells") as caught:
        minimizer.transform(new.with_columns(city=pl.lit("canary")))
    assert "canary" not in str(caught.value)


def test_unseen_categories_may_join_the_commonest_group():
    minimizer = minimized(unseen="commonest").fit(people())
    parts = minimizer.generalizations_["city"].parts

    written = minimizer.transform(people(3).with_columns(city=pl.Series(["canary", None, "oslo"])))

    commonest = max(parts, key=lambda part: part.share).representative
    assert written["city"].to_list()[:2] == [commonest] * 2
    assert written["city"][2] in {"oslo", "bergen"}


def letters(n=3000, seed=0):
    """Rows of which a model needs each letter, and hardly the number."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"letter": rng.choice(list("ABCDEFGH"), n), "x": rng.normal(size=n)})


class Letters:
    """A model in which each letter has an answer of its own; what isn't one of them has none."""

    def predict(self, rows):
        letter = to_polars(rows).to_series(0).cast(pl.String)
        return letter.fill_null("none").to_numpy()


CALLERS = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "categories": lambda frame: frame.to_pandas().astype({"letter": "category"}),
    "pyarrow": lambda frame: frame.to_arrow(),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("caller", CALLERS.values(), ids=CALLERS)
@pytest.mark.parametrize("cell", ["A ", "Z", "a", None])
def test_unseen_categories_of_unchanged_columns_are_an_error_or_the_commonest(caller, cell):
    """Respelled letters took the predictions that were kept from 1.0 to .088."""
    fitted = Minimizer(Letters(), target_accuracy=0.98, random_state=0).fit(caller(letters()))
    new = letters(50, seed=1).with_columns(
        letter=pl.when(pl.int_range(50) < 9).then(pl.lit(cell)).otherwise("letter")
    )

    assert fitted.generalizations_.unchanged == ("letter",)
    with pytest.raises(SchemaError, match="'letter' has 9 cells"):
        fitted.transform(caller(new))
    fitted.unseen = "commonest"
    written = to_polars(fitted.transform(caller(new)))["letter"].cast(pl.String)

    commonest = letters()["letter"][search_rows(3000)].value_counts(sort=True)["letter"][0]
    assert written.to_list() == [commonest] * 9 + new["letter"][9:].to_list()


def search_rows(n):
    """The rows that the search saw: those that the documented share leaves, by the state."""
    return np.random.default_rng(0).permutation(n)[round(n * 0.4) :]


def test_a_missing_number_of_an_unchanged_column_is_unseen_too():
    """Others stay what they are, also between and beyond the fitted ones."""
    rng = np.random.default_rng(0)
    fit = np.stack([rng.integers(0, 8, 3000).astype(float), rng.normal(size=3000)], axis=1)
    fitted = Minimizer(lambda rows: rows[:, 0] % 8, target_accuracy=0.98, random_state=0).fit(fit)
    assert fitted.generalizations_.unchanged == ("x0",)

    with pytest.raises(SchemaError, match="'x0' has 1 cells"):
        fitted.transform(np.array([[np.nan, 0.0], [3.5, 0.0]]))
    fitted.unseen = "commonest"
    written = fitted.transform(np.array([[np.nan, 0.0], [3.5, 0.0], [99.0, 0.0]]))

    assert written[0, 0] in range(8)
    assert written[1:, 0].tolist() == [3.5, 99.0]


def test_columns_outside_of_the_features_are_not_looked_at():
    """Such as a free text, of which each one is new."""
    fitted = minimized(features=["age"]).fit(people())

    written = fitted.transform(people(3).with_columns(city=pl.lit("canary")))

    assert written["city"].to_list() == ["canary"] * 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"features": ["agee"]}, "Did you mean 'age'"),
        ({"categorical": [7]}, "not in the table"),
        ({"kinds": {"shoo": "numeric"}}, "not in the table"),
        ({"hierarchies": {"town": Groups({"a": ["b"]})}}, "not in the table"),
    ],
)
def test_a_column_that_is_not_there(arguments, says):
    with pytest.raises(ColumnNotFoundError, match=says):
        minimized(**arguments).fit(people(100))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"target_accuracy": 1.5}, "target_accuracy"),
        ({"target_accuracy": float("nan")}, "target_accuracy"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
        ({"validation_fraction": 1}, "validation_fraction"),
        ({"confidence": 0.2}, "confidence"),
        ({"random_state": -1}, "random_state"),
        ({"unseen": "nearest"}, "unseen"),
        ({"scoring": "recall"}, "scoring"),
        ({"features": []}, "names no column"),
        ({"estimator": 3}, "predict method"),
        ({"scoring": "accuracy"}, "requires y"),
    ],
)
def test_arguments_that_cannot_be(arguments, says):
    with pytest.raises(ParameterError, match=says):
        minimized().set_params(**arguments).fit(people(100))


def test_one_row_and_one_class():
    with pytest.raises(ParameterError, match="At least 2"):
        minimized().fit(people(1))
    with pytest.raises(DataError, match="the same prediction"):
        minimized().fit(people(100).with_columns(age=pl.lit(70)))


def test_a_target_that_unchanged_rows_miss():
    frame = people(500)
    wrong = np.where(np.arange(500) % 4 == 0, "yes", "no")

    with pytest.raises(GuaranteeNotMetError, match=r"misses the target_accuracy of 0\.9"):
        minimized(scoring="accuracy", target_accuracy=0.9).fit(frame, wrong)


@pytest.mark.parametrize(
    ("n", "target", "says"),
    [(50, 0.98, "takes 149 validation rows"), (800, 1.0, "Nothing coarser was sure")],
)
def test_what_cannot_be_validated_stays_unchanged(n, target, says):
    frame = people(n)
    minimizer = minimized(target_accuracy=target).fit(frame)

    assert minimizer.generalizations_.unchanged == ("age", "city", "shoe")
    assert minimizer.ncp_ == 0.0
    assert minimizer.transform(frame).equals(frame)
    assert says in minimizer.sentence


def test_how_many_rows_are_needed_is_stated_for_shares_only():
    # R2 and a score of one's own aren't shares: no number of rows that agree makes them sure.
    rows = np.random.default_rng(0).normal(size=(50, 1))
    model = Minimizer(
        lambda each: 2.5 * each[:, 0], target_accuracy=1.0 - 1e-9, random_state=0
    ).fit(rows)
    assert model.generalizations_.unchanged == ("x0",)
    assert "validation rows" not in model.sentence


def test_clones_keep_the_fitted_model_and_pickles_the_result():
    minimizer = minimized(categorical=["city"], kinds={"age": "numeric"}).fit(people())

    assert clone(minimizer).estimator is minimizer.estimator
    assert clone(minimizer).get_params() == minimizer.get_params()
    again = pickle.loads(pickle.dumps(minimizer))  # noqa: S301 # our own, made above
    assert again.transform(people()).equals(minimizer.transform(people()))

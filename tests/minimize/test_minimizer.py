"""The Minimizer: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    SchemaError,
)
from halfmask.data import Groups
from halfmask.minimize import Minimizer


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
        Minimizer(waves, target_accuracy=0.9, seed=0),
        Minimizer(waves, target_accuracy=0.0, scoring="accuracy", confidence=0.5, seed=0),
    ]
)
def test_scikit_learn_takes_it_for_an_estimator(estimator, check):
    check(estimator)


CITIES = ["rome", "milan", "oslo", "bergen", "lyon", "paris"]
LIBRARIES = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(CITIES, n),
            "shoe": rng.normal(42, 3, n),
        }
    )


class Rule:
    """A model of people that is easily told: 40 and older, or of Norway."""

    def __init__(self):
        self.rows = 0

    def predict(self, rows):
        self.rows += len(rows)
        rows = pl.DataFrame(rows)
        assert rows.columns == ["age", "city", "shoe"]
        old, north = rows["age"] >= 40, rows["city"].cast(pl.String).is_in(["oslo", "bergen"])
        return np.where((old | north).to_numpy(), "yes", "no")


def minimized(**arguments):
    return Minimizer(Rule(), **({"target_accuracy": 0.98, "seed": 0} | arguments))


def places(values, feature):
    """Find the part of each value by what the parts say, without the minimizer's own codes."""
    found = []
    for value in values:
        hits = [
            number
            for number, part in enumerate(feature.parts)
            if (
                value in part.values  # noqa: PD011 # no frame's
                if feature.asked == "groups"
                else (part.low is None or value >= part.low)
                and (part.high is None or value < part.high)
            )
        ]
        assert len(hits) == 1
        found += hits
    return np.array(found)


# --- what it finds ---


def test_it_finds_what_a_rule_needs_and_no_more():
    minimizer = minimized().fit(people())

    found = minimizer.generalizations_
    assert found.text.splitlines()[0] == "age: below 40 / 40 or more"
    assert sorted(sorted(part.values) for part in found["city"].parts) == [
        ["bergen", "oslo"],
        ["lyon", "milan", "paris", "rome"],
    ]
    assert found["shoe"].asked == "not needed"
    assert found.not_needed == ("shoe",)
    assert minimizer.accuracy_ == 1.0
    assert 0.98 < minimizer.accuracy_bound_ < 1
    assert minimizer.bits_[1] < 2.1 < minimizer.bits_[0]
    assert "1 aren't needed, 2 may be coarser" in minimizer.sentence


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_promise_holds_on_rows_never_seen(seed):
    """A tree on noise needs many cuts, so the search has something to go wrong with."""
    rng = np.random.default_rng(seed)
    rows, fresh = rng.normal(size=(3000, 3)), rng.normal(size=(20_000, 3))
    noisy = rows[:, 0] + rows[:, 1] ** 2 + rng.normal(size=3000) > 1
    model = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(rows, noisy)

    minimizer = Minimizer(model, target_accuracy=0.9, seed=seed).fit(rng.normal(size=(3000, 3)))

    kept = (model.predict(minimizer.transform(fresh)) == model.predict(fresh)).mean()
    assert kept > 0.9 - 0.006  # three standard errors of the share of fresh rows
    assert minimizer.accuracy_bound_ >= 0.9
    assert minimizer.bits_[1] < 0.6 * minimizer.bits_[0]


def test_a_lower_target_lets_more_go():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 3))
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(rows, rows.sum(axis=1) > 0)

    lost = [
        Minimizer(model, target_accuracy=target, seed=0).fit(rows).bits_[1]
        for target in (0.99, 0.7)
    ]

    assert lost[0] > 2 * lost[1]


def test_the_parts_are_what_transform_does():
    frame = people()
    minimizer = minimized().fit(frame)

    written = minimizer.transform(frame)

    for name in ("age", "city"):
        feature = minimizer.generalizations_[name]
        expected = [feature.parts[part].representative for part in places(frame[name], feature)]
        assert written[name].to_list() == expected
    assert written["shoe"].n_unique() == 1
    assert minimizer.transform(written).equals(written)


def test_ncp_and_bits_are_those_of_the_definition():
    frame = people()
    minimizer = minimized(validation_fraction=0.4).fit(frame)

    age, city = minimizer.generalizations_["age"], minimizer.generalizations_["city"]
    widths = [39 - 18, 79 - 40]
    by_hand = sum(p.share * w / (79 - 18) for p, w in zip(age.parts, widths, strict=True))
    assert age.ncp == pytest.approx(by_hand)
    assert city.ncp == pytest.approx(sum(part.share * len(part.values) / 6 for part in city.parts))
    assert minimizer.ncp_ == pytest.approx((age.ncp + city.ncp + 1) / 3)
    shares = np.array([part.share for part in city.parts])
    assert city.bits_after == pytest.approx(-(shares * np.log2(shares)).sum())


def test_only_the_named_features_change():
    frame = people()

    for named in (["age"], [0]):
        minimizer = minimized(features=named).fit(frame)
        written = minimizer.transform(frame)

        assert [feature.name for feature in minimizer.generalizations_] == ["age"]
        assert written.drop("age").equals(frame.drop("age"))
        assert written["age"].n_unique() == 2


def test_groups_are_nodes_of_a_hierarchy():
    tree = Groups(
        {"italy": ["rome", "milan"], "norway": ["oslo", "bergen"], "france": ["lyon", "paris"]}
    )

    minimizer = minimized(hierarchies={"city": tree}).fit(people())

    city = minimizer.generalizations_["city"]
    assert sorted(part.label for part in city.parts) == ["france", "italy", "norway"]


def test_numbers_that_are_categories():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 6, 2000), rng.integers(0, 6, 2000)])

    minimizer = Minimizer(
        lambda x: np.isin(x[:, 0], [1, 4]), target_accuracy=0.98, categorical=[0], seed=0
    ).fit(rows)

    parts = minimizer.generalizations_["x0"].parts
    assert sorted(p.values for p in parts) == [(0, 2, 3, 5), (1, 4)]  # noqa: PD011 # no frame's


def test_a_feature_with_thousands_of_values_is_cut_where_the_model_cuts():
    rows = np.random.default_rng(0).lognormal(3, 2, (4000, 1))

    minimizer = Minimizer(lambda x: x[:, 0] > 50, target_accuracy=0.97, seed=0).fit(rows)

    (income,) = minimizer.generalizations_
    assert len(income.parts) <= 3
    assert min(abs(float(part.low or 0) - 50) for part in income.parts[1:]) < 5


def test_regression_keeps_r2_of_its_own_predictions_or_of_the_truth():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(3000, 3))
    truth = np.floor(rows[:, 0] * 4) + 0.01 * rows[:, 1] + rng.normal(0, 0.5, 3000)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, truth)
    own = model.predict(rows)

    by_own = Minimizer(model, target_accuracy=0.95, seed=0).fit(rows)
    by_truth = Minimizer(model, target_accuracy=0.7, scoring="accuracy", seed=0).fit(rows, truth)

    again = model.predict(by_own.transform(rows))
    assert 1 - np.var(own - again) / np.var(own) > 0.95
    assert set(by_own.generalizations_.not_needed) == {"x1", "x2"}
    assert 4 <= len(by_own.generalizations_["x0"].parts) <= 8
    assert 0.7 <= by_truth.accuracy_bound_ < by_truth.accuracy_ < 0.95
    linear = LinearRegression().fit(rows, truth)
    assert Minimizer(linear, target_accuracy=0.9, seed=0).fit(rows).bits_[1] < 6


def test_a_score_of_ones_own():
    def recall(truth, predicted):
        assert set(np.unique(truth)) <= {"yes", "no"}
        return (predicted[truth == "yes"] == "yes").mean()

    minimizer = minimized(scoring=recall, target_accuracy=0.95).fit(people())

    # Who says yes to everybody misses nobody.
    assert len(minimizer.generalizations_.not_needed) == 3
    assert minimizer.accuracy_ == 1.0


def test_scikit_learn_pipelines_and_polars_output():
    frame = people()
    answers = Rule().predict(frame)
    encoder = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=5, random_state=0))
    model.fit(frame, answers)

    minimizer = Minimizer(model, target_accuracy=0.97, seed=1).fit(frame)

    assert (model.predict(minimizer.transform(frame)) == answers).mean() > 0.97
    assert "shoe" in minimizer.generalizations_.not_needed


# --- tables of all kinds ---


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_three_libraries(library):
    turn = LIBRARIES[library]
    frame = turn(people())

    minimizer = minimized().fit(frame)
    written = minimizer.transform(frame)

    assert type(written) is type(frame)
    assert pl.DataFrame(written).equals(minimized().fit_transform(people()))
    assert pl.DataFrame(written).schema == people().schema


def test_pandas_keeps_its_index_and_its_types():
    frame = people().to_pandas().astype({"city": "category", "age": "int32"})
    frame.index = [f"row {i}" for i in range(len(frame))]

    written = minimized(features=["city", "age"]).fit(frame).transform(frame)

    pd.testing.assert_index_equal(written.index, frame.index)
    pd.testing.assert_series_equal(written["shoe"], frame["shoe"])
    assert written.dtypes.equals(frame.dtypes)
    assert frame["age"].nunique() > 2, "the caller's rows stay as they are"


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_not_needed_need_not_be_collected(library):
    turn = LIBRARIES[library]
    minimizer = minimized().fit(turn(people()))

    whole = minimizer.transform(turn(people(50, seed=1)))
    less = minimizer.transform(turn(people(50, seed=1).drop("shoe")))

    assert pl.DataFrame(less).equals(pl.DataFrame(whole))
    with pytest.raises(ValueError, match="feature names"):
        minimizer.transform(turn(people(50).drop("age")))


def test_a_lazy_frame_need_not_have_what_is_not_needed():
    minimizer, less = minimized().fit(people()), people(50, seed=1).drop("shoe")
    assert minimizer.transform(less.lazy()).equals(minimizer.transform(less))


def test_arrays_of_objects():
    rng = np.random.default_rng(0)
    rows = np.empty((2000, 2), dtype=object)
    rows[:, 0], rows[:, 1] = rng.choice(CITIES, 2000), rng.integers(0, 90, 2000).astype(float)

    minimizer = Minimizer(lambda x: x[:, 1] > 50, target_accuracy=0.98, seed=0).fit(rows)
    written = minimizer.transform(rows)

    assert minimizer.generalizations_.not_needed == ("x0",)
    assert (written[:, 1].astype(float) > 50).tolist() == (rows[:, 1].astype(float) > 50).tolist()


@pytest.mark.parametrize("as_given", [np.asarray, lambda rows: pl.DataFrame(rows, ["x0", "x1"])])
def test_missing_cells_are_an_answer(as_given):
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(2500, 2))
    rows[::3, 0] = np.nan

    def model(x):
        first = np.asarray(x)[:, 0]
        return np.where(np.isnan(first), 2, first > 0.5)

    minimizer = Minimizer(model, target_accuracy=0.97, seed=0).fit(as_given(rows))

    parts = minimizer.generalizations_["x0"].parts
    assert parts[-1].label == "missing"
    assert parts[-1].representative is None
    assert np.isnan(np.asarray(minimizer.transform(as_given(rows)))[::3, 0]).all()
    json.loads(minimizer.generalizations_.to_json())


def test_dates_are_cut_by_order():
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2023, 12, 31), eager=True)
    frame = pl.DataFrame({"born": days})

    minimizer = Minimizer(
        lambda rows: (rows["born"].dt.year() >= 2022).to_numpy(), target_accuracy=0.97, seed=0
    ).fit(frame)

    said = json.loads(minimizer.generalizations_.to_json())["features"][0]
    assert said["asked"] == "ranges"
    assert all(part["low"][:2] == "20" for part in said["parts"][1:])
    assert minimizer.transform(frame).schema == frame.schema


# --- new rows ---


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


# --- what it refuses ---


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
        ({"seed": -1}, "seed"),
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


class Broken:
    """A model that goes wrong after so many rows."""

    def __init__(self, after, wrong):
        self.after, self.wrong = after, wrong

    def predict(self, rows):
        self.after -= len(rows)
        found = rows[:, 0] > 0.5
        return found if self.after > 0 else self.wrong(found)


def shout(_):
    raise RuntimeError("canary")


@pytest.mark.parametrize("after", [0, 2500])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (shout, "failed on .* rows .RuntimeError."),
        (lambda found: np.where(found, np.nan, 1.0), "NaN, infinite or missing"),
        (lambda found: np.array([None if f else "canary" for f in found]), "missing"),
        (lambda found: found[:-1], "one prediction for each"),
        (lambda found: np.column_stack([found, found]), "one prediction for each"),
    ],
)
def test_a_model_that_fails_at_once_or_half_way(after, wrong, says):
    rows = np.random.default_rng(0).uniform(size=(1000, 2))

    with pytest.raises(DataError, match=says) as caught:
        Minimizer(Broken(after, wrong), target_accuracy=0.9, seed=0).fit(rows)

    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


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
    ("y", "error", "says"),
    [
        (["yes", "no"], ParameterError, "100 and 2"),
        ([None] * 100, DataError, "100 cells that are missing"),
    ],
)
def test_labels_that_cannot_be(y, error, says):
    with pytest.raises(error, match=says):
        minimized(scoring="accuracy").fit(people(100), np.array(y, dtype=object))


def test_a_scoring_function_that_fails_quotes_nothing():
    def loud(truth, said):
        raise ValueError(f"xqcanary: {truth}, {said}")

    failed = r"'scoring' function of Minimizer failed on \d+ rows \(ValueError\)"
    with pytest.raises(DataError, match=failed) as caught:
        minimized(scoring=loud, target_accuracy=0.9).fit(people(100))
    assert "xqcanary" not in str(caught.value)


def test_texts_beside_a_regression_are_refused_without_one():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    model = Minimizer(
        lambda each: 2.5 * each[:, 0], target_accuracy=0.9, scoring="accuracy", seed=0
    )
    with pytest.raises(DataError, match=r"predicts numbers, and y holds something else") as caught:
        model.fit(rows, ["xqcanary"] * 100)
    assert "xqcanary" not in str(caught.value)


@pytest.mark.parametrize(
    ("n", "target", "says"),
    [(50, 0.98, "takes 149 validation rows"), (800, 1.0, "Nothing coarser was sure")],
)
def test_what_cannot_be_promised_stays_as_it_is(n, target, says):
    frame = people(n)
    minimizer = minimized(target_accuracy=target).fit(frame)

    assert minimizer.generalizations_.as_they_are == ("age", "city", "shoe")
    assert minimizer.ncp_ == 0.0
    assert minimizer.transform(frame).equals(frame)
    assert says in minimizer.sentence


def test_how_many_rows_are_needed_is_said_of_shares_only():
    # R2 and a score of one's own aren't shares: no number of rows that agree makes them sure.
    rows = np.random.default_rng(0).normal(size=(50, 1))
    model = Minimizer(lambda each: 2.5 * each[:, 0], target_accuracy=1.0 - 1e-9, seed=0).fit(rows)
    assert model.generalizations_.as_they_are == ("x0",)
    assert "validation rows" not in model.sentence


# --- a value ---


def test_what_is_printed_holds_no_value():
    found = minimized().fit(people()).generalizations_

    for shown in (repr(found), str(found), repr(found["city"]), repr(found["city"].parts)):
        assert "oslo" not in shown
        assert "40" not in shown
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'city'"):
        found["citi"]


def test_clones_keep_the_fitted_model_and_pickles_the_result():
    minimizer = minimized(categorical=["city"], kinds={"age": "numeric"}).fit(people())

    assert clone(minimizer).estimator is minimizer.estimator
    assert clone(minimizer).get_params() == minimizer.get_params()
    again = pickle.loads(pickle.dumps(minimizer))  # noqa: S301 # our own, made above
    assert again.transform(people()).equals(minimizer.transform(people()))


def test_the_same_seed_gives_the_same_result_and_asks_few_questions():
    one, two = minimized().fit(people()), minimized().fit(people())

    assert one.generalizations_.to_dict() == two.generalizations_.to_dict()
    assert one.estimator.rows < 40 * 3000


def test_a_regression_that_answers_texts_quotes_none():
    class Wordy(RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
        def predict(self, rows):
            return np.array(["xqcanary"] * len(rows))

    with pytest.raises(DataError, match=r"gave no numbers \(ValueError\)") as caught:
        Minimizer(Wordy(), target_accuracy=0.9, seed=0).fit(np.arange(400.0).reshape(200, 2))
    assert "xqcanary" not in str(caught.value)

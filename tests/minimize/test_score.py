"""Scores of coarser rows: of predictions, of the truth, and of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from halfmask._errors import (
    DataError,
    ParameterError,
)
from halfmask.minimize import Minimizer
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    minimized,
    people,
)


@pytest.mark.slow
def test_regression_keeps_r2_of_its_own_predictions_or_of_the_truth():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(3000, 3))
    truth = np.floor(rows[:, 0] * 4) + 0.01 * rows[:, 1] + rng.normal(0, 0.5, 3000)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, truth)
    own = model.predict(rows)

    by_own = Minimizer(model, target_accuracy=0.95, random_state=0).fit(rows)
    by_truth = Minimizer(model, target_accuracy=0.7, scoring="accuracy", random_state=0).fit(
        rows, truth
    )

    again = model.predict(by_own.transform(rows))
    assert 1 - np.var(own - again) / np.var(own) > 0.95
    assert set(by_own.generalizations_.not_needed) == {"x1", "x2"}
    assert 4 <= len(by_own.generalizations_["x0"].parts) <= 8
    assert 0.7 <= by_truth.accuracy_bound_ < by_truth.accuracy_ < 0.95
    linear = LinearRegression().fit(rows, truth)
    assert Minimizer(linear, target_accuracy=0.9, random_state=0).fit(rows).bits_[1] < 6


@pytest.mark.slow
def test_a_score_of_ones_own():
    def recall(truth, predicted):
        assert set(np.unique(truth)) <= {"yes", "no"}
        return (predicted[truth == "yes"] == "yes").mean()

    minimizer = minimized(scoring=recall, target_accuracy=0.95).fit(people())

    # Who says yes to everybody misses nobody.
    assert len(minimizer.generalizations_.not_needed) == 3
    assert minimizer.accuracy_ == 1.0


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

"""The search lets go of what the model doesn't need, and of no more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask.minimize import Minimizer
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    minimized,
    people,
)


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
def test_a_lower_target_lets_more_go():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 3))
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(rows, rows.sum(axis=1) > 0)

    lost = [
        Minimizer(model, target_accuracy=target, random_state=0).fit(rows).bits_[1]
        for target in (0.99, 0.7)
    ]

    assert lost[0] > 2 * lost[1]


def test_only_the_named_features_change():
    frame = people()

    for named in (["age"], [0]):
        minimizer = minimized(features=named).fit(frame)
        written = minimizer.transform(frame)

        assert [feature.name for feature in minimizer.generalizations_] == ["age"]
        assert written.drop("age").equals(frame.drop("age"))
        assert written["age"].n_unique() == 2


def test_a_feature_with_thousands_of_values_is_cut_where_the_model_cuts():
    rows = np.random.default_rng(0).lognormal(3, 2, (4000, 1))

    minimizer = Minimizer(lambda x: x[:, 0] > 50, target_accuracy=0.97, random_state=0).fit(rows)

    (income,) = minimizer.generalizations_
    assert len(income.parts) <= 3
    assert min(abs(float(part.low or 0) - 50) for part in income.parts[1:]) < 5


def test_the_same_seed_gives_the_same_result_and_asks_few_questions():
    one, two = minimized().fit(people()), minimized().fit(people())

    assert one.generalizations_.to_dict() == two.generalizations_.to_dict()
    assert one.estimator.rows < 40 * 3000

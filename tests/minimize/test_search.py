"""The search lets go of what the model doesn't need, and of no more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask.minimize import Minimizer
from halfmask.minimize._search import AnswerCache, CachedKeys, _AnswersByKey
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result_and_asks_few_questions():
    one, two = minimized().fit(people()), minimized().fit(people())

    assert one.generalizations_.to_dict() == two.generalizations_.to_dict()
    assert one.estimator.rows < 40 * 3000


def test_answers_are_the_models_and_each_row_is_asked_once(monkeypatch):
    monkeypatch.setattr(_AnswersByKey, "SMALL", 20)
    asked: list[tuple[int, ...]] = []

    def model(codes):
        asked.extend(map(tuple, codes.T.tolist()))
        return (10.0 * codes[0] + codes[1]) % 7

    rng = np.random.default_rng(0)
    cache = AnswerCache(model, CachedKeys([9, 9], random_state=0))
    for _ in range(30):
        codes = rng.integers(0, 9, (2, 25))
        np.testing.assert_array_equal(cache(codes), (10.0 * codes[0] + codes[1]) % 7)

    assert len(asked) == len(set(asked)) == 81


def test_a_full_cache_forgets_and_asks_again(monkeypatch):
    monkeypatch.setattr(_AnswersByKey, "SMALL", 4)
    monkeypatch.setattr(_AnswersByKey, "MOST", 8)
    cache = AnswerCache(lambda codes: codes[0] * 2.0, CachedKeys([500], random_state=1))

    for start in range(0, 480, 10):
        codes = np.arange(start, start + 20)[None, :]
        np.testing.assert_array_equal(cache(codes), codes[0] * 2.0)


def test_keys_move_with_one_column():
    rng = np.random.default_rng(0)
    keys, codes = CachedKeys([5, 6, 7], random_state=0), rng.integers(0, 5, (3, 100))
    moved = codes.copy()
    moved[1] = rng.integers(0, 6, 100)

    there = keys.of(codes) + keys.moved(1, codes[1], moved[1])

    np.testing.assert_array_equal(there, keys.of(moved))
    assert len(np.unique(keys.of(codes))) == len(np.unique(codes, axis=1).T)

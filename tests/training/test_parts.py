"""Parts: what models of some rows know of others, and what tells of their own."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask.training._parts import (
    _told,
    _told_by_label,
    guides_of_parts,
    known_as_they_are,
    known_of_parts,
    more_by_chance,
    parts_of,
    with_fewer,
)
from halfmask.training._trials import Judge

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 3))
LABELS = (ROWS[:, 0] + 0.5 * RNG.normal(size=400) > 0).astype(int)
CLASSES = np.argsort(np.argsort(ROWS[:, 0])) // 40
POINTS = np.array([[ROWS[each == CLASSES, 0].mean()] for each in range(10)])
FIRST = np.array([True, False, False])
TREE = DecisionTreeClassifier(random_state=0)


def judge(estimator, depends=FIRST, labels=LABELS):
    return Judge(
        estimator=estimator,
        encoded=ROWS,
        labels=labels,
        depends=depends,
        guarantees=[hm.KAnonymity(k=40)],
        seed=0,
    )


def halves(of):
    return parts_of(of, 2)


def known(estimator, labels=LABELS, learned=None, points=POINTS, depends=FIRST):
    of = judge(estimator, depends, labels)
    first, second = halves(of)
    learned = labels if learned is None else learned
    return known_of_parts(of, points, CLASSES, learned, pairs=[(first, second), (second, first)])


def test_parts_are_alike_in_labels_and_have_every_row_once():
    parts = parts_of(judge(LogisticRegression()), 5)
    assert sorted(np.concatenate(parts).tolist()) == list(range(400))
    shares = [LABELS[part].mean() for part in parts]
    assert max(shares) - min(shares) < 0.02
    numbers = halves(judge(LinearRegression(), labels=ROWS[:, 0]))
    assert [len(part) for part in numbers] == [200, 200]


def test_a_label_of_too_few_rows_is_in_some_parts():
    labels = LABELS.copy()
    labels[0] = 2
    first, second = halves(judge(LogisticRegression(), labels=labels))
    assert sorted([*first, *second]) == list(range(400))
    assert (0 in first) != (0 in second)
    each = parts_of(judge(LogisticRegression(), labels=np.arange(400)), 2)
    assert [len(part) for part in each] == [200, 200]


def models_of_halves(estimator=TREE, labels=LABELS):
    """Yield the rows that a model learned, those that it didn't, and the model."""
    first, second = halves(judge(estimator))
    for own, other in ((first, second), (second, first)):
        written = ROWS[own].copy()
        written[:, 0] = POINTS[CLASSES[own], 0]
        yield own, other, clone(estimator).fit(written, labels[own])


def test_the_score_is_of_rows_that_were_not_learned():
    right = sum(
        (tree.predict(ROWS[other]) == LABELS[other]).sum() for _, other, tree in models_of_halves()
    )
    assert known(DecisionTreeClassifier(random_state=0)).score == pytest.approx(right / 400)


def test_the_gap_is_how_much_better_learned_rows_are_known():
    right = sum(
        (tree.predict(ROWS[own]) == LABELS[own]).sum()
        - (tree.predict(ROWS[other]) == LABELS[other]).sum()
        for own, other, tree in models_of_halves()
    )
    found = known(DecisionTreeClassifier(random_state=0))
    assert found.gap == pytest.approx(right / 400)
    assert found.gap > 0.02


def test_rows_as_they_are_are_learned_as_they_are():
    of = judge(RandomForestClassifier(10, random_state=0))
    first, second = halves(of)
    right = 0
    for own, other in ((first, second), (second, first)):
        model = RandomForestClassifier(10, random_state=0).fit(ROWS[own], LABELS[own])
        right += sum(model.predict(ROWS[other]) == LABELS[other])
    found = known_as_they_are(of, pairs=[(first, second), (second, first)])
    assert found.score == pytest.approx(right / 400)
    assert found.by_heart > known(RandomForestClassifier(10, random_state=0)).by_heart


def test_by_heart_is_the_best_threshold_of_an_attack():
    forest = RandomForestClassifier(10, random_state=0)
    learned: list[float] = []
    others: list[float] = []
    for own, other, model in models_of_halves(forest):
        for places, into in ((own, learned), (other, others)):
            said = model.predict_proba(ROWS[places])
            into += [1 - said[row, LABELS[place]] for row, place in enumerate(places)]
    assert known(forest).by_heart == pytest.approx(best_threshold(learned, others), abs=0.006)


def best_threshold(learned, others):
    learned, others = sorted(learned), sorted(others)
    return max(
        bisect_right(learned, cut) / len(learned) - bisect_right(others, cut) / len(others)
        for cut in [*learned, *others]
    )


def test_by_label_is_the_best_threshold_for_each_true_label():
    """Whatever labels were learned: some are exchanged, and whoever attacks knows the true ones."""
    given = LABELS.copy()
    given[:60] = 1 - given[:60]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    learned: dict[int, list[float]] = {0: [], 1: []}
    others: dict[int, list[float]] = {0: [], 1: []}
    for own, other, model in models_of_halves(tree, given):
        for places, into in ((own, learned), (other, others)):
            said = model.predict_proba(ROWS[places])
            for row, place in enumerate(places):
                into[LABELS[place]].append(1 - said[row, LABELS[place]])
    told = sum(
        len(learned[label]) / 400 * best_threshold(learned[label], others[label])
        for label in learned
    )
    both = halves(judge(tree))
    pairs = [both, both[::-1]]
    found = known_of_parts(judge(tree), POINTS, CLASSES, given, pairs=pairs)
    assert found.by_label == pytest.approx(told, abs=1e-9)
    assert found.by_label > found.by_heart


def test_who_learns_all_whom_it_is_asked_about_adds_nothing_to_what_is_told():
    of = judge(DecisionTreeClassifier(max_depth=4, random_state=0))
    everyone, (first, second) = np.arange(400), halves(of)
    pairs = [(first, second), (second, first)]
    alone = known_of_parts(of, POINTS, CLASSES, LABELS, pairs=pairs)
    beside = known_of_parts(of, POINTS, CLASSES, LABELS, pairs=[(everyone, everyone), *pairs])
    assert (beside.by_heart, beside.by_label) == (alone.by_heart, alone.by_label)
    assert beside.score > alone.score


def test_who_loses_more_of_one_label_is_told_by_a_threshold_for_each():
    labels = np.arange(100) < 50
    learned, others = np.where(labels, 0.8, 0.1), np.where(labels, 0.9, 0.2)
    assert _told(learned, others) == pytest.approx(0.5), "one threshold tells one label's"
    assert _told_by_label(learned, others, labels, labels) == pytest.approx(1.0)
    rare = np.arange(100) < 10
    others = np.where(rare, 0.9, 0.1)
    learned = np.where(rare, 0.8, 0.1)
    assert _told_by_label(learned, others, rare, rare) == pytest.approx(0.1), "by its share"
    assert _told_by_label(learned[:10], others[10:], rare[:10], rare[10:]) == 0, "none to compare"


def test_chance_tells_more_by_thresholds_for_more_labels():
    """By what losses that know nothing tell, on average, of rows that nobody learned."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), [400, 150, 100, 100, 50, 50, 50, 50, 30, 20])
    told = []
    for _ in range(100):
        learned, others = rng.random((2, 1000))
        each = _told_by_label(learned, others, labels, labels)
        told.append(each - _told_by_label(learned, others, labels > 0, labels > 0))
    assert more_by_chance(labels) == pytest.approx(np.mean(told), rel=0.15)
    assert more_by_chance(labels) > 0.03
    assert more_by_chance(np.array(["no"] * 70 + ["yes"] * 930)) == 0, "of two labels no more"
    assert more_by_chance(np.zeros(50)) == 0


def test_numbers_have_no_label_to_tell_them_by():
    numbers = np.random.default_rng(0).normal(size=400)
    found = known(DecisionTreeRegressor(random_state=0), labels=numbers)
    assert found.by_label == found.by_heart > 0.1


def test_who_learns_by_heart_tells_more_than_who_does_not():
    noise = np.random.default_rng(1).integers(0, 2, 400)
    neighbours = known(KNeighborsClassifier(1), labels=noise).by_heart
    plain = known(DecisionTreeClassifier(max_depth=1), labels=noise).by_heart
    assert neighbours > 0.1 > plain


def test_only_members_of_both_halves_are_told_from_others():
    of = judge(KNeighborsClassifier(1))
    everyone = np.arange(400)
    pairs = [(everyone, everyone.copy())]
    assert known_of_parts(of, POINTS, CLASSES, LABELS, pairs=pairs).by_heart == 0


def test_where_all_columns_are_written_nothing_is_known_by_heart():
    points = np.array([ROWS[each == CLASSES].mean(axis=0) for each in range(10)])
    found = known(KNeighborsClassifier(1), points=points, depends=np.ones(3, dtype=bool))
    assert found.by_heart == 0
    of = judge(DecisionTreeClassifier(random_state=0))
    everyone = np.arange(400)
    alike = known_of_parts(of, POINTS, CLASSES, LABELS, pairs=[(everyone, everyone)])
    assert alike.gap == found.gap == 0
    assert alike.by_heart == 0  # nobody is left to be told from
    assert alike.score == pytest.approx(of.trained(POINTS, CLASSES).score(ROWS, LABELS))


def test_other_labels_are_learned_and_the_rows_own_count():
    found = known(LogisticRegression())
    turned = known(LogisticRegression(), learned=1 - LABELS)
    assert turned.score == pytest.approx(1 - found.score, abs=0.02)


def test_a_label_that_a_part_lacks_is_a_loss():
    labels = LABELS.copy()
    labels[:50] = 2
    of = judge(DecisionTreeClassifier(random_state=0), labels=labels)
    rest = np.arange(50, 400)
    found = known_of_parts(of, POINTS, CLASSES, labels, pairs=[(rest, np.arange(50))])
    assert found.score == 0


def test_numbers_are_judged_by_squared_errors():
    numbers = 3 * ROWS[:, 0] + ROWS[:, 1] + RNG.normal(size=400)
    deep, plain = (
        known(DecisionTreeRegressor(max_depth=depth, random_state=0), labels=numbers)
        for depth in (None, 2)
    )
    assert 0.3 < deep.score < 1
    assert deep.by_heart > 2 * plain.by_heart


def test_a_model_that_cannot_learn_a_part_knows_nothing():
    class Choosy(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            if len(X) < 300:
                raise ValueError("too few members")
            return super().fit(X, y)

    found = known(Choosy())
    assert (found.score, found.by_heart, found.by_label, found.gap) == (-np.inf, 1, 1, 0)


def test_a_model_is_judged_by_the_labels_that_it_gives():
    eager = FixedThresholdClassifier(
        DecisionTreeClassifier(max_depth=2, random_state=0),
        threshold=0.05,
        response_method="predict_proba",
    )
    of = judge(eager)
    first, second = halves(of)
    right = 0
    for own, other in ((first, second), (second, first)):
        model = clone(eager).fit(of.written(POINTS, CLASSES)[own], LABELS[own])
        right += int((model.predict(ROWS[other]) == LABELS[other]).sum())
    assert known(eager).score == pytest.approx(right / 400)


def test_rows_that_are_known_worse_when_learned_tell_nothing():
    class Contrary(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            return super().fit(X, 1 - y)

    noise = np.random.default_rng(1).integers(0, 2, 400)
    assert known(Contrary(random_state=0), labels=noise).by_heart < 0.1
    assert known(DecisionTreeClassifier(random_state=0), labels=noise).by_heart > 0.1


def test_points_that_fit_no_class_are_a_defect_and_no_bad_lesson():
    for points in (POINTS[:5], np.hstack([POINTS, POINTS])):
        with pytest.raises((IndexError, ValueError)):
            known(DecisionTreeClassifier(random_state=0), points=points)


def test_what_cannot_be_scored_comes_last():
    class Blank(DecisionTreeRegressor):  # type: ignore[misc] # scikit-learn ships no types
        def predict(self, X):
            return np.full(len(X), np.nan)

    found = known(Blank(), labels=ROWS[:, 0])
    assert found.score == -np.inf
    assert found.by_heart == 1


def test_what_gives_no_numbers_for_rows_that_it_learned_is_not_known():
    class Coy(DecisionTreeRegressor):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            self.learned_ = X[0, 1]
            return super().fit(X, y)

        def predict(self, X):
            return np.where(X[:, 1] == self.learned_, np.nan, super().predict(X))

    found = known(Coy(random_state=0), labels=ROWS[:, 0])
    assert (found.score, found.by_heart, found.by_label, found.gap) == (-np.inf, 1, 1, 0)


def guide_of(of, *parts):
    said = guides_of_parts(of, [*parts])
    assert said is not None
    return said


def test_a_guide_of_a_part_has_never_seen_the_others():
    of = judge(DecisionTreeClassifier(max_depth=2, random_state=0))
    first, second = halves(of)
    said = guide_of(of, first, second)
    turned = LABELS.copy()
    turned[second] = 1 - turned[second]
    other = judge(DecisionTreeClassifier(max_depth=2, random_state=0), labels=turned)
    assert np.array_equal(guide_of(other, first, second)[first], said[first])
    assert not np.array_equal(guide_of(other, first, second)[second], said[second])
    assert (said.argmax(axis=1) == LABELS).mean() > 0.7


def test_a_part_that_lacks_a_label_or_has_one_row_of_it_has_no_guide():
    labels = LABELS.copy()
    labels[0] = 2
    everyone = np.arange(400)
    of = judge(DecisionTreeClassifier(), labels=labels)
    assert guides_of_parts(of, [everyone[:200], everyone[200:]]) is None
    labels[:3] = 2
    of = judge(DecisionTreeClassifier(), labels=labels)
    assert guides_of_parts(of, [everyone[:200], everyone[200:]]) is None


def test_parts_of_which_models_say_more_or_less_have_no_guide(drops_rare_labels):
    tree = drops_rare_labels(3)()
    everyone = np.arange(len(LABELS))
    parts = [everyone[:200], everyone[200:]]
    several = (ROWS[:, 0] > 0).astype(int)
    several[:6] = several[200:206] = 2  # four of them for each model
    assert guides_of_parts(judge(tree, labels=several), parts) is not None
    several[203:206] = 0  # two, which are dropped
    assert guides_of_parts(judge(tree, labels=several), parts) is None


def test_numbers_are_no_labels_and_have_a_guide():
    """Each number stands in one row, as numbers do."""
    of = judge(DecisionTreeRegressor(max_depth=2, random_state=0), labels=np.arange(400.0))
    first, second = np.arange(200), np.arange(200, 400)
    said = guides_of_parts(of, [first, second])
    assert said is not None
    assert said[first].max() < 200 <= said[second].min(), "each by numbers of its own part"


def test_only_what_looks_for_the_likely_has_fewer_members():
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(100))
    assert with_fewer(forest)[-1].n_estimators == 33
    assert forest[-1].n_estimators == 100
    assert with_fewer(RandomForestClassifier(np.int64(2))).n_estimators == 1
    assert with_fewer(DecisionTreeClassifier(max_depth=7)).max_depth == 7
    # boosting on histograms counts its members by what counts steps elsewhere
    assert with_fewer(HistGradientBoostingClassifier(max_iter=31)).max_iter == 10
    assert with_fewer(LogisticRegression(max_iter=31)).max_iter == 31
    both = make_pipeline(PCA(), HistGradientBoostingRegressor(max_iter=6))
    assert with_fewer(both)[-1].max_iter == 2

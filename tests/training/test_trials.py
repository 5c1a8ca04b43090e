"""Trials: losses against what a model said, ties, and what is known by heart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import GuaranteeNotMetError
from halfmask.training._trials import Judge, Trial, best_of

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 3))
LABELS = (ROWS[:, 0] + 0.5 * RNG.normal(size=400) > 0).astype(int)
CLASSES = np.argsort(np.argsort(ROWS[:, 0])) // 40
POINTS = np.array([[ROWS[each == CLASSES, 0].mean()] for each in range(10)])
FIRST = np.array([True, False, False])


def judge(estimator, depends=FIRST, labels=LABELS, k=40):
    return Judge(
        estimator=estimator,
        encoded=ROWS,
        labels=labels,
        depends=depends,
        guarantees=[hm.KAnonymity(k=k)],
        seed=0,
    )


def trial(name, losses, gap=0.0):
    losses = np.asarray(losses, dtype=float)
    return Trial(
        name=name,
        points=POINTS,
        model=None,
        losses=losses,
        score=1 - losses.mean(),
        gap=gap,
    )


def test_rows_are_written_by_their_points_and_counted_again():
    written = judge(LogisticRegression()).written(POINTS, CLASSES)
    assert np.array_equal(written[:, 0], POINTS[CLASSES, 0])
    assert np.array_equal(written[:, 1:], ROWS[:, 1:])
    with pytest.raises(GuaranteeNotMetError):
        judge(LogisticRegression(), k=41).written(POINTS, CLASSES)


def test_of_several_points_rows_are_written_once_with_each():
    several = np.stack([POINTS, POINTS + 100, POINTS + 200])
    written = judge(LogisticRegression()).written(several, CLASSES)
    for copy, points in zip(np.split(written, 3), several, strict=True):
        assert np.array_equal(copy[:, 0], points[CLASSES, 0])
        assert np.array_equal(copy[:, 1:], ROWS[:, 1:])


def test_of_several_points_those_are_counted_who_have_all_in_common():
    """Three copies of 40 people are 40; who shares one point but not the other is told apart."""
    several = np.stack([POINTS, POINTS + 100, POINTS + 200])
    with pytest.raises(GuaranteeNotMetError):
        judge(LogisticRegression(), k=41).written(several, CLASSES)
    with pytest.raises(GuaranteeNotMetError):  # 80 rows of each point, of 40 people
        judge(LogisticRegression(), k=41).written(np.stack([POINTS, POINTS]), CLASSES)
    judge(LogisticRegression(), k=40).written(np.stack([POINTS, POINTS]), CLASSES)
    first_shared = np.stack([np.zeros_like(POINTS), POINTS])
    with pytest.raises(GuaranteeNotMetError):
        judge(LogisticRegression(), k=41).written(first_shared, CLASSES)
    judge(LogisticRegression(), k=400).written(np.zeros((2, *POINTS.shape)), CLASSES)


def test_a_model_of_several_points_learns_each_row_with_each_of_them():
    several = np.stack([POINTS, POINTS + 100])
    model = judge(LogisticRegression()).trained(several, CLASSES)
    rows = [np.column_stack([points[CLASSES, 0], ROWS[:, 1:]]) for points in several]
    again = LogisticRegression().fit(np.vstack(rows), np.r_[LABELS, LABELS])
    assert np.array_equal(model.coef_, again.coef_)


def test_losses_are_of_rows_as_they_were():
    found = judge(LogisticRegression()).trial("it", POINTS, CLASSES)
    wrong = [found.model.predict(row[None])[0] != y for row, y in zip(ROWS, LABELS, strict=True)]
    assert found.losses.tolist() == [float(each) for each in wrong]
    assert found.score == pytest.approx(found.model.score(ROWS, LABELS))
    numbers = 3 * ROWS[:, 0] + ROWS[:, 1]
    found = judge(LinearRegression(), labels=numbers).trial("it", POINTS, CLASSES)
    assert found.score == pytest.approx(found.model.score(ROWS, numbers))


def test_the_best_wins_without_gaps_and_the_quietest_of_equals_with_them():
    right, wrong = np.zeros(1000), np.ones(1000)
    close = right.copy()
    close[:3] = 1.0
    other = right.copy()
    other[3:5] = 1.0
    assert best_of([trial("a", close), trial("b", other), trial("c", wrong)]).name == "b"
    quiet = [trial("loud", other, gap=0.02), trial("quiet", close, gap=0.0)]
    assert best_of(quiet).name == "quiet"
    noisy = [trial("much better", right, gap=0.05), trial("worse", wrong, gap=0.0)]
    assert best_of(noisy).name == "much better"


def test_what_is_not_a_number_is_beaten_by_all():
    nothing = trial("nothing", np.full(10, np.nan))
    assert best_of([nothing, trial("bad", np.ones(10))]).name == "bad"
    assert best_of([nothing, nothing]).name == "nothing"


def test_a_model_that_learns_rows_by_heart_has_a_gap_and_a_plain_one_has_none():
    noise = np.random.default_rng(1).integers(0, 2, 400)
    knowing = judge(KNeighborsClassifier(1), labels=noise)
    (found,) = knowing.with_gaps([knowing.trial("it", POINTS, CLASSES)], CLASSES)
    assert found.gap > 0.1
    assert found.score == pytest.approx(1 - found.losses.mean() - found.gap)
    plain = judge(DecisionTreeClassifier(max_depth=1), labels=LABELS)
    (found,) = plain.with_gaps([plain.trial("it", POINTS, CLASSES)], CLASSES)
    assert found.gap == 0


def test_where_classes_share_all_columns_nothing_is_known_by_heart():
    points = np.stack([ROWS[each == CLASSES].mean(axis=0) for each in range(10)])
    everything = judge(KNeighborsClassifier(1), depends=np.ones(3, dtype=bool))
    (found,) = everything.with_gaps([everything.trial("it", points, CLASSES)], CLASSES)
    assert found.gap == 0


def test_a_label_of_one_row_leaves_the_gap_unknown():
    labels = LABELS.copy()
    labels[0] = 2
    single = judge(KNeighborsClassifier(1), labels=labels)
    (found,) = single.with_gaps([single.trial("it", POINTS, CLASSES)], CLASSES)
    assert found.gap == 0

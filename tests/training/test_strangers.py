"""Strangers: halves whose classes are their own, and what pretence is told by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask.training import AnonymizedEstimator, _in_steps, _strangers
from halfmask.training._parts import parts_of
from halfmask.training._strangers import surely_above_nothing, teaches_strangers_more

if TYPE_CHECKING:
    from halfmask.training._lessons import Lesson

SEVERAL = "spread over 4 points"


def people(n, steepness, seed=0):
    """Two numbers of four say the label, by chance or nearly for sure."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    chance = 1 / (1 + np.exp(-steepness * (rows[:, 0] + rows[:, 1] / 2)))
    return rows, (rng.random(n) < chance).astype(int)


NOISY, CLEAR = 1.0, 12.0


@pytest.fixture
def lessons(monkeypatch):
    """Fit, and return its lessons, the best first, before any is called pretence."""

    def of(estimator, rows, y, k=20, **settings) -> list[Lesson]:
        found: list[Lesson] = []
        every = _in_steps._without_pretence

        def remembered(judged, by_heart, *, seed):
            found[:] = _in_steps._in_order(judged, by_heart)
            return every(judged, by_heart, seed=seed)

        monkeypatch.setattr(_in_steps, "_without_pretence", remembered)
        AnonymizedEstimator(estimator, guarantees=[hm.KAnonymity(k=k)], **settings).fit(rows, y)
        return found

    return of


def best_of_each_kind(found):
    several = next(each for each in found if each.is_of_several)
    return several, next(each for each in found if not each.is_of_several)


TREE: Any = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)


@pytest.mark.slow
def test_pretence_is_told_from_what_teaches(lessons):
    """Both look better by the rows that they learned; only one is, by 20,000 others."""
    verdicts = {}
    for steepness, k in ((NOISY, 5), (CLEAR, 20)):
        several, one = best_of_each_kind(lessons(TREE, *people(1500, steepness), k=k))
        assert several.score > one.score, "by the rows that they learned"
        others, truth = people(20_000, steepness, seed=1)
        judge = replace(several.classes.judge, encoded=others, labels=truth)
        right = [
            1.0 - judge.losses(model, np.arange(len(truth))).mean()
            for model in (
                each.classes.judge.trained(each.points, each.classes.rows.classes)
                for each in (several, one)
            )
        ]
        verdicts[steepness] = (
            right[0] > right[1],
            teaches_strangers_more(several, one, seed=0),
        )
    assert verdicts == {NOISY: (False, False), CLEAR: (True, True)}


def test_what_each_model_learns_is_of_its_own_half_alone(lessons):
    """Labels are numbers of rows, so that it can be seen whose a model learned."""
    rows, _ = people(400, CLEAR)
    y = np.arange(400.0)
    several, one = best_of_each_kind(lessons(DecisionTreeRegressor(random_state=0), rows, y))
    halves = parts_of(one.classes.judge, 2)
    learned, asked = [], []

    class Seen(DecisionTreeRegressor):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            learned.append(np.unique(y))
            return super().fit(X, y)

        def predict(self, X):
            asked.append([int(np.flatnonzero((encoded == row).all(axis=1))[0]) for row in X])
            return super().predict(X)

    encoded = one.classes.judge.encoded
    pair = [
        replace(each, classes=replace(each.classes, judge=judge, whole=whole))
        for each, judge, whole in (
            (
                each,
                replace(each.classes.judge, estimator=Seen()),
                replace(each.classes.whole, estimator=Seen()),
            )
            for each in (several, one)
        )
    ]
    teaches_strangers_more(pair[0], pair[1], seed=0)
    assert len(learned) == len(asked) == 4
    for place, (whose, about) in enumerate(zip(learned, asked, strict=True)):
        own, others = halves[:: 1 if place < 2 else -1]
        assert np.array_equal(whose, np.sort(own))
        assert np.array_equal(about, others)


def test_where_it_cannot_be_asked_it_is_not_said(lessons):
    several, one = best_of_each_kind(lessons(TREE, *people(900, CLEAR)))
    assert teaches_strangers_more(several, one, seed=0)
    fewer = one.classes.kept.copy()
    fewer[0] = False
    assert not teaches_strangers_more(
        several, replace(one, classes=replace(one.classes, kept=fewer)), seed=0
    )
    for lesson in ("no such", SEVERAL):
        pair = [several, replace(one, recipe="no such")]
        assert not teaches_strangers_more(*(pair if lesson == SEVERAL else pair[::-1]), seed=0)

    class Choosy(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            if len(X) < 900:
                raise ValueError("too few members")
            return super().fit(X, y)

    whole = replace(one.classes.whole, estimator=Choosy())
    assert not teaches_strangers_more(
        several, replace(one, classes=replace(one.classes, whole=whole)), seed=0
    )


def test_where_halves_cannot_keep_the_guarantees_classes_get_one_point(lessons):
    """Of 900 rows two halves are a class of k = 450 each, and of k = 451 none."""
    several, one = best_of_each_kind(lessons(TREE, *people(900, CLEAR), k=20))
    assert teaches_strangers_more(several, one, seed=0)
    for k in (450, 451):
        pair = []
        for each in (several, one):
            made = replace(each.classes.whole.anonymizing, guarantees=[hm.KAnonymity(k=k)])
            whole = replace(each.classes.whole, anonymizing=made)
            pair.append(replace(each, classes=replace(each.classes, whole=whole)))
        assert not teaches_strangers_more(*pair, seed=0)


def test_a_model_that_cannot_be_asked_about_others_makes_no_difference():
    """60 neighbours of 100 rows learn 50, but can't predict by them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 3))
    numbers = rows[:, 0] * 3 + rows[:, 1]
    guarantees = [hm.KAnonymity(k=5)]
    model = AnonymizedEstimator(KNeighborsRegressor(60), guarantees=guarantees).fit(rows, numbers)
    assert model.more_points_.shape[0] == 0
    beside = AnonymizedEstimator(
        KNeighborsRegressor(60), guarantees=guarantees, quasi_identifiers=[0, 1]
    )
    assert np.isfinite(beside.fit(rows, numbers).predict(rows)).all()


def said_of(lesson):
    return lesson.classes.whole.guidance.said


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["fitted", "labels", "given"])
def test_classes_of_a_half_know_no_label_of_the_other_though_the_guide_does(
    lessons, guide, monkeypatch
):
    """The other half's labels are turned round: classes of the own half stay."""
    rows, y = people(400, NOISY)
    given = np.column_stack([1.0 - y, y]) if guide == "given" else guide
    found = lessons(TREE, rows, y, guide=given)
    led_by_rows = [each for each in found if each.classes.led.guide is said_of(each)]
    several, one = best_of_each_kind(led_by_rows)
    own, others = parts_of(one.classes.judge, 2)
    made: list[Any] = []
    every = type(one.classes).of_part

    def remembered(classes, places, said=None):
        found = every(classes, places, said)
        made.append((places, found.rows.classes, found.rows.guide))
        return found

    monkeypatch.setattr(type(one.classes), "of_part", remembered)
    monkeypatch.setattr(
        _strangers, "parts_of", lambda *_: [own, others]
    )  # alike in either's labels

    def with_labels(labels):
        pair = []
        for each in (several, one):
            classes = each.classes
            said = classes.whole.guidance.said.copy()
            said[own] = said[own][::-1]  # as it might, had it learned other labels
            whole = classes.whole
            if labels is not y:
                guidance = replace(whole.guidance, said=said)
                led = classes.led
                if led.guide is whole.guidance.said:
                    led = replace(led, guide=said)
                whole = replace(whole, labels=labels, guidance=guidance)
                classes = replace(classes, whole=whole, led=led)
            judge = replace(classes.judge, labels=labels)
            pair.append(replace(each, classes=replace(classes, judge=judge)))
        teaches_strangers_more(*pair, seed=0)
        firsts = [each for each in made if np.array_equal(each[0], own)]
        made.clear()
        return firsts

    turned = y.copy()
    turned[others] = 1 - turned[others]
    before, after = with_labels(y), with_labels(turned)
    assert len(before) == len(after) > 0
    for (_, cells, said), (_, others_cells, others_said) in zip(before, after, strict=True):
        assert np.array_equal(cells, others_cells)
        assert np.array_equal(said, others_said)


def test_a_column_that_is_the_same_for_all_tells_nobody_apart(monkeypatch):
    asked: list[int] = []

    def counted(*_given, **_named):
        asked.append(1)
        return False

    monkeypatch.setattr(_in_steps, "teaches_strangers_more", counted)
    rows, y = people(900, CLEAR)
    same = np.column_stack([rows, np.ones(len(rows))])
    for by_heart in (0.0, 0.5):
        asked.clear()
        model = AnonymizedEstimator(TREE, guarantees=[hm.KAnonymity(k=20)], by_heart=by_heart)
        model.fit(same, y)
        assert asked
        assert model.more_points_.shape[0] == 0


def test_more_than_a_standard_error_is_sure_and_less_is_not():
    saved = np.array([1.0, -1.0] * 50)
    error = saved.std() / 10
    assert surely_above_nothing(saved + 1.01 * error)
    assert not surely_above_nothing(saved + 0.99 * error)
    assert not surely_above_nothing(saved - 1.01 * error)
    assert not surely_above_nothing(np.full(100, np.nan))


@pytest.mark.parametrize(("says", "wins"), [(True, True), (False, False)])
def test_what_strangers_say_decides(monkeypatch, says, wins):
    monkeypatch.setattr(_in_steps, "teaches_strangers_more", lambda *_given, **_named: says)
    rows, y = people(900, CLEAR)
    model = AnonymizedEstimator(TREE, guarantees=[hm.KAnonymity(k=20)]).fit(rows, y)
    assert (model.representative_ == SEVERAL) is wins
    assert any(name.startswith(SEVERAL) for name in model.trials_) is wins


def test_of_many_rows_the_best_of_each_kind_are_compared(monkeypatch, lessons):
    monkeypatch.setattr(_in_steps, "MANY", 100)
    found = lessons(TREE, *people(900, CLEAR))
    kinds = [each.is_of_several for each in found]
    assert kinds.count(True) == _in_steps.BEST_OF_SEVERAL
    assert kinds.count(False) == _in_steps.BEST


@pytest.mark.slow
def test_several_points_predict_more_strangers_than_one_and_chance_makes_no_difference():
    """Mean over seeds: with clear labels it is better, with noise hardly worse."""
    gained = {}
    for steepness, k in ((CLEAR, 30), (NOISY, 5)):
        right: list[list[float]] = []
        for seed in range(4):
            rows, y = people(900, steepness, seed=seed)
            others, truth = people(5000, steepness, seed=seed + 100)
            if steepness == CLEAR:  # two columns together, which takes a tree many cuts
                y, truth = (each[:, 0] * each[:, 1] > 0 for each in (rows, others))
            guarantees = [hm.KAnonymity(k=k)]
            chosen = AnonymizedEstimator(TREE, guarantees=guarantees).fit(rows, y)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_in_steps, "teaches_strangers_more", lambda *_a, **_b: False)
                one = AnonymizedEstimator(TREE, guarantees=guarantees).fit(rows, y)
            right.append([chosen.score(others, truth), one.score(others, truth)])
        gained[steepness] = float(np.diff(np.mean(right, axis=0)[::-1])[0])
    assert gained[CLEAR] > 0.003
    assert gained[NOISY] > -0.01

"""Several points for a class: where they are tried, what is handed out, and that they teach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask.training import AnonymizedEstimator, _estimator, _in_steps, _several
from halfmask.training._lessons import lessons_of
from halfmask.training._several import parts_its_rows, several_points
from halfmask.training._spread import spread_over

if TYPE_CHECKING:
    from halfmask.training._lessons import Lesson

K = 60
NAMES = ["a", "b", "c", "other", "another"]
SMALL: Any = DecisionTreeClassifier(max_depth=3, random_state=0)


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5))
    y = (2 * (rows[:, 0] > 0) + rows[:, 3] + rng.normal(size=n) > 1).astype(int)
    return pl.DataFrame(rows, schema=NAMES), y


def fitted(estimator=SMALL, quasi_identifiers=("a", "b", "c"), y=None, **settings):
    rows, labels = people()
    guarantees = settings.pop("guarantees", [hm.KAnonymity(k=K)])
    model = AnonymizedEstimator(
        estimator, guarantees=guarantees, quasi_identifiers=list(quasi_identifiers), **settings
    )
    return model.fit(rows, labels if y is None else y), rows, labels


def tried(model):
    return any(name.startswith("spread over 4 points") for name in model.trials_)


@pytest.fixture
def every_lesson(monkeypatch):
    """Return all lessons of all fits."""
    seen: list[Lesson] = []
    every = lessons_of

    def remembered(*given, **named):
        for each in every(*given, **named):
            seen.append(each)
            yield each

    monkeypatch.setattr(_in_steps, "lessons_of", remembered)
    return seen


@pytest.fixture
def only_several(monkeypatch):
    every = lessons_of

    def those(*given, **named):
        return (each for each in every(*given, **named) if each.points.ndim > 2)

    monkeypatch.setattr(_in_steps, "lessons_of", those)


@pytest.mark.slow
def test_they_are_tried_where_little_is_told_of_rows():
    tree = DecisionTreeClassifier(random_state=0)
    assert tried(fitted()[0]), "it tells little"
    assert tried(fitted(tree, by_heart=0.0)[0]), "only accuracy counts"
    assert not tried(fitted(tree)[0]), "it would know its rows better"
    assert not tried(fitted(SMALL, NAMES)[0]), "it would be judged by rows that it learned"
    assert tried(fitted(DecisionTreeRegressor(max_depth=3), y=people()[0]["a"].to_numpy())[0])


@pytest.mark.slow
def test_of_larger_tables_a_class_gets_one_point(monkeypatch):
    monkeypatch.setattr(_several, "MOST_NUMBERS", 4 * 900 * 5 - 1)
    assert not tried(fitted()[0])
    monkeypatch.setattr(_several, "MOST_NUMBERS", 4 * 900 * 5)
    assert tried(fitted()[0])


@pytest.mark.slow
def test_points_that_are_all_alike_are_one(every_lesson):
    fitted()
    classes = every_lesson[0].classes
    alone = np.zeros_like(classes.rows.encoded)
    assert several_points(classes, seed=0) is not None
    assert (
        several_points(replace(classes, rows=replace(classes.rows, encoded=alone)), seed=0) is None
    )


BOOSTING = HistGradientBoostingClassifier


@pytest.mark.parametrize(
    ("estimator", "rows", "parts"),
    [
        (BOOSTING(), 10_000, False),
        (BOOSTING(), 10_001, True),
        (BOOSTING(early_stopping=False), 10_001, False),
        (BOOSTING(early_stopping=True), 100, True),
        (make_pipeline(FunctionTransformer(), BOOSTING()), 10_001, True),
        (make_pipeline(FunctionTransformer(), BOOSTING(early_stopping=False)), 10_001, False),
        (GradientBoostingClassifier(), 100, False),
        (GradientBoostingClassifier(n_iter_no_change=3), 100, True),
        (RandomForestClassifier(), 100, False),
        (RandomForestClassifier(oob_score=True), 100, True),
        (GridSearchCV(SMALL, {"max_depth": [2]}), 100, True),
        (CalibratedClassifierCV(SMALL), 100, True),
        (SMALL, 100, False),
    ],
)
def test_who_holds_rows_back_gets_one_point(estimator, rows, parts):
    assert parts_its_rows(estimator, rows) is parts


def test_who_holds_rows_back_is_asked_of_all_copies(monkeypatch, every_lesson):
    """900 rows are 3,600 with four points."""
    fitted()
    classes = every_lesson[0].classes
    judge = replace(classes.judge, estimator=BOOSTING())
    for stops_early, there in ((3_599, False), (3_600, True)):
        monkeypatch.setattr(_several, "STOPS_EARLY", stops_early)
        assert (several_points(replace(classes, judge=judge), seed=0) is not None) is there


@pytest.mark.slow
@pytest.mark.usefixtures("only_several")
@pytest.mark.parametrize("names", [("a",), ("a", "b", "c")])
def test_the_model_is_one_of_the_rows_that_are_handed_out(names):
    model, rows, y = fitted(SMALL, names)
    assert model.representative_ == "spread over 4 points"
    written, labels = model.fit_protect(rows, y)
    assert written.shape == (4 * len(y), 5)
    assert np.array_equal(labels, np.tile(y, 4))
    assert np.array_equal(written[: len(y)], model.transform(rows))
    assert np.array_equal(written[: len(y)], model.fit_transform(rows, y))
    assert model.more_points_.shape == (3, *model.points_.shape)
    depends = model.encoder_.depends_
    copies = np.split(written, 4)
    for copy, points in zip(copies[1:], model.more_points_, strict=True):
        assert np.array_equal(copy[:, depends], points[model.anonymizer_.cells_])
        assert np.array_equal(copy[:, ~depends], copies[0][:, ~depends])
    together = np.hstack([copy[:, depends] for copy in copies])
    assert np.unique(together, axis=0, return_counts=True)[1].min() >= K
    again = DecisionTreeClassifier(max_depth=3, random_state=0).fit(written, labels)
    assert np.array_equal(*(each.predict(model.encode(rows)) for each in (again, model.model_)))


def test_where_classes_have_one_point_there_are_no_more():
    model, rows, y = fitted(representative="spread")
    assert model.more_points_.shape == (0, *model.points_.shape)
    assert len(model.fit_protect(rows, y)[0]) == len(y)


@pytest.mark.usefixtures("only_several")
def test_guarantees_on_the_label_are_judged_by_all_points_together(monkeypatch):
    """Classes that share their first points, but not the others, are told apart by these."""
    every = spread_over

    def with_one_first(rows, points, *, seed):
        found = every(rows, points, seed=seed)
        found[0] = found[0][:1]
        return found

    judged = []

    def remembered(written, *_given, **_named):
        judged.append(len(np.unique(written, axis=0)))

    monkeypatch.setattr(_several, "spread_over", with_one_first)
    monkeypatch.setattr(_estimator, "judge_again", remembered)
    model, _, _ = fitted()
    assert len(np.unique(model.points_, axis=0)) == 1
    assert judged == [len(model.points_)]


@pytest.mark.slow
@pytest.mark.usefixtures("only_several")
def test_l_and_t_hold_in_every_copy():
    promised = [hm.KAnonymity(k=20), hm.EntropyLDiversity(l=1.3, column="label")]
    model, rows, y = fitted(guarantees=promised)
    written, labels = model.fit_protect(rows, y)
    for copy in np.split(np.column_stack([written[:, :3], labels]), 4):
        _, classes = np.unique(copy[:, :3], axis=0, return_inverse=True)
        for cell in range(classes.max() + 1):
            shares = np.bincount(copy[classes.ravel() == cell, 3].astype(int), minlength=2)
            shares = shares[shares > 0] / shares.sum()
            assert np.exp(-(shares * np.log(shares)).sum()) >= 1.3 - 1e-9


@pytest.mark.usefixtures("only_several")
def test_of_suppressed_rows_there_are_no_copies(monkeypatch):
    monkeypatch.setattr(_in_steps, "_tells", lambda _: False)
    model, rows, y = fitted(max_suppression_fraction=0.2, method=hm.anonymize.Mondrian())
    left = int((model.anonymizer_.cells_ >= 0).sum())
    written, labels = model.fit_protect(rows, y)
    assert len(written) == len(labels) == 4 * left


@pytest.mark.slow
def test_they_teach_boosting_more_of_the_same_classes_than_one_point_does(
    monkeypatch, every_lesson
):
    """Of people who weren't there, mean over three k and all partitions; labels are noisy."""
    monkeypatch.setattr(
        _in_steps, "_judged", lambda lessons: [replace(each, by_heart=0.0) for each in lessons]
    )
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 4))
    chance = 1 / (1 + np.exp(-3 * (rows[:, 0] * rows[:, 1] > 0) + 1.5 - rows[:, 3]))
    y = (rng.random(6000) < chance).astype(int)
    right: dict[str, list[float]] = {"spread": [], "spread over 4 points": []}
    boosting = BOOSTING(max_iter=20, max_depth=3, early_stopping=False, random_state=0)
    for k in (25, 60, 150):
        every_lesson.clear()
        AnonymizedEstimator(
            boosting, guarantees=[hm.KAnonymity(k=k)], quasi_identifiers=[0, 1, 2]
        ).fit(rows[:2000], y[:2000])
        for each in every_lesson:
            if each.name in right:
                classes = each.classes.rows.classes
                model = each.classes.judge.trained(each.points, classes)
                right[each.name].append(float(model.score(rows[2000:], y[2000:])))
    one, several = map(np.mean, right.values())
    assert several > one + 0.003

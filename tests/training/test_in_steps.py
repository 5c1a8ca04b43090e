"""Models that answer in steps: what they are taught, and that the winner is what was trained."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import halfmask as hm
from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.training import AnonymizedEstimator, _in_steps, _lessons, guidance
from halfmask.training._encoding import as_table
from halfmask.training._exchanged import exchanged
from halfmask.training._in_steps import _in_order, _pairs, _tells, _trained
from halfmask.training._lessons import Lesson, lessons_of
from halfmask.training._parts import Known, guides_of_parts, known_of_parts, parts_of

K = 60


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5))
    y = (2 * (rows[:, 0] > 0) + rows[:, 3] + rng.normal(size=n) > 1).astype(int)
    return pl.DataFrame(rows, schema=["a", "b", "c", "other", "another"]), y


def fitted(estimator, quasi_identifiers=("a", "b", "c"), y=None, **settings):
    rows, labels = people()
    model = AnonymizedEstimator(
        estimator,
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=list(quasi_identifiers),
        **settings,
    )
    return model.fit(rows, labels if y is None else y), rows, labels


@pytest.mark.slow
def test_boxes_of_groups_and_scattered_values_are_tried_and_none_is_refined():
    model, rows, _ = fitted(RandomForestClassifier(20, random_state=0))
    names = {name.partition(", led")[0] for name in model.trials_}
    assert {"box", "centroid", "median", "spread", "at the cuts"} <= names
    assert "record" not in names, "nobody's row is written for others unless asked for"
    assert any(name.startswith("box of ") for name in names)
    assert any(name.startswith("scattered in ") for name in names)
    assert any("led by labels" in name for name in model.trials_)
    assert not any("refined" in name or "unconfounded" in name for name in names)
    assert model.representative_ in names
    written = model.transform(rows)[:, :3]
    assert np.unique(written, axis=0, return_counts=True)[1].min() >= K


@pytest.mark.slow
def test_a_tree_is_trained_on_what_won():
    # by such a guide no labels are exchanged
    model, rows, y = fitted(DecisionTreeClassifier(random_state=0), guide="fitted")
    again = DecisionTreeClassifier(random_state=0).fit(model.fit_transform(rows, y), y)
    assert np.array_equal(*(each.predict(model.encode(rows)) for each in (again, model.model_)))


@pytest.mark.slow
def test_where_all_columns_are_recoded_nothing_is_scattered():
    model, _, _ = fitted(
        RandomForestClassifier(20, random_state=0), ("a", "b", "c", "other", "another")
    )
    assert not any("scattered" in name for name in model.trials_)


def test_for_a_lone_tree_grown_to_the_end_nothing_is_scattered():
    model, _, _ = fitted(DecisionTreeClassifier(random_state=0))
    assert not any("scattered" in name for name in model.trials_)


def taught(*lessons, classes_only=False):
    """Return lessons of which models of all rows know what is said, in that order.

    And those that were trained.
    """
    known = {name: own for name, own, _ in lessons}
    trained: list[str] = []

    def train(points, _classes, _labels):
        trained.append(points)
        return points

    judge = SimpleNamespace(
        trained=train,
        losses=lambda model, _places: np.array([1 - known[model]]),
        score=lambda loss: 1 - loss,
        labels=[0],
        sees_classes_only=classes_only,
    )
    classes = SimpleNamespace(judge=judge, rows=SimpleNamespace(classes=np.zeros(1, dtype=int)))
    found: Any = [
        replace(lesson(name, 0.95, 0.03), points=name, classes=classes, **of_it)
        for name, _, of_it in lessons
    ]
    return found, trained


@pytest.mark.parametrize(
    ("second", "won"),
    [
        ({"gap": 0.03}, "second"),
        ({"gap": 0.051}, "first"),  # it knows more by heart
        ({"gap": 0.03, "score": 0.931}, "second"),
        ({"gap": 0.03, "score": 0.929}, "first"),  # models of halves say so
        ({"gap": 0.03, "by_heart": 0.049}, "second"),
        ({"gap": 0.03, "by_heart": 0.051}, "first"),  # it tells more than it is better by
        ({"gap": 0.05}, "first"),  # of equals the one that models of halves know best
    ],
)
def test_what_a_model_of_all_rows_knows_counts_as_much_as_what_models_of_halves_know(second, won):
    both, trained = taught(("first", 0.97, {"gap": 0.03}), ("second", 0.99, second))
    winner, model = _trained(both, 0.5, asked=7)
    assert winner.name == model == won
    assert trained == ["first", "second"], "each once"


def test_a_model_that_says_no_number_wins_over_none():
    both, _ = taught(("first", np.nan, {}), ("second", 0.5, {}))
    assert _trained(both, 0.5, asked=7)[0].name == "second"
    both, _ = taught(("first", 0.5, {}), ("second", np.nan, {}))
    assert _trained(both, 0.5, asked=7)[0].name == "first"


def test_of_lessons_that_models_of_halves_cannot_learn_the_first_is_tried():
    """So that its own error says why."""
    nothing = {"score": -np.inf, "by_heart": 1.0}
    both, trained = taught(("first", 0.9, nothing), ("second", 0.99, nothing))
    assert _trained(both, 0.5, asked=7) == (both[0], "first")
    assert trained == ["first"]
    both, trained = taught(("first", 0.9, {}), ("second", 0.99, nothing))
    assert _trained(both, 0.5, asked=7)[0].name == "first"
    assert trained == ["first"]


def test_models_of_all_rows_are_asked_of_the_best_few_alone():
    names = [str(number) for number in range(9)]
    several, trained = taught(*((name, 0.9, {}) for name in names[:-1]), (names[-1], 0.99, {}))
    assert _trained(several, 0.5, asked=7)[0].name == "0"
    assert trained == names[:7]
    assert _trained(several[2:], 0.5, asked=7)[0].name == "8"


def test_where_models_know_classes_only_they_have_been_asked():
    both, trained = taught(("first", 0.9, {}), ("second", 0.99, {}), classes_only=True)
    assert _trained(both, 0.5, asked=7) == (both[0], "first")
    assert trained == ["first"]


class Limited(GradientBoostingClassifier):  # type: ignore[misc] # scikit-learn ships no types
    """Learns so many rows, and no more."""

    most = 2_000

    def fit(self, X, y):
        if len(X) > self.most:
            raise ValueError("too many rows")
        return super().fit(X, y)


@pytest.mark.slow
def test_who_cannot_learn_all_rows_several_times_learns_them_once(monkeypatch):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(1_000, 5))
    y = (2 * (numbers[:, 0] > 0) + numbers[:, 3] + rng.normal(size=1_000) > 1).astype(int)
    rows = pl.DataFrame(numbers, schema=list("abcde"))

    def trained():
        return AnonymizedEstimator(
            Limited(n_estimators=10, max_depth=2, random_state=0),
            guarantees=[hm.KAnonymity(k=20)],
            quasi_identifiers=["a", "b", "c"],
        ).fit(rows, y)

    limited = trained()
    assert len(limited.more_points_) == 0
    asked = [name for name in limited.trials_ if "4 points" in name]
    assert max(limited.trials_[name] for name in asked) > 0, "models of halves could learn them"
    monkeypatch.setattr(Limited, "most", 4_000)
    assert len(trained().more_points_) == 3


def test_where_none_of_several_points_can_be_learned_the_best_of_one_is(monkeypatch):
    def refused(each):
        if each.is_of_several:
            raise DataError("Limited couldn't be fitted to 4 rows.")
        return f"model of {each.name}"

    monkeypatch.setattr(_in_steps, "_of_all_rows", refused)
    lessons, _ = taught(("several", 0.9, {}), ("other", 0.9, {}), ("one", 0.9, {}))
    points = (np.zeros((4, 1, 1)), np.zeros((4, 1, 1)), np.zeros((1, 1)))
    lessons = [replace(each, points=of_it) for each, of_it in zip(lessons, points, strict=True)]
    assert _trained(lessons, 0.5, asked=2) == (lessons[2], "model of one")
    with pytest.raises(DataError, match="Limited"):
        _trained(lessons[:2], 0.5, asked=2)


def test_what_can_never_be_learned_in_full_is_an_error(monkeypatch):
    def refused(each):
        raise DataError(f"{each.name} couldn't be fitted to 4 rows.")

    monkeypatch.setattr(_in_steps, "_of_all_rows", refused)
    lessons, _ = taught(("first", 0.9, {}), ("second", 0.9, {}))
    lessons = [replace(each, points=np.zeros((1, 1))) for each in lessons]
    with pytest.raises(DataError, match="first couldn't"):
        _trained(lessons, 0.5, asked=2)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fit", "predict"])
@pytest.mark.parametrize("failing", [1, 3])
def test_what_fails_to_learn_all_rows_once_is_an_error(monkeypatch, way, failing):
    rows, _ = people()
    times: list[int] = []
    before: list[int] = []

    class Failing(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            self.in_full_ = len(X) == len(rows)
            if self.in_full_:
                times.append(1)
                if way == "fit" and before and len(times) - before[0] == failing:
                    raise ValueError("no")
            return super().fit(X, y)

        def predict(self, X):
            if way == "predict" and self.in_full_ and len(times) - before[0] == failing:
                raise ValueError("no")
            return super().predict(X)

    def trained(lessons, cost, *, asked):
        before.append(len(times))
        return choose(lessons, cost, asked=asked)

    choose = _in_steps._trained
    monkeypatch.setattr(_in_steps, "_trained", trained)
    with pytest.raises(DataError, match=f"couldn't .* {len(rows)} rows"):
        fitted(Failing(random_state=0))
    assert len(times) - before[0] == failing


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(5, random_state=0),
        DecisionTreeRegressor(random_state=0),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("others", ["none", "some"])
def test_quasi_identifiers_that_all_have_alike_leave_nothing_to_be_recoded(estimator, others):
    rows, y = interplay(n=300)
    alike = rows.with_columns(a=pl.lit(1.0), b=pl.lit("x"))
    alike = alike.select("a", "b") if others == "none" else alike
    model = AnonymizedEstimator(
        estimator, guarantees=[hm.KAnonymity(k=20)], quasi_identifiers=["a", "b"]
    ).fit(alike, y)
    assert model.points_.shape[-1] == 0
    if others == "some":
        assert model.score(alike, y) > clone(model).fit(alike.select("a", "b"), y).score(
            alike.select("a", "b"), y
        )


@pytest.mark.slow
def test_of_few_rows_the_best_ten_are_asked_of_who_is_hidden_or_grown_to_the_end(monkeypatch):
    limits: list[int] = []

    def trained(lessons, cost, *, asked):
        assert len(lessons) > asked
        limits.append(asked)
        return choose(lessons, cost, asked=asked)

    choose = _in_steps._trained
    monkeypatch.setattr(_in_steps, "_trained", trained)
    fitted(DecisionTreeClassifier(random_state=0))
    fitted(RandomForestClassifier(5, random_state=0))
    fitted(DecisionTreeClassifier(random_state=0), by_heart=0.0)
    assert limits == [10, 10, 10]
    fitted(RandomForestClassifier(5, random_state=0), by_heart=0.0)
    fitted(DecisionTreeClassifier(max_depth=3, random_state=0))
    assert limits[3:] == [7, 7]


@pytest.fixture
def judged(monkeypatch):
    """Return all lessons that were judged, once models were fitted."""
    seen: list[Lesson] = []
    every = _in_steps._trained

    def remembered(lessons, by_heart, *, asked):
        seen.extend(lessons)
        return every(lessons, by_heart, asked=asked)

    monkeypatch.setattr(_in_steps, "_trained", remembered)
    return seen


@pytest.mark.slow
def test_what_models_of_halves_know_better_of_their_own_is_kept_with_a_lesson(judged):
    fitted(RandomForestClassifier(5, random_state=0))
    one = judged[0]
    cells = one.classes.rows.classes
    pairs = _pairs(one.classes)
    known = known_of_parts(one.classes.judge, one.points, cells, one.of_halves, pairs=pairs)
    assert one.gap == known.gap > 0
    assert one.own is None


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["labels", "cross-fitted"])
def test_what_wins_is_what_is_best_by_models_of_all_rows_too(judged, guide):
    """Said again, model by model."""
    tree = DecisionTreeClassifier(max_depth=7, random_state=0)
    model, rows, y = fitted(tree, guide=guide)
    encoded, worth = model.encode(rows), {}
    for each in judged[:10]:
        cost = 0.5 * max(each.by_label - 0.0475, 0.0)
        classes = each.classes.rows.classes
        of_all = each.classes.judge.trained(each.points, classes, each.labels)
        strangers = np.mean(of_all.predict(encoded) == y) - each.gap
        worth[each.name, each.classes.name] = (each.score + strangers) / 2 - cost
    best = max(worth, key=lambda name: worth[name])
    assert (model.representative_, model.led_by_) == best
    if guide == "labels":
        assert best != (judged[0].name, judged[0].classes.name), "not by models of halves alone"
    else:
        assert any("exchanged" in name for name, _ in worth)


def test_who_refuses_to_learn_halves_may_tell_and_who_sees_points_only_tells_nothing(judged):
    class Choosy(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            if len(X) < 500:
                raise ValueError("too few members")
            return super().fit(X, y)

    fitted(DecisionTreeClassifier(max_depth=1, random_state=0))
    classes = judged[0].classes
    assert not _tells(classes)
    choosy = replace(classes, judge=replace(classes.judge, estimator=Choosy()))
    assert _tells(choosy)
    every = np.ones_like(classes.judge.depends)
    assert not _tells(replace(choosy, judge=replace(choosy.judge, depends=every)))


@pytest.mark.slow
def test_a_model_that_tells_only_once_its_rows_are_recoded_is_hidden(monkeypatch, judged):
    asked: set[bool] = set()
    every = lessons_of

    def remembered(classes, seed, *, scatter, **how):
        asked.add(scatter)
        return every(classes, seed, scatter=scatter, **how)

    monkeypatch.setattr(_in_steps, "lessons_of", remembered)
    rows, _ = people()
    y = (np.floor(rows["a"].to_numpy()) % 2).astype(int)  # which k takes away
    model = AnonymizedEstimator(
        GradientBoostingClassifier(n_estimators=20, max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=300)],
        quasi_identifiers=["a", "b", "c"],
    ).fit(rows, y)
    assert not _tells(judged[0].classes)
    assert asked == {False, True}
    assert any("exchanged" in name for name in model.trials_)
    assert {each.free for each in judged} == {0.0475}


@pytest.mark.slow
def test_where_a_model_tells_little_of_rows_as_they_are_nothing_is_done_to_hide_them():
    quiet, loud = (
        [*fitted(DecisionTreeClassifier(max_depth=depth, random_state=0))[0].trials_]
        for depth in (3, 8)
    )
    for change in ("scattered", "exchanged"):
        assert any(change in name for name in loud)
        assert not any(change in name for name in quiet)
    assert any(name.startswith("box of ") for name in quiet)


@pytest.mark.slow
def test_what_tells_little_costs_from_six_hundredths_on(judged):
    fitted(DecisionTreeClassifier(max_depth=3, random_state=0))
    assert {each.free for each in judged} == {0.06}
    judged.clear()
    fitted(DecisionTreeClassifier(random_state=0))
    assert {each.free for each in judged} == {0.03}
    assert not any(each.each_label for each in judged)
    judged.clear()
    fitted(RandomForestClassifier(5, random_state=0))
    assert {each.free for each in judged} == {0.0475}, "of who votes by a threshold for each label"
    assert all(each.told == each.by_label for each in judged)
    judged.clear()
    fitted(RandomForestRegressor(5, random_state=0))
    assert {each.free for each in judged} == {0.03}
    assert not any(each.each_label for each in judged)
    told = [replace(lesson(*each), free=0.06) for each in [("a", 0.9, 0.06), ("b", 0.91, 0.081)]]
    assert [each.worth(1.0) for each in told] == pytest.approx([0.9, 0.889])


def test_regression_exchanges_no_labels():
    rows, _ = people()
    y = 2 * (rows["a"].to_numpy() > 0) + rows["other"].to_numpy()
    model, _, _ = fitted(DecisionTreeRegressor(random_state=0), y=y)
    assert not any("exchanged" in name for name in model.trials_)
    assert model.score(rows, y) > 0.5


def test_guarantees_on_the_label_hold_beside_k():
    rows, y = people()
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=K), hm.EntropyLDiversity(l=1.2, column="label")],
        quasi_identifiers=["a", "b", "c"],
    ).fit(rows, y)
    assert all(judgement.holds for judgement in model.judgements_)


def lesson(name, score, by_heart):
    nothing, nobody = np.empty((0, 0)), cast("Any", None)
    return Lesson(
        name=name,
        recipe=name,
        classes=nobody,
        points=nothing,
        labels=nothing,
        of_halves=nothing,
        score=score,
        by_heart=by_heart,
    )


@pytest.mark.parametrize(
    ("by_heart", "lessons", "order"),
    [
        (0.25, [("a", 0.900, 0.13), ("b", 0.895, 0.02)], "ba"),  # half a point for not being known
        (0.25, [("a", 0.900, 0.13), ("b", 0.870, 0.02)], "ab"),  # three points are too many
        (0.0, [("a", 0.900, 0.13), ("b", 0.899, 0.02)], "ab"),  # only accuracy counts
        (1.0, [("a", 0.900, 0.13), ("b", 0.830, 0.02)], "ba"),
        (1.0, [("a", 0.900, 0.03), ("b", 0.899, 0.00)], "ab"),  # so little is free
        (1.0, [("a", 0.900, 0.05), ("b", 0.8815, 0.03)], "ba"),  # of five hundredths two cost
        (1.0, [("a", 0.900, 0.02), ("b", 0.900, 0.01)], "ba"),  # of equals who tells least
        (0.25, [("a", -np.inf, 1.0), ("b", 0.5, 0.1)], "ba"),  # what can't be scored comes last
    ],
)
def test_what_is_known_by_heart_is_taken_off_a_score(by_heart, lessons, order):
    found = _in_order([lesson(*each) for each in lessons], by_heart)
    assert "".join(each.name for each in found) == order


def test_of_equals_the_one_that_tells_least_by_what_counts_comes_first():
    loud, quiet = (
        replace(lesson(name, 0.9, by_heart), by_label=by_label, each_label=True, free=0.05)
        for name, by_heart, by_label in (("loud", 0.01, 0.04), ("quiet", 0.02, 0.03))
    )
    assert _in_order([loud, quiet], 0.5) == [quiet, loud]
    assert _in_order([replace(each, each_label=False) for each in (quiet, loud)], 0.5)[0].name == (
        "loud"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by_heart", "by_label", "tells"), [(0.09, 0.2, False), (0.11, 0.05, True)]
)
def test_one_threshold_decides_whether_rows_are_hidden(
    monkeypatch, judged, by_heart, by_label, tells
):
    known = Known(score=0.9, by_heart=by_heart, by_label=by_label, gap=0.0)
    monkeypatch.setattr(_in_steps, "known_as_they_are", lambda *_, **__: known)
    forest = RandomForestClassifier(20, max_depth=1, random_state=0)
    model, _, _ = fitted(forest)
    assert _tells(judged[0].classes) == tells
    assert any("scattered" in name for name in model.trials_) == tells


@pytest.mark.slow
def test_where_only_accuracy_counts_nothing_is_scattered():
    model, _, _ = fitted(RandomForestClassifier(20, random_state=0), by_heart=0.0)
    assert not any("scattered" in name for name in model.trials_)


@pytest.mark.parametrize("by_heart", [-0.1, 1.5, float("nan")])
def test_what_costs_less_than_nothing_is_refused(by_heart):
    with pytest.raises(ParameterError, match="by_heart"):
        fitted(DecisionTreeClassifier(random_state=0), by_heart=by_heart)


def interplay(n=1200, seed=1):
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(rng.normal(size=(n, 4)), schema=["other", "b", "another", "a"])
    return rows, (rows["other"].to_numpy() * rows["a"].to_numpy() > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("representative", ["box", "record"])
def test_other_columns_are_cut_too_and_k_holds_in_what_is_recoded(
    monkeypatch, only, as_array, representative
):
    rows, y = interplay()
    only(lambda led: led.by_others)
    monkeypatch.setattr(_lessons, "TRIED", (representative,))
    model = AnonymizedEstimator(
        RandomForestClassifier(20, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=[3, 1] if as_array else ["a", "b"],
    )
    given = rows.to_numpy() if as_array else rows
    written = model.fit_transform(given, y)
    assert "by other columns too" in model.led_by_
    assert np.unique(written[:, [1, 3]], axis=0, return_counts=True)[1].min() >= K
    assert np.allclose(model.transform(given), written)
    assert np.allclose(written[:, [0, 2]], model.encode(given)[:, [0, 2]])
    # a class is a box of what was cut: its point's values are those of its own rows
    cells = model.anonymizer_.cells_
    raw = model.encode(given)
    for column in (1, 3):
        for cell in range(3):
            own = raw[cells == cell, column]
            there = np.isclose(own, written[cells == cell, column][0]).any()
            usual = np.isclose(raw[:, column], written[cells == cell, column][0]).any()
            assert there or (representative == "box" and usual)
    assert len(model.anonymizer_.transform(rows if not as_array else as_table(given))) == len(y)


def test_a_column_that_does_not_reach_the_model_parts_nobody(only):
    rows, y = interplay()
    only(lambda led: led.by_others)
    secret = pl.Series("secret", 10.0 * y)
    columns = ["a", "b", "other"]

    class Chosen(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, table):  # noqa: ARG002 # nothing is learned
            return self

        def transform(self, table):
            return table.select(columns).to_numpy()

    model = AnonymizedEstimator(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
        encoder=Chosen(),
    ).fit(rows.with_columns(secret), y)
    assert set(model.anonymizer_.plan_.quasi_identifiers) == set(columns)


@pytest.mark.slow
def test_infinite_numbers_beside_quasi_identifiers_part_nobody_and_fail_nothing():
    rows, y = interplay()
    endless = rows.with_columns(
        other=pl.when(pl.int_range(pl.len()) == 5).then(float("inf")).otherwise("other")
    )
    model = AnonymizedEstimator(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
    ).fit(endless, y)
    assert "other" not in model.anonymizer_.plan_.quasi_identifiers


def test_rows_that_lack_a_number_that_parts_are_told_and_still_predicted(only):
    rows, y = interplay()
    only(lambda led: led.by_others)
    model = AnonymizedEstimator(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
    ).fit(rows, y)
    lacking = rows.with_columns(other=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(SchemaError, match="other"):
        model.transform(lacking)
    assert len(model.predict(lacking)) == len(y)


def test_nobody_is_suppressed_for_columns_that_are_not_recoded():
    rows, y = interplay()
    model = AnonymizedEstimator(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
        max_suppression_fraction=0.1,
    )
    written = model.fit_transform(rows, y)
    assert not any("by other columns too" in name for name in [*model.trials_, model.led_by_])
    kept = written[~np.isnan(written).any(axis=1)]
    assert np.unique(kept[:, [1, 3]], axis=0, return_counts=True)[1].min() >= K


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", [0.0, 0.15])
def test_a_rare_label_leaves_scores_of_rows_that_were_not_learned(suppressed):
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(rng.normal(size=(400, 4)), schema=list("abcd"))
    y = rng.integers(0, 2, 400)
    y[:2] = 2
    model = AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=20)],
        quasi_identifiers=["a", "b"],
        guide=lambda rows: rows[:, :1],
        max_suppression_fraction=suppressed,
    ).fit(rows, y)
    # noise: who is judged by rows that were learned scores far above a half
    assert max(model.trials_.values()) < 0.65


@pytest.mark.slow
def test_of_many_rows_the_likeliest_lessons_are_judged_and_the_best_is_among_them(monkeypatch):
    rows, y = interplay()

    def trained():
        return AnonymizedEstimator(
            RandomForestClassifier(20, random_state=0),
            guarantees=[hm.KAnonymity(k=K)],
            quasi_identifiers=["a", "b"],
        ).fit(rows, y)

    every = trained()
    monkeypatch.setattr(_in_steps, "MANY", 100)
    few = trained()
    assert len(few.trials_) <= _in_steps.BEST_OF_MORE + _in_steps.EXCHANGED < len(every.trials_)
    assert max(few.trials_.values()) > np.median([*every.trials_.values()])


@pytest.mark.slow
@pytest.mark.parametrize("model", [DecisionTreeClassifier(), RandomForestClassifier(5)])
@pytest.mark.parametrize(
    ("columns", "best"), [(["a", "b"], _in_steps.BEST_OF_MORE), (None, _in_steps.BEST)]
)
def test_where_rows_are_hidden_more_lessons_are_judged(monkeypatch, model, columns, best):
    rows, y = interplay()
    kept: list[int] = []

    def likeliest(lessons, cost, *, best):
        found = choose(lessons, cost, best=best)
        kept.append(len(found) - (0 if columns else sum(each.is_of_several for each in found)))
        assert len(lessons) > _in_steps.BEST_OF_MORE
        return found

    choose = _in_steps._likeliest
    monkeypatch.setattr(_in_steps, "MANY", 100)
    monkeypatch.setattr(_in_steps, "_likeliest", likeliest)
    AnonymizedEstimator(
        clone(model).set_params(random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=columns,
    ).fit(rows, y)
    assert set(kept) == {best}


@pytest.mark.slow
def test_a_model_that_cannot_learn_of_few_rows_is_still_trained(monkeypatch):
    class Choosy(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
        def fit(self, X, y):
            if len(X) < 500:
                raise ValueError("too few members")
            return super().fit(X, y)

    rows, y = interplay()
    monkeypatch.setattr(_in_steps, "MANY", 100)
    model = AnonymizedEstimator(
        Choosy(max_depth=4, random_state=0),
        guarantees=[hm.KAnonymity(k=K)],
        quasi_identifiers=["a", "b"],
    ).fit(rows, y)
    assert model.score(rows, y) > 0.5


@pytest.mark.slow
def test_exchanged_labels_are_judged_by_what_never_saw_the_other_half(monkeypatch):
    _, y = people()
    seen: list[Any] = []

    def remembered(lessons):
        found = list(every(lessons))
        seen.extend(found)
        return iter(found)

    every = _in_steps._exchanged
    monkeypatch.setattr(_in_steps, "_exchanged", remembered)
    monkeypatch.setattr(_in_steps, "EXCHANGED", 1000)
    fitted(RandomForestClassifier(20, random_state=0))
    one = seen[0]
    cells, guide_of_all = one.classes.rows.classes, one.classes.rows.guide
    halves = parts_of(one.classes.judge, 2)
    said = guides_of_parts(one.classes.judge, halves)
    assert said is not None
    for half in halves:
        own = exchanged(y[half], cells[half], said[half])
        assert np.array_equal(one.of_halves[half], own)
        assert not np.array_equal(own, exchanged(y[half], cells[half], guide_of_all[half]))
    assert np.array_equal(one.labels, exchanged(y, cells, guide_of_all))


@pytest.mark.slow
def test_one_guide_of_halves_serves_all_partitions_of_the_same_rows(monkeypatch):
    seen: list[Any] = []

    def counted(*given):
        seen.append(given)
        return guides_of_parts(*given)

    monkeypatch.setattr(_in_steps, "guides_of_parts", counted)
    given: list[Any] = []
    every = _in_steps._exchanged

    def first_of_each(lessons):
        given.extend({each.classes.name: each for each in lessons}.values())
        return every(given)

    monkeypatch.setattr(_in_steps, "_exchanged", first_of_each)
    monkeypatch.setattr(_in_steps, "EXCHANGED", 1000)
    fitted(RandomForestClassifier(5, random_state=0))
    assert len(given) > 1
    assert len(seen) == 1
    last = given[-1].classes
    given[-1] = replace(given[-1], classes=replace(last, judge=replace(last.judge, seed=1)))
    seen.clear()
    assert len(list(every(given))) == len(given)
    assert len(seen) == 1


@pytest.mark.slow
def test_labels_are_exchanged_only_of_what_tells_and_is_not_hidden_otherwise(monkeypatch):
    given: list[Any] = []
    every = _in_steps._exchanged

    def remembered(lessons):
        given.extend(lessons)
        return every(lessons)

    monkeypatch.setattr(_in_steps, "_exchanged", remembered)
    monkeypatch.setattr(_in_steps, "EXCHANGED", 1000)
    fitted(RandomForestClassifier(20, random_state=0))
    assert any(each.is_scattered for each in given)

    def names(lessons):
        return [each.name.removesuffix(", labels exchanged") for each in every(lessons)]

    told = [replace(each, by_label=each.free + 0.001) for each in given]
    plain = [each.name for each in told if not each.is_scattered]
    assert names(told) == plain
    assert len(plain) > 5
    assert names([replace(each, by_label=each.free) for each in given]) == []


@pytest.mark.slow
def test_a_guide_that_may_have_learned_the_rows_exchanges_no_labels(monkeypatch):
    monkeypatch.setattr(_in_steps, "EXCHANGED", 1000)
    forest = RandomForestClassifier(20, random_state=0)
    model, rows, y = fitted(forest)
    assert any("exchanged" in name for name in model.trials_)
    encoded, recoded = model.encode(rows), model.encoder_.depends_
    crossed, learned = (
        guidance(guide, forest, encoded, y, recoded=recoded, folds=3, seed=0)
        for guide in ("cross-fitted", "fitted")
    )
    for guide in ("fitted", learned):
        found, _, _ = fitted(forest, guide=guide)
        assert not any("exchanged" in name for name in found.trials_)
    assert fitted(forest, guide=crossed)[0].trials_ == model.trials_


@pytest.mark.slow
def test_the_dearer_it_is_the_less_a_model_tells_of_its_rows(monkeypatch):
    rng = np.random.default_rng(5)
    rows = pl.DataFrame(rng.normal(size=(1500, 8)), schema=list("abcdefgh"))
    y = (rows["a"].to_numpy() + rng.normal(size=1500) > 0).astype(int)
    told: dict[float, float] = {}
    every = _in_steps._trained

    def remembered(lessons, cost, *, asked):
        won = every(lessons, cost, asked=asked)
        told[model.by_heart] = won[0].by_heart
        return won

    monkeypatch.setattr(_in_steps, "_trained", remembered)
    for by_heart in (0.0, 1.0):
        model = AnonymizedEstimator(
            RandomForestClassifier(20, random_state=0),
            guarantees=[hm.KAnonymity(k=K)],
            quasi_identifiers=["a", "b"],
            by_heart=by_heart,
        )
        model.fit(rows, y)
    assert told[1.0] < 0.8 * told[0.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "cost"),
    [
        (DecisionTreeClassifier(random_state=0), 0.3),
        (DecisionTreeClassifier(max_depth=3, random_state=0), 1.0),
        (RandomForestClassifier(5, random_state=0), 1.0),
        (KNeighborsClassifier(1), 0.3),
        (DecisionTreeRegressor(random_state=0), 0.3),
        (RandomForestRegressor(5, random_state=0), 0.3),
    ],
)
def test_what_tells_rows_costs_three_tenths_where_nobody_votes(monkeypatch, estimator, cost):
    costs: list[float] = []
    every = _in_steps._in_order

    def remembered(judged, by_heart):
        costs.append(by_heart)
        return every(judged, by_heart)

    monkeypatch.setattr(_in_steps, "_in_order", remembered)
    for settings, dial in (({"by_heart": 0.8}, 0.8), ({}, 0.5)):  # half a point where nobody says
        costs.clear()
        fitted(estimator, **settings)
        assert costs
        assert costs == pytest.approx([dial * cost] * len(costs))

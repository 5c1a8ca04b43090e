"""Lessons: what is tried of a partition, by which names, and what a lesson is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask.training import _lessons
from halfmask.training._lessons import Lesson, distinct, lessons_of
from halfmask.training._parts import known_of_parts, more_by_chance, parts_of

K = 20
SEVERAL = "spread over 4 points"
TREE: Any = DecisionTreeClassifier(max_depth=3, random_state=0)


@pytest.fixture
def partitions(tried):
    """Some of all columns, some of three of four."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(rng.normal(size=(600, 4)), schema=["a", "b", "c", "other"])
    y = (rows["a"] + rows["other"] > 0).to_numpy().astype(int)

    def of(*names):
        return tried(TREE, rows, y, k=K, quasi_identifiers=[*names])

    return of


def names_of(classes, **named):
    how = {"scatter": False, "quiet": False} | named
    return [each.name for each in lessons_of(classes, 0, **how)]


def test_what_is_tried_is_what_suits_the_partition(partitions):
    found = partitions("a", "b", "c")
    by_table = next(each for each in found if not (each.led.by_encoding or each.led.by_others))
    by_others = next(each for each in found if each.led.by_others)
    by_encoding = next(each for each in found if each.led.by_encoding)
    assert names_of(by_others) == [*_lessons.TRIED]
    assert names_of(by_encoding) == ["at the cuts", "at the cuts, else medians", "spread"]
    several, *rest = names_of(by_table)
    assert [several, *rest[:4]] == [*_lessons.TRIED]
    assert rest[4:]
    assert all(name.startswith("box of ") for name in rest[4:])


def test_several_points_are_tried_where_nothing_hides_rows_and_scattered_ones_where_it_does(
    partitions,
):
    classes = partitions("a", "b", "c")[0]
    assert SEVERAL in names_of(classes, quiet=True)
    assert SEVERAL not in names_of(classes, quiet=False)
    found = [*lessons_of(classes, 0, scatter=True, quiet=False)]
    scattered = [each.name for each in found if "scattered" in each.name]
    assert [name.partition(" lots")[2] for name in scattered] == [
        "",
        ", else centroids",
        ", else spread",
    ] * len(_lessons.LOTS)
    assert [each.name for each in found if each.is_scattered] == scattered


@pytest.mark.slow
def test_scattered_values_leave_what_tells_groups_apart_as_it_is_called(partitions):
    classes = partitions("a", "b", "c")[0]
    found = {each.recipe: each.points for each in lessons_of(classes, 0, scatter=True, quiet=False)}
    groups = f"box at {_lessons.SCATTERED_PRICE}"
    for kept, ending in (
        (groups, ""),
        ("centroid", ", else centroids"),
        ("spread", ", else spread"),
    ):
        for sharing in _lessons.LOTS:
            same = (found[kept] == found[f"scattered by {sharing}{ending}"]).all(axis=0)
            assert same.any()
            assert not same.all()
    assert not any("scattered" in name for name in names_of(classes, scatter=False))
    alone = partitions("a", "b", "c", "other")[0]
    assert names_of(alone, scatter=True) == names_of(alone), "no other column to scatter"


def test_lots_are_of_three_classes_of_eight_and_of_two_and_no_more_than_so_many(
    partitions, monkeypatch
):
    classes = partitions("a", "b", "c")[0]
    n = classes.rows.n_classes
    assert n >= 16, "two lots of eight at least"

    def lots():
        """Count, for each recipe, the values of a column that tells no group apart."""
        return {
            each.recipe: len(np.unique(each.points[:, -1]))
            for each in lessons_of(classes, 0, scatter=True, quiet=False)
            if each.is_scattered and "," not in each.recipe
        }

    assert lots() == {f"scattered by {sharing}": n // sharing for sharing in (3, 8, 2)}
    names = [name for name in names_of(classes, scatter=True) if name.startswith("scattered in ")]
    assert {int(name.split()[2]) for name in names} == {n // 3, n // 8, n // 2}
    assert [sharing * most for sharing, most in _lessons.LOTS.items()] == [120] * 3
    monkeypatch.setattr(_lessons, "LOTS", {3: 4, 8: 2, 2: 5})
    assert [*lots().values()] == [4, 2, 5]
    monkeypatch.setattr(_lessons, "LOTS", {n // 2: 40, n // 2 + 1: 40})
    assert lots() == {f"scattered by {n // 2}": 2}, "nothing goes astray in one lot of all"


@pytest.mark.slow
def test_lessons_know_whether_classes_have_several_points(partitions):
    for each in lessons_of(partitions("a", "b", "c")[0], 0, scatter=True, quiet=True):
        assert each.is_of_several == (each.name == SEVERAL)
        assert each.points.shape[-2:] == (each.classes.rows.n_classes, 3)


def test_a_recipe_finds_the_same_lesson_in_classes_of_a_half(partitions):
    """Names have counts, which differ there."""
    classes = partitions("a", "b", "c")[0]
    half = classes.of_part(parts_of(classes.judge, 2)[0])
    whole = [*lessons_of(classes, 0, scatter=True, quiet=True)]
    of_half = [*lessons_of(half, 0, scatter=True, quiet=True)]
    assert len({each.recipe for each in whole}) == len(whole), "each has one of its own"
    shared = {each.recipe for each in whole} & {each.recipe for each in of_half}
    assert shared > {SEVERAL, *_lessons.TRIED}
    assert any(recipe.startswith("box at ") for recipe in shared)
    assert {each.name for each in whole} != {each.name for each in of_half}


def test_each_lesson_is_there_once_and_other_classes_make_another(partitions):
    one, other = (
        next(lessons_of(each, 0, scatter=False, quiet=False))
        for each in partitions("a", "b", "c")[:2]
    )
    assert not np.array_equal(one.classes.rows.classes, other.classes.rows.classes)
    first = np.arange(len(one.points))[:, None] == 0
    one = replace(one, points=np.where(first, 0.0, one.points))
    again = replace(one, name="again", points=np.where(first, -0.0, one.points))
    moved = replace(one, points=one.points + 1e-9)
    relabelled = replace(one, labels=1 - one.labels)
    assert distinct([one, again, other, moved, relabelled, again]) == [
        one,
        other,
        moved,
        relabelled,
    ]


def divided(lesson):
    """Return the same points, row by row, of twice as many classes in another order."""
    cells = lesson.classes.rows.classes
    often = lesson.points.shape[-2]
    now = (2 * often - 1) - (cells + often * (np.arange(len(cells)) % 2))
    rows = replace(lesson.classes.rows, classes=now)
    points = np.concatenate([lesson.points] * 2, axis=-2)[..., ::-1, :]
    return replace(lesson, classes=replace(lesson.classes, rows=rows), points=points)


def test_where_other_columns_reach_a_model_what_is_written_the_same_is_the_same_lesson(partitions):
    classes = partitions("a", "b")[0]
    lessons = list(lessons_of(classes, 0, scatter=False, quiet=True))
    assert [each.is_of_several for each in lessons[:2]] == [True, False]
    for each in lessons[:2]:
        again = divided(each)
        assert distinct([each, again]) == [each]
        swapped = again.points.copy()
        swapped[..., [0, 1], :] = swapped[..., [1, 0], :]
        other = replace(again, points=swapped)
        assert distinct([each, other]) == [each, other]
    assert distinct(lessons[:2]) == lessons[:2]


def test_who_leave_out_other_rows_teach_other_lessons(partitions):
    lesson = next(lessons_of(partitions("a", "b")[0], 0, scatter=False, quiet=False))
    kept = lesson.classes.kept.copy()
    kept[0] = not kept[0]
    other = replace(lesson, classes=replace(lesson.classes, kept=kept))
    assert distinct([lesson, other]) == [lesson, other]


def test_where_models_know_classes_alone_other_classes_are_another_lesson(partitions):
    lesson = next(lessons_of(partitions("a", "b", "c", "other")[0], 0, scatter=False, quiet=False))
    again = divided(lesson)
    rows = replace(lesson.classes.rows, classes=lesson.classes.rows.classes[::-1])
    others = replace(lesson, classes=replace(lesson.classes, rows=rows))
    assert distinct([lesson, again, others]) == [lesson, again, others]


@pytest.mark.slow
def test_a_lesson_is_judged_by_what_models_of_its_parts_know(partitions):
    lesson = next(lessons_of(partitions("a", "b", "c")[0], 0, scatter=False, quiet=False))
    judge, cells = lesson.classes.judge, lesson.classes.rows.classes
    halves = parts_of(judge, 2)
    pairs = [halves, halves[::-1]]
    known = known_of_parts(judge, lesson.points, cells, lesson.of_halves, pairs=pairs)
    judged = lesson.judged(pairs)
    assert (judged.score, judged.gap) == (known.score, known.gap)
    assert (judged.by_heart, judged.by_label) == (known.by_heart, known.by_label)
    assert not np.isfinite(lesson.score), "before nothing is known"


@pytest.mark.parametrize(
    ("by_heart", "told", "free", "worth"),
    [
        (1.0, 0.13, 0.03, 0.8),
        (0.5, 0.13, 0.03, 0.85),
        (1.0, 0.03, 0.03, 0.9),
        (1.0, 0.01, 0.03, 0.9),
        (1.0, 0.13, 0.06, 0.83),
        (0.0, 1.0, 0.03, 0.9),
    ],
)
def test_what_is_told_beyond_what_is_free_is_taken_off_a_score(by_heart, told, free, worth):
    nothing, nobody = np.empty((0, 0)), cast("Any", None)
    lesson = Lesson(
        name="",
        recipe="",
        classes=nobody,
        points=nothing,
        labels=nothing,
        of_halves=nothing,
        score=0.9,
        by_heart=told,
        free=free,
        gap=0.1,
    )
    assert lesson.worth(by_heart) == pytest.approx(worth)
    assert replace(lesson, own=0.98).worth(by_heart) == pytest.approx(worth - 0.01)
    by_label = replace(lesson, by_heart=1.0 - told, by_label=told, each_label=True)
    assert by_label.worth(by_heart) == pytest.approx(worth)


def test_what_is_free_is_more_with_a_threshold_for_each_label_and_most_where_nothing_is_hidden(
    partitions,
):
    classes = partitions("a", "b", "c")[0]

    def free(**how):
        found = [*lessons_of(classes, 0, scatter=False, **how)]
        return {each.free for each in found}, {each.each_label for each in found}

    assert free(quiet=False) == ({0.03}, {False})
    assert free(quiet=False, each_label=True) == ({0.0475}, {True})
    assert free(quiet=True) == ({0.06}, {False})
    of_ten = replace(classes, judge=replace(classes.judge, labels=np.arange(600) % 10))
    found = {
        each.free for each in lessons_of(of_ten, 0, scatter=False, quiet=False, each_label=True)
    }
    assert found == {0.0475 + more_by_chance(of_ten.judge.labels)}
    assert min(found) > 0.06


def test_what_is_expected_is_the_mean_of_what_two_kinds_of_models_say(partitions):
    lesson = next(lessons_of(partitions("a", "b", "c")[0], 0, scatter=False, quiet=False))
    judged = replace(lesson, score=0.9, gap=0.1)
    assert judged.expected == 0.9, "one kind was asked"
    assert replace(judged, own=0.94).expected == pytest.approx(0.87)

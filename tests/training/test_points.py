"""Points: what each class is written as, class by class and by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.training._points import (
    ClassRows,
    boxes,
    centroids,
    medians,
    nearest_predictions,
    records,
    typical,
)
from halfmask.training._spread import spread

SEEDS = st.integers(0, 10_000)


@given(SEEDS)
def test_centroids_are_means(rows_of, seed):
    rows = rows_of(seed)
    for cell, point in enumerate(centroids(rows)):
        assert np.allclose(point, rows.encoded[rows.classes == cell].mean(axis=0))


@given(SEEDS)
def test_records_are_the_nearest_to_the_median_of_the_majority(rows_of, seed):
    rows = rows_of(seed)
    majority = np.random.default_rng(seed).random(len(rows.classes)) < 0.5
    majority[[int(np.flatnonzero(rows.classes == cell)[0]) for cell in range(4)]] = True
    rows = ClassRows(
        encoded=rows.encoded,
        others=rows.others,
        classes=rows.classes,
        guide=rows.guide,
        majority=majority,
    )
    for cell, point in enumerate(records(rows)):
        inside = rows.encoded[rows.classes == cell]
        among = rows.encoded[(rows.classes == cell) & majority]
        distances = ((among - np.median(inside, axis=0)) ** 2).sum(axis=1)
        assert (among == point).all(axis=1).any()
        assert ((point - np.median(inside, axis=0)) ** 2).sum() == pytest.approx(distances.min())


@given(SEEDS)
def test_nearest_predictions_are_rows_of_their_class(rows_of, seed):
    rows = rows_of(seed)
    for cell, point in enumerate(nearest_predictions(rows)):
        inside = rows.classes == cell
        distances = ((rows.guide - rows.guide[inside].mean(axis=0)) ** 2).sum(axis=1)
        best = np.flatnonzero(inside)[distances[inside].argmin()]
        assert np.array_equal(point, rows.encoded[best])


@given(SEEDS)
def test_typical_categories_are_the_most_frequent(rows_of, seed):
    rows = rows_of(seed)
    points = typical(rows)
    for cell in range(4):
        inside = rows.encoded[rows.classes == cell]
        counts = Counter(inside[:, 2:].argmax(axis=1).tolist())
        assert counts[int(points[cell, 2:].argmax())] == max(counts.values())
        assert points[cell, 2:].sum() == 1
        for column in (0, 1):
            away = np.abs(inside[:, column] - inside[:, column].mean())
            assert points[cell, column] == inside[away.argmin(), column]


@given(SEEDS)
def test_boxes_are_as_the_table_where_nothing_was_cut(rows_of, seed):
    rows = rows_of(seed)
    points, usual = boxes(rows), typical(rows)
    for place, columns in enumerate(rows.parts):
        uncut = points[~rows.cut[:, place]][:, columns]
        assert len(np.unique(uncut, axis=0)) <= 1
        assert np.array_equal(
            points[rows.cut[:, place]][:, columns], usual[rows.cut[:, place]][:, columns]
        )


def test_without_cuts_boxes_are_typical_values(rows_of):
    rows = rows_of(0)
    plain = ClassRows(
        encoded=rows.encoded,
        others=rows.others,
        classes=rows.classes,
        guide=rows.guide,
        majority=rows.majority,
        parts=rows.parts,
    )
    assert np.array_equal(boxes(plain), typical(plain))


@pytest.mark.parametrize("point", [centroids, records, nearest_predictions, typical, boxes])
def test_one_class_and_no_columns_have_points(point):
    rows = ClassRows(
        encoded=np.empty((3, 0)),
        others=np.zeros((3, 1)),
        classes=np.zeros(3, dtype=np.int64),
        guide=np.zeros((3, 1)),
        majority=np.ones(3, dtype=bool),
        parts=(np.array([], dtype=np.int64),),
        cut=np.zeros((1, 1), dtype=bool),
    )
    assert point(rows).shape == (1, 0)


def test_the_printed_form_shows_no_row(rows_of):
    assert repr(rows_of(0)) == "ClassRows(44 rows, 4 classes)"


@given(SEEDS)
def test_medians_are_values_nearest_the_median_and_the_most_frequent_category(rows_of, seed):
    rows = rows_of(seed)
    for cell, point in enumerate(medians(rows)):
        of_cell = rows.encoded[rows.classes == cell]
        for column in (0, 1):
            away = np.abs(of_cell[:, column] - np.median(of_cell[:, column]))
            assert abs(point[column] - np.median(of_cell[:, column])) == pytest.approx(away.min())
        counts = of_cell[:, 2:].sum(axis=0)
        assert counts[point[2:].argmax()] == counts.max()


@given(SEEDS)
def test_medians_between_two_values_are_the_one_whose_row_comes_first(rows_of, seed):
    rows = rows_of(seed)
    values = np.random.default_rng(seed).integers(0, 2, size=(len(rows.classes), 1)).astype(float)
    only = replace(rows, encoded=values, parts=(np.array([0]),))
    for cell, point in enumerate(medians(only)[:, 0]):
        own = values[rows.classes == cell, 0]
        middle = np.median(own)
        assert point == (own[0] if middle == 0.5 else middle)


@given(SEEDS, st.sampled_from([3, 300, 70_000]))
def test_rows_are_ordered_by_class_and_numbers_and_stay_in_order_where_these_are_equal(seed, many):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, many, size=200)
    numbers = rng.integers(0, 5, size=200).astype(float)
    nothing = np.zeros((200, 0))
    rows = ClassRows(
        encoded=nothing, others=nothing, classes=classes, guide=nothing, majority=classes > 0
    )
    expected = sorted(range(200), key=lambda row: (classes[row], numbers[row]))
    assert rows.ordered_by(numbers).tolist() == expected


@pytest.mark.parametrize("find", [centroids, typical, medians, boxes, spread])
def test_points_that_are_changed_stay_as_they_were_for_others(rows_of, find):
    rows = rows_of(0)
    first = find(rows)
    first += 1.0
    assert np.array_equal(find(rows), find(rows_of(0)))
    others = replace(rows, classes=rows.classes[::-1])
    assert not np.array_equal(find(others), find(rows))


@given(SEEDS)
def test_the_nearest_of_a_class_is_the_first_of_equals_and_of_those_that_are_asked(rows_of, seed):
    rows, rng = rows_of(seed), np.random.default_rng(seed)
    values = rng.integers(0, 3, size=(len(rows.classes), 2)).astype(float)
    targets = rng.integers(0, 3, size=(4, 2)).astype(float)
    among = rng.random(len(values)) < 0.7
    for cell, found in enumerate(rows.nearest(targets, values, among)):
        inside = [row for row in np.flatnonzero(rows.classes == cell) if among[row]]
        if not inside:
            assert rows.classes[found] == cell
            continue
        assert found == min(inside, key=lambda row: ((values[row] - targets[cell]) ** 2).sum())


def test_what_is_not_a_number_is_nearest_to_nothing(rows_of):
    rows = rows_of(0)
    values = np.where(np.arange(len(rows.classes))[:, None] % 2 == 0, np.nan, 1.0)
    found = rows.nearest(np.ones((4, 1)), values, np.ones(len(values), dtype=bool))
    assert rows.classes[found].tolist() == [0, 1, 2, 3]
    assert values[found].tolist() == [[1.0]] * 4
    lost = rows.nearest(np.ones((4, 1)), values * np.nan, np.ones(len(values), dtype=bool))
    assert rows.classes[lost].tolist() == [0, 1, 2, 3]

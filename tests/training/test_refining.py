"""Refining: points go where a model lacks, steps that don't help are taken back."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.training._linear_view import LinearView
from halfmask.training._points import ClassRows, centroids
from halfmask.training._refining import refined

X = np.random.default_rng(0).normal(size=(200, 2))
CLASSES = np.argsort(np.argsort(X[:, 0])) // 20
ROWS = ClassRows(
    encoded=X,
    others=np.empty((200, 0)),
    classes=CLASSES,
    guide=2 * X[:, :1],
    majority=np.ones(200, dtype=bool),
    parts=(np.array([0]), np.array([1])),
    shares=False,
)
VIEW = LinearView.of(ROWS)
START = centroids(ROWS)
LACKING = ROWS.guide - np.equal(CLASSES, 4)[:, None]


def moved(answers, steps=3):
    """Refine with models that are numbers: the how manieth answer is asked for."""
    asked = iter(answers)
    tried = [START]

    def trained(points):
        tried.append(points)
        return len(tried) - 1, *next(asked)

    first = (0, *next(asked))
    return refined(START, ROWS, VIEW, first=first, trained=trained, steps=steps), tried


def test_a_point_goes_down_the_slope_where_a_model_says_too_little():
    found, tried = moved([(0.5, LACKING), (0.6, LACKING)], steps=1)
    assert (found.steps, found.model, found.score) == (1, 1, 0.6)
    change = found.points - START
    assert np.allclose(np.delete(change, 4, axis=0), 0)
    assert change[4, 0] == pytest.approx(-0.7 / 2, abs=0.01)  # the slope is 2
    assert change[4, 1] == pytest.approx(0, abs=0.01)
    assert np.array_equal(found.points, tried[1])


def test_a_step_that_does_not_help_is_taken_back_and_halved():
    found, tried = moved([(0.5, LACKING), (0.4, LACKING), (0.7, LACKING), (0.6, LACKING)])
    assert (found.steps, found.model) == (2, 2)
    whole, half = tried[1] - START, tried[2] - START
    assert np.allclose(half, whole / 2)
    assert np.allclose(tried[3] - tried[2], half * 1.2)  # longer after what helped


def test_where_nothing_helps_nothing_is_refined_and_little_tried():
    found, tried = moved([(0.5, LACKING)] + [(0.5, LACKING)] * 3)
    assert found is None
    assert len(tried) == 3


@pytest.mark.parametrize(("second", "moves"), [(0.5, 2), (0.5009, 2), (0.5011, 3)])
def test_after_two_moves_that_hardly_help_there_are_no_more(second, moves):
    found, tried = moved([(0.5, LACKING), (0.4999, LACKING), (second, LACKING), (0.9, LACKING)])
    assert len(tried) == 1 + moves
    assert (found.score if found else 0.5) == (0.9 if moves == 3 else second)


def test_a_model_that_lacks_nothing_stays():
    found, _ = moved([(0.5, ROWS.guide), (0.6, ROWS.guide)], steps=1)
    assert np.allclose(found.points, START)


@pytest.mark.parametrize(
    "said",
    [
        None,
        np.zeros((200, 3)),
        np.full((200, 1), np.nan),
        np.full((200, 1), np.inf),
        np.full((200, 1), 1e6),
    ],
    ids=["nothing", "another shape", "missing", "infinite", "far away"],
)
def test_refining_stops_where_it_leads_nowhere(said):
    found, tried = moved([(0.5, said)])
    assert found is None
    assert len(tried) == 1


def test_without_steps_nothing_is_tried():
    assert moved([(0.5, LACKING)], steps=0)[0] is None

"""Representatives: those that are asked for, and points that are moved by what models lack."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize.training import REPRESENTATIVES
from halfmask.anonymize.training._points import ClassRows, centroids
from halfmask.anonymize.training._representatives import CHOSEN, candidates

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
PLAIN = ["centroid", "typical", "box", "record", "unconfounded"]


def said_exactly(_):
    return ROWS.guide


def names(retrained, refinements=3):
    return [name for name, _ in candidates(CHOSEN, ROWS, retrained, refinements=refinements)]


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_one_that_is_named_is_the_only_one(name):
    found = list(candidates(name, ROWS, said_exactly, refinements=3))
    assert [each for each, _ in found] == [name]
    assert found[0][1].shape == (10, 2)
    assert np.array_equal(found[0][1], REPRESENTATIVES[name](ROWS))


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match="representative"):
        list(candidates("mean", ROWS, said_exactly, refinements=0))


def test_several_are_tried_and_refined():
    assert names(said_exactly, 0) == PLAIN
    assert names(said_exactly, 2) == [*PLAIN, "refined 1 times", "refined 2 times"]


def test_points_of_a_model_that_lacks_nothing_stay():
    points = dict(candidates(CHOSEN, ROWS, said_exactly, refinements=2))
    assert np.allclose(points["refined 2 times"], points["unconfounded"])
    assert np.allclose(points["centroid"], centroids(ROWS))


def test_points_go_down_the_slope_where_a_model_says_too_little():
    def too_little(_):
        return ROWS.guide - np.equal(CLASSES, 4)[:, None]

    points = dict(candidates(CHOSEN, ROWS, too_little, refinements=1))
    moved = points["refined 1 times"] - points["unconfounded"]
    assert np.allclose(np.delete(moved, 4, axis=0), 0)
    assert moved[4, 0] == pytest.approx(-0.7 / 2, abs=0.01)  # the slope is 2
    assert moved[4, 1] == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(
    "said",
    [
        lambda _: None,
        lambda _: np.zeros((200, 3)),
        lambda _: np.full((200, 1), np.nan),
        lambda _: np.full((200, 1), np.inf),
        lambda _: np.full((200, 1), 1e6),
    ],
    ids=["nothing", "another shape", "missing", "infinite", "far away"],
)
def test_refining_stops_where_it_leads_nowhere(said):
    assert names(said) == PLAIN


def test_points_that_run_away_are_not_tried():
    steps = iter(10.0 ** np.arange(9))
    found = dict(
        candidates(CHOSEN, ROWS, lambda _: ROWS.guide + next(steps), refinements=9),
    )
    assert 5 < len(found) < 14
    reach = 100 * float(np.ptp(X, axis=0).max())
    assert all(np.abs(points).max() < reach + np.abs(X).max() + 1 for points in found.values())

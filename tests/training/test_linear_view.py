"""The linear view: slopes that are known are found, and means moved along them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from halfmask.training._linear_view import LinearView, Score, log_odds, unconfounded
from halfmask.training._points import ClassRows


def rows_of(encoded, guide, *, others=None, classes=None, shares=True):
    n = len(encoded)
    return ClassRows(
        encoded=encoded,
        others=np.empty((n, 0)) if others is None else others,
        classes=np.arange(n) % 20 if classes is None else classes,
        guide=guide,
        majority=np.ones(n, dtype=bool),
        shares=shares,
    )


RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
SLOPE = np.array([2.0, -1.0, 0.0])


def test_slopes_of_numbers_are_found():
    view = LinearView.of(rows_of(X, (X @ SLOPE + 5)[:, None], shares=False))
    assert np.allclose(view.weights[:, 0], SLOPE, atol=0.01)
    assert view.level[0] == pytest.approx((X @ SLOPE + 5).mean())


def test_slopes_of_other_columns_are_kept_apart():
    view = LinearView.of(rows_of(X[:, :2], (X @ SLOPE)[:, None], others=X[:, 2:], shares=False))
    assert np.allclose(view.weights[:, 0], SLOPE[:2], atol=0.01)
    assert np.allclose(view.other_weights[:, 0], SLOPE[2:], atol=0.01)


def test_slopes_of_shares_are_those_of_a_penalized_logistic_regression():
    share = 1 / (1 + np.exp(-(X @ SLOPE)))
    view = LinearView.of(rows_of(X, np.column_stack([1 - share, share])))
    centred = X - X.mean(axis=0)

    def loss(parameters):
        score = centred @ parameters[:3] + parameters[3]
        likelihood = share * np.logaddexp(0, -score) + (1 - share) * np.logaddexp(0, score)
        return 0.1 * likelihood.sum() + 0.5 * (parameters[:3] ** 2).sum()

    best = minimize(loss, np.zeros(4)).x
    assert np.allclose(view.weights[:, 0], best[:3], atol=1e-3)
    assert view.level[0] == pytest.approx(best[3], abs=1e-3)


@pytest.mark.parametrize(
    ("guide", "shares", "expected"),
    [
        ([[0.2, 0.8], [0.5, 0.5]], True, (True, True)),
        ([[0.2, 0.9], [0.5, 0.5]], True, (True, False)),
        ([[0.2, 0.3, 0.5]], True, (True, False)),
        ([[0.2], [1.1]], True, (False, False)),
        ([[0.2], [0.9]], False, (False, False)),
    ],
)
def test_shares_are_told_from_numbers_once(guide, shares, expected):
    guide = np.array(guide)
    score = Score.of(rows_of(np.zeros((len(guide), 1)), guide, shares=shares))
    assert (score.shares, score.of_two) == expected


def test_what_is_compared_with_a_guide_is_measured_alike():
    # Means of numbers may all lie in [0, 1], and what a model says may leave it.
    numbers = rows_of(X, np.r_[-0.5, 1.5, np.full(398, 0.5)][:, None])
    score = Score.of(numbers)
    assert score(np.array([[0.25]])).tolist() == [[0.25]]
    shares = Score.of(rows_of(X, np.full((400, 2), 0.5)))
    assert shares(np.array([[-0.2, 1.2]])).tolist() == [[pytest.approx(np.log(99))]]


def test_log_odds_are_bounded():
    assert np.allclose(log_odds(np.array([0.0, 0.5, 1.0])), [-np.log(99), 0, np.log(99)])


def test_moves_change_the_score_by_what_was_asked():
    guide = np.column_stack([X @ SLOPE, X[:, 2]])
    view = LinearView.of(rows_of(X, guide, shares=False))
    change = RNG.normal(size=(5, 2))
    assert np.allclose(view.moved(change) @ view.weights, change)


def test_moved_means_say_what_the_guide_says():
    guide = (X @ SLOPE)[:, None]
    classes = np.argsort(np.argsort(X[:, 0] + 0.5 * X[:, 1])) // 40
    rows = rows_of(X, guide, classes=classes, shares=False)
    view = LinearView.of(rows)
    for strength in (0.0, 0.5, 1.0):
        points = unconfounded(rows, view, strength=strength)
        said = (points - view.middle) @ view.weights + view.level
        assert np.allclose(said, rows.means(guide), atol=0.01)


def test_companions_of_the_score_are_taken_away():
    x = RNG.normal(size=400)
    columns = np.column_stack([x, x + 0.3 * RNG.normal(size=400)])
    rows = rows_of(columns, x[:, None], classes=np.argsort(np.argsort(x)) // 20, shares=False)
    view = LinearView.of(rows)

    def goes_along(strength):
        points = unconfounded(rows, view, strength=strength)
        return abs(np.asarray(np.corrcoef(points.T))[0, 1])

    assert goes_along(0.0) > 0.9
    assert goes_along(1.0) < 0.2


@pytest.mark.parametrize("shares", [True, False])
def test_a_guide_that_says_nothing_moves_nothing(shares):
    view = LinearView.of(rows_of(X, np.full((400, 1), 0.5), shares=shares))
    assert np.allclose(view.weights, 0)
    assert np.isfinite(view.moved(np.ones((2, 1)))).all()


def test_many_outputs_are_viewed_by_those_that_vary_most():
    guide = RNG.normal(size=(400, 12)) * np.arange(1, 13)
    view = LinearView.of(rows_of(X, guide, shares=False))
    assert view.outputs.tolist() == list(range(4, 12))
    assert repr(view) == "LinearView(3 columns, 8 outputs)"


def test_no_column_and_one_class_have_a_view():
    rows = rows_of(
        np.empty((400, 0)), X[:, :1], others=X, classes=np.zeros(400, dtype=int), shares=False
    )
    assert unconfounded(rows, LinearView.of(rows), strength=0.5).shape == (1, 0)

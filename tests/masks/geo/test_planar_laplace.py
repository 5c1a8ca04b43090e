"""Planar Laplace: its law, what two places may tell apart, and what the verifier accounts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.masks.geo._geomask import DrawnPlaces
from halfmask.masks.geo._planar_laplace import PlanarLaplace
from halfmask.verifier.masked import MASK_CHECKS

KEY = bytes(range(32))
N = 40_000
LN4 = float(np.log(4))


def laplace(**given: Any) -> PlanarLaplace:
    """Return planar Laplace noise in metres: ln 4 at 200 metres."""
    usual = {"columns": ("x", "y"), "unit": "metres", "epsilon": LN4, "metres": 200.0}
    return PlanarLaplace(**{**usual, **given})


def drawn(mask, n=N, *, at=(0.0, 0.0)):
    """Return masked places of as many people at one place."""
    x, y = (np.broadcast_to(np.asarray(it, dtype=float), n) for it in at)
    table = pl.DataFrame({"x": x, "y": y, "id": range(n)})
    return mask.fit(table, KEY).apply(table, 0).select("x", "y").to_numpy().T


def test_distances_have_the_law_of_the_paper():
    """Gamma(2, 1 / epsilon) with a mean of 288.5 m; 3 % more epsilon would show."""
    x, y = drawn(laplace(person="id"))

    far = np.hypot(x, y) * LN4 / 200
    assert far.mean() * 200 / LN4 == pytest.approx(288.5, abs=5)
    assert stats.kstest(far, "gamma", args=(2,)).pvalue > 1e-6
    assert stats.kstest(far * 1.05, "gamma", args=(2,)).pvalue < 1e-6
    turns = np.arctan2(x, y) / (2 * np.pi) % 1
    assert stats.chisquare(np.bincount((turns * 16).astype(int))).pvalue > 1e-6


def test_two_places_are_told_apart_by_epsilon_and_no_more():
    """Behind one of them its share is nearly exp(epsilon) times the other's; never more."""
    here = drawn(laplace(person="id"))
    there = drawn(laplace(person="id"), at=(200.0, 0.0))
    twice = [drawn(laplace(person="id", metres=100.0), at=at) for at in ((0.0, 0.0), (200.0, 0.0))]

    def ratio(first, second):
        behind = [(it[0] < 0) & (np.abs(it[1]) < -0.3 * it[0]) for it in (first, second)]
        return behind[0].sum() / behind[1].sum()

    assert 3.2 < ratio(here, there) < 4.4
    assert ratio(*twice) > 8


def test_the_tail_is_drawn_with_many_digits(monkeypatch):
    """Beyond what 53 bits tell apart, too: with few far places, one would show where it came from.

    Each share of draws that lie beyond has the distance that the law of the paper gives.
    """
    high, low = np.array([2.0**-54, 2.0**-54, 0.5, 1.0]), np.array([2.0**-54, 0.75, 0.5, 1.0])
    drawn_as = (high, low, np.full(4, 0.25))
    monkeypatch.setattr(DrawnPlaces, "fractions", lambda *_, **__: drawn_as)

    x, _ = drawn(laplace(epsilon=1.0, metres=1e4), 4, at=(np.arange(4.0), 0.0))

    beyond = [2.0**-107, 0.75 * 2.0**-53, 0.5, 1.0]
    found = stats.gamma.logsf((x - np.arange(4)) * 0.999e-4, 2)
    assert found == pytest.approx(np.log(beyond), rel=1e-3)


def test_what_is_written_is_rounded():
    degrees = PlanarLaplace(columns=("lon", "lat"), epsilon=LN4, metres=200.0)
    table = pl.DataFrame({"lon": [4.912345678, -180.0], "lat": [52.312345678, 90.0]})

    metres = laplace().fit(table.rename({"lon": "x", "lat": "y"}), KEY)
    found = degrees.fit(table, KEY).apply(table, 0)

    assert (found.to_numpy().round(5) == found.to_numpy()).all()
    whole = metres.apply(table.rename({"lon": "x", "lat": "y"}), 0).to_numpy()
    assert (whole.round() == whole).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"metres": -1.0}, "metres"),
        ({"epsilon": 1e-3}, "per metre"),
        ({"epsilon": 300.0}, "per metre"),
        ({"within": "land"}, "no 'within'"),
        ({"same_within": 10.0}, "no 'same_within'"),
        ({"places": 2}, "no 'person'"),
        ({"places": 0, "person": "id"}, "places"),
    ],
)
def test_parameters_that_cannot_be(wrong, words):
    with pytest.raises(ParameterError, match=words):
        laplace(**wrong)


def test_more_places_of_a_person_than_stated():
    """Counted before rounding and drawing; a place that is visited twice counts once."""
    table = pl.DataFrame({"x": [0.0, 0.0, 1.0, 5.0], "y": [0.0] * 4, "id": [1, 1, 1, 2]})

    with pytest.raises(DataError, match="1 people have more places than 1, up to 2"):
        laplace(person="id").fit(table, KEY)
    assert laplace(person="id", places=2).fit(table, KEY).apply(table, 0).height == 4


def test_the_verifier_accounts_for_epsilon():
    """Each number that is too good is refused; so are more places and finer digits in the files."""
    mask = laplace(person="id", places=2)
    written = pl.LazyFrame({"id": [1, 1, 2, 2], "x": [3.0, 9.0, 1.0, None], "y": [1.0, 1, 1, None]})
    (claim,) = mask.claims(mask.columns, lambda names: written.select(names).collect())

    def holds(frame=written, *, parameters=None, **evidence):
        changed = replace(
            claim,
            parameters={**claim.parameters, **(parameters or {})},
            evidence={**claim.evidence, **evidence},
        )
        return MASK_CHECKS[claim.model](changed, frame).holds

    assert claim.basis == "accounted"
    assert holds()
    assert not holds(epsilon_of_all_places=LN4)
    assert not holds(drawn_epsilon_per_metre=LN4 / 200)
    assert not holds(parameters={"epsilon": 1.0})
    assert not holds(parameters={"metres": 400.0})
    assert not holds(parameters={"places": 1}, epsilon_of_all_places=LN4)
    assert not holds(written.with_columns(x=pl.col("x") + 0.5))
    assert not holds(written.with_columns(id=pl.lit(1)))
    assert holds(written.drop("id"))

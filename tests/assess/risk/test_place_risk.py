"""The people who live as near to a masked point as the person does."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import shapely

from halfmask._errors import DataError, ParameterError
from halfmask.assess.risk import place_risk
from halfmask.geo import AreaMap, PointMap, Points


def on_a_line(*x):
    return Points(x=np.array(x, dtype=float), y=np.zeros(len(x)), unit="metres")


STREET = PointMap(points=on_a_line(0, 1, 2, 3, 4, 5, 7), people=np.ones(7))


def test_golden_values_of_actual_k():
    """MaskMyPy: a person at 0 who is masked to 1, 2, 3 has k 3, 5, 6; at -1 it counts 0 twice."""
    found = [place_risk(on_a_line(0), on_a_line(x), people=STREET, k=4) for x in (1, 2, 3, -1)]
    assert [it.least for it in found] == [3, 5, 6, 1]
    assert [it.share_under_k for it in found] == [1, 0, 0, 1]
    together = place_risk(on_a_line(0, 0, 0, 0), on_a_line(1, 2, 3, -1), people=STREET, k=4)
    assert together.share_under_k == 0.5
    assert together.quantiles == {"0.01": 1, "0.05": 1, "0.25": 1, "0.5": 3}
    assert "50 % of 4 points, fewer than 4 people live" in together.sentence
    assert together.to_dict()["by"] == "addresses"


def test_estimated_k_spreads_people_over_areas():
    """MaskMyPy: areas of 1, 10, 100 and 1000 people in one circle have 1111."""
    squares = [shapely.box(x, y, x + 1, y + 1) for x in (0, 1) for y in (0, 1)]
    areas = AreaMap(
        names=pl.Series(list("abcd")), people=np.array([1.0, 10, 100, 1000]),
        shapes=np.array(squares), unit="metres",
    )  # fmt: skip
    home, masked = (Points(x=np.array([x]), y=np.array([1.0]), unit="metres") for x in (6.0, 1.0))
    found = place_risk(home, masked, people=areas)
    assert found.least == pytest.approx(1111)
    assert "are estimated to live" in found.sentence


def test_addresses_equal_a_count_by_hand():
    rng = np.random.default_rng(0)
    town = Points(x=4 + rng.random(300), y=52 + rng.random(300))
    people = rng.integers(0, 4, 300).astype(float)
    homes = town.take(np.arange(100))
    masked = homes.moved(*rng.normal(0, 5000, (2, 100)))

    def metres(i, j):
        """Haversine: within 0.6 % of the ellipsoid."""
        a, b = np.radians(masked.y[i]), np.radians(town.y[j])
        turn = np.radians(masked.x[i] - town.x[j])
        half = math.sin((a - b) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(turn / 2) ** 2
        return 2 * 6_371_000 * math.asin(math.sqrt(half))

    counts = [
        (
            sum(people[j] for j in range(300) if metres(i, j) < 0.99 * metres(i, i)),
            sum(people[j] for j in range(300) if metres(i, j) <= 1.01 * metres(i, i)),
        )
        for i in range(100)
    ]
    found = place_risk(homes, masked, people=PointMap(points=town, people=people), k=20)
    low, high = (np.mean([it[end] < 20 for it in counts]) for end in (1, 0))
    assert low <= found.share_under_k <= high
    assert min(it[0] for it in counts) <= found.least <= min(it[1] for it in counts)


def test_missing_points_are_left_out():
    gone = Points(x=np.array([0.0, np.nan]), y=np.array([0.0, np.nan]), unit="metres")
    assert place_risk(on_a_line(0, 0), gone, people=STREET).points == 1
    with pytest.raises(DataError, match="No row has a point"):
        place_risk(on_a_line(0), gone.take(np.array([1])), people=STREET)
    with pytest.raises(DataError, match="1 points before and 2 after"):
        place_risk(on_a_line(0), gone, people=STREET)
    with pytest.raises(ParameterError, match="'k'"):
        place_risk(on_a_line(0), on_a_line(0), people=STREET, k=0)

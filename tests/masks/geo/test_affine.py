"""Affine: shapes stay, and three known points undo it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.claims import WEAKNESSES
from halfmask.masks.geo._affine import AffinePoints

KEY = bytes(range(32))


def affine(**given: Any) -> AffinePoints:
    """Return an affine mask of x and y in metres."""
    usual = {
        "columns": ("x", "y"), "unit": "metres", "centre": (0, 0), "rotation": 180,
        "scale": (0.5, 2), "shift": 5000,
    }  # fmt: skip
    return AffinePoints(**{**usual, **given})


def moved(mask, at, key=KEY):
    """Return masked points as an array of two rows."""
    table = pl.DataFrame({"x": at[0], "y": at[1]})
    return mask.fit(table, key).apply(table, 0).to_numpy().T


def test_three_known_points_undo_it():
    """As its weakness says: all others to within two centimetres."""
    at = np.random.default_rng(1).uniform(0, 1e4, (2, 100))

    after = moved(affine(), at)

    known = np.vstack((after[:, :3], np.ones(3)))
    undone = at[:, :3] @ np.linalg.inv(known) @ np.vstack((after, np.ones(100)))
    assert np.abs(undone - at).max() < 0.5
    assert np.abs(after - at).max() > 100
    assert "known-points" in affine().weaknesses
    assert "two written points" in WEAKNESSES["known-points"]

    before, written = at[0] + 1j * at[1], after[0] + 1j * after[1]  # two are enough in a plane
    turned = (written[1] - written[0]) / (before[1] - before[0])
    assert np.abs((written - written[0]) / turned + before[0] - before).max() < 0.5


@pytest.mark.parametrize("centre", [(4.9, 52.4), (180.0, -17.0), (30.0, 89.0)])
def test_shapes_on_the_earth_stay(centre):
    """Angles and ratios of distances, where longitudes end and near a pole, too."""
    from halfmask.geo import Points  # noqa: PLC0415 # for its distances

    rng = np.random.default_rng(2)
    middle = Points(x=np.full(50, centre[0]), y=np.full(50, centre[1]))
    homes = middle.moved(*rng.uniform(-5000, 5000, (2, 50)))

    x, y = moved(affine(unit="degrees", centre=centre), (homes.x, homes.y))

    after = Points(x=x, y=y)
    order = np.roll(np.arange(50), 1)
    ratios = after.metres_to(after.take(order)) / homes.metres_to(homes.take(order))
    assert ratios.std() / ratios.mean() < 1e-4
    assert 0.5 <= ratios.mean() <= 2


def test_it_is_drawn_from_the_key():
    at = np.random.default_rng(3).uniform(0, 1e4, (2, 10))

    assert (moved(affine(), at) == moved(affine(), at)).all()
    assert (moved(affine(), at)[:, ::-1] == moved(affine(), at[:, ::-1])).all()
    assert np.abs(moved(affine(), at) - moved(affine(), at, bytes(32))).min() > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"rotation": 181}, {"rotation": -1}, {"scale": (2, 1)}, {"scale": (0, 1)}, {"scale": (1,)},
        {"shift": -1}, {"centre": (1,)}, {"unit": "degrees", "centre": (5, 91)},
        {"rotation": 0, "scale": (1, 1), "shift": 0}, {"scale": (1, 11)}, {"centre": ("a", 1)},
        {"scale": "12"}, {"person": "id"}, {"within": "land"}, {"columns": ("x", "x")},
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(wrong):
    with pytest.raises((ParameterError, DataError)):
        affine(**wrong)


def test_points_too_far_from_the_centre():
    with pytest.raises(DataError, match="1 points lie more than 1,000 km"):
        moved(affine(unit="degrees", centre=(4.9, 52.4)), ([4.9, 30.0], [52.4, 0.0]))

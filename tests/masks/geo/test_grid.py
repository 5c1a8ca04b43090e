"""Grid: centres of squares, on a plane and on the earth, and the verifier's own arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfmask._errors import ColumnWarning, ParameterError
from halfmask.geo import Points
from halfmask.masks.geo._grid import GridCentres
from halfmask.verifier.masked import MASK_CHECKS

KEY = bytes(32)


def written(mask, x, y):
    """Return the released columns."""
    table = pl.DataFrame({"x": x, "y": y}, schema={"x": pl.Float64, "y": pl.Float64})
    return mask.fit(table, KEY).apply(table, 0)


def verdict(mask, table):
    """Return what the verifier finds of the mask's own claim."""
    (claim,) = mask.claims(mask.columns, table.select)
    return MASK_CHECKS[claim.model](claim, table.lazy())


def test_a_plane():
    """Below 0, too; the unit of the table is kept."""
    x, y = [0.0, 999.9, -0.1, 1e6, None], [0.0, 1000.0, -1000.0, 7.0, None]
    mask = GridCentres(columns=("x", "y"), unit="metres", width=1000)
    km = GridCentres(columns=("x", "y"), unit="kilometres", width=1000)

    expected = [(500, 500), (500, 1500), (-500, -500), (1_000_500, 500), (None, None)]

    assert written(mask, x, y).rows() == expected
    in_km = written(km, [0.2, 17.3], [0.9, -3.1])
    assert in_km.rows() == [(0.5, 0.5), (17.5, -3.5)]
    assert verdict(km, in_km).holds


@given(
    lon=st.floats(-180, 180), lat=st.floats(-90, 90), width=st.sampled_from([1, 250, 5e4, 1e6, 1e7])
)
def test_the_earth(lon, lat, width):
    """Near the middle, written twice alike, verified; squares are neither flat nor narrow."""
    assume((lon, lat) != (0, 0))  # an unknown place
    mask = GridCentres(columns=("x", "y"), width=width)

    once = written(mask, [lon, 1.0], [lat, 1.0])
    again = written(mask, *once.to_numpy().T)

    before = Points(x=np.array([lon]), y=np.array([lat]))
    after = Points(x=once["x"].to_numpy()[:1], y=once["y"].to_numpy()[:1])
    assert before.metres_to(after)[0] <= (0.9 if width < 1e6 else 2) * width + 0.02
    assert again.equals(once)
    assert verdict(mask, once).holds


def test_what_the_verifier_refuses():
    """A point off its centre, one coordinate alone, another width or unit."""
    mask = GridCentres(columns=("x", "y"), width=1000)
    with pytest.warns(ColumnWarning, match="both are 0 in 1"):
        table = written(mask, [4.9, 4.95, 0.0, None], [52.3, 52.4, 0.0, None])

    assert verdict(mask, table).holds
    off = table.with_columns(x=pl.col("x") + pl.Series([1e-6, 0, 0, 0]))
    assert verdict(mask, off).found == {"other_points": 1}
    half = table.with_columns(y=pl.col("y").replace(table["y"][0], None))
    assert not verdict(mask, half).holds
    assert not verdict(GridCentres(columns=("x", "y"), width=1001), table).holds
    metres = GridCentres(columns=("x", "y"), width=1000, unit="metres")
    assert not verdict(metres, table).holds


def test_text_cells_of_csv_are_read():
    mask = GridCentres(columns=("x", "y"), unit="metres", width=10)
    (claim,) = mask.claims(mask.columns, pl.DataFrame)

    for cells, holds in (["5", "15.0"], True), (["5", "15.1"], False):
        table = pl.LazyFrame({"x": cells, "y": ["5", "5"]})
        assert MASK_CHECKS[claim.model](claim, table).holds == holds


def test_parameters_that_cannot_be():
    wrongs: list[dict[str, Any]] = [
        {"width": 0.5},
        {"width": 1e8},
        {"unit": "miles"},
        {"columns": ("x",)},
        {"person": "id"},
        {"domain": "d"},
    ]
    for wrong in wrongs:
        with pytest.raises(ParameterError):
            GridCentres(**{"columns": ("x", "y"), "width": 10, **wrong})

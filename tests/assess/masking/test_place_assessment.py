"""Risk and utility of points that were moved, together."""

from __future__ import annotations

import json

import numpy as np
import polars as pl

from halfmask.assess.masking import assess_places
from halfmask.geo import AreaMap, PlaceColumns, PointMap, Points
from halfmask.plots.geo_map import GeoMap
from halfmask.release import PicturesBlock, TableBlock

N = 400
COLUMNS = PlaceColumns(("lon", "lat"))


def homes_of_a_town():
    rng = np.random.default_rng(0)
    return Points(x=4.8 + 0.1 * rng.random(N), y=52 + 0.1 * rng.random(N))


def as_table(points):
    return pl.DataFrame({"p": np.arange(N), "lon": points.x, "lat": points.y})


def test_moved_points_are_measured_and_attacked():
    homes = homes_of_a_town()
    rng = np.random.default_rng(1)
    addresses = PointMap(points=homes, people=np.ones(N))
    districts = AreaMap(names=pl.Series(["west", "east"]), centres=Points(
        x=np.array([4.8, 4.9]), y=np.array([52.05, 52.05])
    ))  # fmt: skip
    near = homes.moved(*rng.normal(0, 5, (2, N)))
    found = assess_places(
        as_table(homes), as_table(near), COLUMNS, maps=[districts, addresses], k=5, person="p"
    )
    assert found is not None
    assert [it.by for it in found.risks] == ["addresses"]
    assert found.risks[0].share_under_k > 0.9
    assert found.utility.areas == 2
    assert {it.outcome.attack for it in found.findings} == {
        "places/affine-break", "places/snapping"
    }  # fmt: skip
    assert (found.warning or "").startswith("Places can be found: places/")
    said = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(said)["columns"] == ["lon", "lat"]
    *tables, drawn = found.blocks()
    titles = [it.title.split(" in ")[0] for it in tables]
    assert titles == ["Places", "People near masked places", "Attacks on places"]
    for block in tables:
        assert isinstance(block, TableBlock)
        assert all(len(row) == len(block.columns) for row in block.rows)

    # The page has masked points alone; the owner's picture has both.
    assert isinstance(drawn, PicturesBlock)
    (_, released, _), = drawn.pictures  # fmt: skip
    assert isinstance(released, GeoMap)
    assert released.before is None
    assert released.after is not None
    assert np.array_equal(released.after, np.column_stack((near.x, near.y)))
    assert 'class="before"' not in released.svg()
    assert found.to_svg().count('class="before"') == found.to_svg().count('class="after"') == N + 1
    assert "before" not in found.to_dict()
    assert str(homes.x[0]) not in repr(found)


def test_points_without_maps_and_without_rows():
    homes = homes_of_a_town()
    far = homes.moved(np.full(N, 3e4), np.zeros(N))
    found = assess_places(as_table(homes), as_table(far), COLUMNS)
    assert found is not None
    assert found.risks == ()
    assert next(it.title for it in found.blocks()) == "Places in 'lon' and 'lat'"
    gone = as_table(homes).with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in COLUMNS.columns
    )
    assert assess_places(gone, gone, COLUMNS) is None

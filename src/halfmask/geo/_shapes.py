"""Shapes of a map: read from files, cut where longitudes end, and found by a point."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import shapely
from shapely.geometry import shape

from halfmask._errors import DataError
from halfmask._foreign import foreign, need
from halfmask.geo._centres import each_pair_once
from halfmask.geo.points import METRES, Points, on_flat

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.geo.points import Unit

#: How near two areas touch, in sides of an area of usual size: borders of files don't quite meet.
_NEAR = 1e-3
#: The numbers of shapely for points, lines and polygons, single and multiple.
_POINTS, _LINES, _POLYGONS = {0, 4}, {1, 2, 5}, {3, 6}


def read_shapes(path: Path) -> tuple[pl.DataFrame, Any, str | None]:
    """Return properties, shapes and the reference system of a file of features."""
    read = _read_geojson if "json" in path.name.lower() else _read_with_gdal
    with foreign("The file of a map can't be read", hint="Check that it is there and whole."):
        table, shapes, crs = read(path)
    empty = int((shapely.is_missing(shapes) | shapely.is_empty(shapes)).sum())
    if empty or not len(shapes):
        raise DataError(
            f"{empty} of {len(shapes)} features of a map have no shape.",
            hint="Leave such features out of the file.",
        )
    return table, shapes, crs


def _read_with_gdal(path: Path) -> tuple[pl.DataFrame, Any, str | None]:
    need("pyogrio")
    import pyogrio  # noqa: PLC0415 - an extra of its own

    meta, _, shapes, values = pyogrio.raw.read(path, force_2d=True)
    columns = zip(meta["fields"], values, strict=True)
    table = pl.DataFrame({name: pl.Series(it.tolist(), strict=False) for name, it in columns})
    return table, shapely.from_wkb(shapes), meta["crs"]


def _read_geojson(path: Path) -> tuple[pl.DataFrame, Any, str | None]:
    raw = path.read_bytes()
    found = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    features = found.get("features") if isinstance(found, dict) else None
    if not isinstance(features, list):
        raise DataError(
            "The file of a map has no list of features.",
            hint="Save it as GeoJSON with a FeatureCollection; TopoJSON isn't read.",
        )
    own = [{"id": it.get("id")} | (it.get("properties") or {}) for it in features]
    names = dict.fromkeys(name for it in own for name in it)
    table = pl.DataFrame(
        {name: pl.Series(name, [it.get(name) for it in own], strict=False) for name in names}
    )
    shapes = [shape(it["geometry"]) if it.get("geometry") else None for it in features]
    named = (found.get("crs") or {}).get("properties", {}).get("name", "")
    crs = named.removeprefix("urn:ogc:def:crs:").replace(":1.3:", ":").replace("::", ":")
    return table, shapely.force_2d(np.array(shapes, dtype=object)), crs or None


def points_of(shapes: Any, *, named: bool) -> NDArray[np.float64] | None:  # noqa: ANN401 # of shapely
    """Return points, or those that lines without names are made of; ``None`` for areas."""
    kinds = set(shapely.get_type_id(shapes).tolist())
    at: NDArray[np.float64] = shapely.get_coordinates(shapes)
    if kinds <= _POLYGONS:
        return None
    if kinds <= _LINES and not named:
        return np.unique(at, axis=0)
    if kinds <= _POINTS and len(at) == len(shapes):
        return at
    raise DataError(
        "A map must have one point a feature, only areas, or only lines without names and people.",
        hint="Save features of each kind as a map of their own.",
    )


def whole_areas(shapes: Any, *, on_earth: bool) -> Any:  # noqa: ANN401 # arrays of shapely
    """Return valid polygons; those that cross the end of longitudes are cut there."""
    if on_earth:
        west, south, east, north = shapely.bounds(shapes).T
        beyond = int(((west < -360) | (east > 360) | (south < -90) | (north > 90)).sum())
        if beyond:
            raise DataError(
                f"{beyond} of {len(shapes)} areas of a map lie beyond the earth.",
                hint='Declare what they are in, such as unit = "metres" and crs = "EPSG:28992".',
            )
        far = (east - west > 180) | (west < -180) | (east > 180)
        shapes = shapes.copy()
        shapes[far] = [_cut(each) for each in shapes[far]]
    invalid = int((~shapely.is_valid(shapes)).sum())
    if invalid:
        raise DataError(
            f"{invalid} of {len(shapes)} areas of a map have borders that cross themselves.",
            hint="Mend them in the file: Fix geometries of QGIS does, and make_valid of shapely.",
        )
    return shapes


def _cut(area: Any) -> Any:  # noqa: ANN401 # of shapely
    """Return an area within -180 to 180, as RFC 7946 has it (section 3.1.9)."""
    found = []
    for part in shapely.get_parts(area):
        shell, *holes = (
            _unrolled(shapely.get_coordinates(ring)) for ring in (part.exterior, *part.interiors)
        )
        for hole in holes:  # on the same turn as what it is in
            hole[:, 0] += 360.0 * (hole[:, 0].min() < shell[:, 0].min())
            hole[:, 0] -= 360.0 * (hole[:, 0].max() > shell[:, 0].max())
        whole = shapely.Polygon(shell, holes)
        if not whole.is_valid:
            return area  # which isn't, either
        for turn in (-360, 0, 360):
            piece = whole & shapely.box(turn - 180, -90, turn + 180, 90)
            found.append(shapely.transform(piece, lambda at, turn=turn: at - [turn, 0]))
    polygons = [it for it in shapely.get_parts(found) if it.geom_type == "Polygon"]
    return shapely.union_all(polygons)


def _unrolled(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ring that takes the shorter way between longitudes, unless it goes all round.

    One round a pole goes along the pole, too.
    """
    step = np.diff(ring[:, 0])
    jumps = (np.abs(step) > 180) & (np.abs(step) < 360)
    ring[1:, 0] -= 360 * np.cumsum(np.sign(step) * jumps)
    if ring[0, 0] == ring[-1, 0]:
        return ring
    pole = np.copysign(90, ring[:, 1].mean())
    return np.vstack((ring, [[ring[-1, 0], pole], [ring[0, 0], pole], ring[0]]))


def outline_of(shapes: Any, unit: Unit, crs: str | None) -> dict[str, Any]:  # noqa: ANN401 # arrays
    """Return areas as one in GeoJSON, in longitude and latitude where their system is known.

    Outer rings run counterclockwise, as RFC 7946 asks: some programs draw others inside out.
    """

    def in_degrees(at: NDArray[np.float64]) -> NDArray[np.float64]:
        points = Points(x=at[:, 0], y=at[:, 1], unit=unit, crs=crs).in_system("degrees", None)
        return np.column_stack((points.x, points.y)).round(7)  # a centimetre

    area = shapes[0] if len(shapes) == 1 else shapely.union_all(shapes)
    area = area if crs is None else shapely.transform(area, in_degrees)
    found: dict[str, Any] = json.loads(shapely.to_geojson(shapely.reverse(shapely.normalize(area))))
    return found


class AreaIndex:
    """Finds areas by points that lie in them, or not further than ``reach`` metres off."""

    def __init__(self, shapes: Any, unit: Unit, reach: float) -> None:  # noqa: ANN401 # of shapely
        self._shapes, self._unit, self._reach = shapes, unit, reach
        shapely.prepare(shapes)
        # The first question builds what GEOS prepares, which several threads may not do at once.
        west, south, east, north = shapely.bounds(shapes).T
        shapely.intersects_xy(shapes, (west + east) / 2, (south + north) / 2)
        self._tree = shapely.STRtree(shapes)

    def __reduce__(self) -> tuple[type[AreaIndex], tuple[Any, Unit, float]]:
        return AreaIndex, (self._shapes, self._unit, self._reach)  # prepared shapes aren't pickled

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the area that has each point, or the nearest one in reach; -1 where none is."""
        found = self._inside(points)
        out = np.flatnonzero((found < 0) & points.present)
        if self._reach and len(out):
            at = shapely.points(points.x[out], points.y[out])
            each = METRES.get(self._unit, 111_319.49)  # a degree, at the equator
            if self._unit == "degrees":
                each *= max(0.01, np.cos(np.radians(np.abs(points.y[out]).max())))
            far = 1.1 * self._reach / each
            which, area = self._tree.query(at, predicate="dwithin", distance=far)
            ways = shapely.get_coordinates(shapely.shortest_line(at[which], self._shapes[area])).T
            one, other = (
                Points(x=it[0], y=it[1], unit=self._unit) for it in (ways[:, ::2], ways[:, 1::2])
            )
            # The nearest in degrees needn't be so in metres.
            metres = one.metres_to(other)
            order = np.lexsort((area, metres.round(3), which))
            order = order[metres[order] <= self._reach]
            held, first = np.unique(which[order], return_index=True)
            found[out[held]] = area[order[first]]
        return found

    def _inside(self, points: Points) -> NDArray[np.int64]:
        """Return the lowest number of the areas that have each point; -1 where none has."""
        there = np.flatnonzero(points.present)
        if self._unit == "degrees":  # longitude 180 is -180, too
            there = np.append(there, np.flatnonzero(np.abs(points.x) == 180))
        x, y = points.x[there], points.y[there]
        x[points.present.sum() :] *= -1
        at, area = self._tree.query(shapely.points(x, y))
        held = shapely.intersects_xy(self._shapes[area], x[at], y[at])
        found = np.full(len(points), len(self._shapes), dtype=np.int64)
        np.minimum.at(found, there[at[held]], area[held])
        return np.where(found == len(self._shapes), -1, found)

    def neighbours(self) -> NDArray[np.int64]:
        """Return pairs of areas that touch, the lower number first."""
        west, south, east, north = shapely.bounds(self._shapes).T
        near = _NEAR * float(np.median(np.sqrt((east - west) * (north - south))))
        found = [self._tree.query(self._shapes, predicate="dwithin", distance=near)]
        if self._unit == "degrees":  # those at -180 touch those at 180
            edge = np.flatnonzero(west - near <= -180)
            moved = shapely.transform(self._shapes[edge], lambda at: np.add(at, [360, 0]))
            one, other = self._tree.query(moved, predicate="dwithin", distance=near)
            found.append(np.stack((edge[one], other)))
        return each_pair_once(np.hstack(found).T)

    def square_kilometres(self) -> NDArray[np.float64]:
        """Return how large each area is."""
        flat = partial(on_flat, unit=self._unit)
        metres: NDArray[np.float64] = shapely.area(shapely.transform(self._shapes, flat))
        return metres / 1e6

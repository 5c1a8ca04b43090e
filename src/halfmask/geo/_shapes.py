"""Shapes of a map: read from files, cut where longitudes end, and found by a point."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import shapely
from shapely.geometry import shape

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask._foreign import foreign, need
from halfmask.geo._centres import ordered_pairs
from halfmask.geo.points import Points

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from halfmask.geo.points import Unit

#: How near two areas touch, in sides of an area of usual size: borders of files don't quite meet.
_NEAR = 1e-3
_POINTS, _LINES, _POLYGONS = {0, 4}, {1, 2, 5}, {3, 6}


def read_shapes(path: Path, wanted: list[str]) -> tuple[pl.DataFrame, Any, str | None]:
    """Return properties, shapes and the reference system of a file of features."""
    read = _read_geojson if "json" in path.name.lower() else _read_with_gdal
    with foreign("The file of a map can't be read", hint="Check that it is there and whole."):
        table, shapes, crs = read(path, wanted)
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, table.columns, where="the map")
    return table, shapes, crs


def _read_with_gdal(path: Path, wanted: list[str]) -> tuple[pl.DataFrame, Any, str | None]:
    need("pyogrio")
    import pyogrio  # noqa: PLC0415 - an extra

    meta, _, shapes, values = pyogrio.raw.read(path, force_2d=True)
    table = pl.DataFrame({name: list(it) for name, it in zip(meta["fields"], values, strict=True)})
    return table, shapely.from_wkb(shapes), meta["crs"]


def _read_geojson(path: Path, wanted: list[str]) -> tuple[pl.DataFrame, Any, str | None]:
    raw = path.read_bytes()
    found = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    if not isinstance(found, dict) or "features" not in found:
        raise DataError(
            "The file of a map has no collection of features.",
            hint="Save it as GeoJSON; TopoJSON isn't read.",
        )
    features = found["features"]
    own = [{"id": it.get("id")} | (it.get("properties") or {}) for it in features]
    names = dict.fromkeys(name for it in own for name in it)
    table = pl.DataFrame(
        {name: pl.Series(name, [it.get(name) for it in own], strict=False) for name in names}
    )
    shapes = np.array([shape(it["geometry"]) if it.get("geometry") else None for it in features])
    code = str(found.get("crs", {}).get("properties", {}).get("name", ""))
    crs = code.removeprefix("urn:ogc:def:crs:").replace("::", ":").replace(":1.3:", ":")
    return table, shapely.force_2d(shapes), crs or None


def geometry_of(area: Any, unit: Unit, crs: str | None) -> dict[str, Any]:  # noqa: ANN401 # of shapely
    """Return an area as GeoJSON has it, in longitude and latitude where that is known."""
    if crs is not None:

        def in_degrees(at: NDArray[np.float64]) -> NDArray[np.float64]:
            found = Points(x=at[:, 0], y=at[:, 1], unit=unit, crs=crs).in_system("degrees", None)
            return np.column_stack((found.x, found.y))

        area = shapely.transform(area, in_degrees)
    found: dict[str, Any] = json.loads(shapely.to_geojson(area))
    return found


def points_of(shapes: Any) -> NDArray[np.float64] | None:  # noqa: ANN401 # an array of shapely
    """Return points, or those that lines are made of; ``None`` for areas.

    Raises
    ------
    DataError
        If shapes are missing, or of several kinds.
    """
    kinds = set(shapely.get_type_id(shapes).tolist())
    empty = int((shapely.is_missing(shapes) | shapely.is_empty(shapes)).sum())
    if empty:
        raise DataError(
            f"{empty} of {len(shapes)} features of a map have no shape.",
            hint="Leave them out of the file.",
        )
    if kinds <= _POLYGONS:
        return None
    if kinds <= _LINES:
        return np.unique(shapely.get_coordinates(shapes), axis=0)
    if kinds <= _POINTS:
        return shapely.get_coordinates(shapes)
    raise DataError("A map has features of several kinds.", hint="Give points, lines or areas.")


def whole_areas(shapes: Any, *, on_earth: bool) -> Any:  # noqa: ANN401 # arrays of shapely
    """Return polygons that are valid; those that cross the end of longitudes are cut there."""
    if on_earth:
        west, south, east, north = shapely.bounds(shapes).T
        beyond = int(((west < -360) | (east > 360) | (south < -90) | (north > 90)).sum())
        if beyond:
            raise DataError(
                f"{beyond} of {len(shapes)} areas of a map lie beyond the earth.",
                hint='Declare the unit and the system of the map, such as unit = "metres" and '
                'crs = "EPSG:28992".',
            )
        far = (east - west > 180) | (west < -180) | (east > 180)
        shapes = shapes.copy()
        shapes[far] = [_cut(each) for each in shapes[far]]
    invalid = int((~shapely.is_valid(shapes)).sum())
    if invalid:
        raise DataError(
            f"{invalid} of {len(shapes)} areas of a map have borders that cross themselves.",
            hint="Mend them in the file, as Fix geometries of QGIS or make_valid of shapely does.",
        )
    return shapes


def _cut(area: Any) -> Any:  # noqa: ANN401 # of shapely
    """Return an area within -180 to 180; RFC 7946, section 3.1.9."""
    found = []
    for part in shapely.get_parts(area):
        shell, *holes = (_unrolled(np.array(ring.coords)) for ring in _rings(part))
        for hole in holes:
            hole[:, 0] += 360 * ((hole[:, 0].min() < shell[:, 0].min()) - 0.0)
            hole[:, 0] -= 360 * ((hole[:, 0].max() > shell[:, 0].max()) - 0.0)
        whole = shapely.Polygon(shell, holes)
        if not whole.is_valid:
            return area
        for turn in (-360, 0, 360):
            piece = whole & shapely.box(turn - 180, -90, turn + 180, 90)
            moved = shapely.transform(piece, lambda at, turn=turn: at - [turn, 0])
            found += [it for it in shapely.get_parts(moved) if it.geom_type == "Polygon"]
    return shapely.union_all(found)


def _rings(polygon: Any) -> list[Any]:  # noqa: ANN401 # of shapely
    return [polygon.exterior, *polygon.interiors]


def _unrolled(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a ring without jumps of longitude; one round a pole goes along the pole, too."""
    step = np.diff(ring[:, 0])
    at_pole = (np.abs(ring[1:, 1]) == 90) & (np.abs(ring[:-1, 1]) == 90)
    jumps = (np.abs(step) > 180) & (np.abs(step) < 360) & ~at_pole
    ring = ring.copy()
    ring[1:, 0] -= 360 * np.cumsum(np.sign(step) * jumps)
    if ring[0, 0] == ring[-1, 0]:
        return ring
    pole = np.copysign(90, ring[:, 1].mean())
    return np.vstack((ring, [[ring[-1, 0], pole], [ring[0, 0], pole], ring[0]]))


class AreaIndex:
    """Finds areas by points that lie in them."""

    def __init__(self, shapes: Any, *, on_earth: bool) -> None:  # noqa: ANN401 # of shapely
        self._shapes, self._on_earth = shapes, on_earth
        shapely.prepare(shapes)
        self._tree = shapely.STRtree(shapes)

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the lowest number of an area that has each point; -1 where none has."""
        found = np.full(len(points), len(self._shapes), dtype=np.int64)
        there = np.flatnonzero(points.present)
        x, y = points.x[there], points.y[there]
        if self._on_earth:  # the same point has two longitudes, or at a pole all
            edge = np.abs(x) == 180
            there, x, y = (np.append(it, it[edge]) for it in (there, x, y))
            x[len(edge) :] *= -1
            for pole in (-90, 90):
                line = shapely.LineString([(-180, pole), (180, pole)])
                held = np.flatnonzero(shapely.intersects(self._shapes, line))
                if len(held):
                    found[points.present & (points.y == pole)] = held[0]
        at, area = self._tree.query(shapely.points(x, y))
        held = shapely.intersects_xy(self._shapes[area], x[at], y[at])
        np.minimum.at(found, there[at[held]], area[held])
        found[found == len(self._shapes)] = -1
        return found

    def neighbours(self) -> NDArray[np.int64]:
        """Return pairs of areas that touch, the lower number first."""
        west, south, east, north = shapely.bounds(self._shapes).T
        near = _NEAR * float(np.median(np.sqrt((east - west) * (north - south))))
        found = [self._tree.query(self._shapes, predicate="dwithin", distance=near)]
        edge = np.flatnonzero(west - near <= -180) if self._on_earth else []
        if len(edge):  # they touch those at 180
            moved = shapely.transform(self._shapes[edge], lambda at: at + [360, 0])
            one, other = self._tree.query(moved, predicate="dwithin", distance=near)
            found.append(np.stack((edge[one], other)))
        return ordered_pairs(np.hstack(found).T)

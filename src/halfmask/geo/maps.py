"""Maps that an owner has: addresses, streets, areas and how many people live there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._validation import is_text, list_of
from halfmask.data import ReadOptions, open_table
from halfmask.geo.points import PointColumns, Points, Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Files that only GDAL reads.
_OF_GDAL: Final = (".shp", ".gpkg", ".fgb", ".kml", ".gml", ".zip")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapFile:
    """A file of points or of areas: ``[maps.NAME]`` of a policy.

    Parameters
    ----------
    file
        A table (CSV, Parquet) of points or of named areas, or GeoJSON; relative to the policy.
    points, unit, crs
        The columns of points, or of the centres of areas; see `PointColumns`. The system of the
        coordinates of polygons.
    name
        The column or property that names an area; without it a table is one of points.
    parents
        Columns or properties that name what an area is part of, the smallest first.
    people
        The column or property with the number of people or households; by default each point
        stands for one.
    """

    file: str
    points: tuple[str, str] | None = None
    unit: Unit = "degrees"
    crs: str | None = None
    name: str | None = None
    parents: tuple[str, ...] = ()
    people: str | None = None

    def __post_init__(self) -> None:
        list_of("names of columns", is_text, owner="MapFile", parents=self.parents)
        object.__setattr__(self, "parents", tuple(self.parents))
        if self.points is not None:
            columns = PointColumns(self.points, self.unit, self.crs).columns
            object.__setattr__(self, "points", columns)
        if self.parents and self.name is None:
            raise ParameterError("A map with 'parents' needs 'name', the column of its areas.")

    def opened(self, folder: Path | None) -> PointMap | AreaMap:
        """Return what the file has.

        Parameters
        ----------
        folder
            Where the file is.

        Raises
        ------
        MissingDependencyError
            If the file needs a library that isn't installed.
        DataError
            If it can't be read, or has areas without a name, shape or number of people.
        """
        path = Path(folder or "", self.file)
        wanted = [it for it in (self.name, *self.parents, self.people) if it is not None]
        suffix = "".join(path.suffixes[-2:]).lower().removesuffix(".gz")
        if suffix.endswith((".geojson", ".json", *_OF_GDAL)):
            return self._of_shapes(path, wanted)
        texts = dict.fromkeys((it for it in (self.name, *self.parents) if it), "string")
        source = open_table(path, options=ReadOptions(dtypes=texts), called="The map")
        columns = dict.fromkeys((*(self.points or ()), *wanted))
        table = source.read(columns=list(columns))
        if self.points is None and self.name is None:
            raise SchemaError(
                "A map in a table needs columns.",
                hint='Declare points = ["longitude", "latitude"], or the name of its areas.',
            )
        if self.points is None:
            return self._areas(table)
        points = PointColumns(self.points, self.unit, self.crs).read(table, called="the map")
        if not points.present.all():
            raise DataError(
                f"{(~points.present).sum()} of {len(points)} rows of a map have no point."
            )
        if self.name is None:
            return PointMap(points=points, people=self._people(table, 1.0))
        return self._areas(table, centres=points)

    def _of_shapes(self, path: Path, wanted: list[str]) -> PointMap | AreaMap:
        need("shapely")
        from halfmask.geo import _shapes  # noqa: PLC0415 - an extra

        table, shapes, crs = _shapes.read_shapes(path, wanted)
        crs, unit = self.crs or crs, self.unit
        at = _shapes.points_of(shapes)
        if at is not None:
            points = Points(x=at[:, 0], y=at[:, 1], unit=unit, crs=crs).checked(("x", "y"))
            if self.name is not None:
                return self._areas(table, centres=points)
            people = np.ones(len(at)) if len(at) != len(table) else self._people(table, 1.0)
            return PointMap(points=points, people=people)
        if self.name is None:
            table = table.with_columns(pl.Series("", range(1, table.height + 1)).cast(str))
        shapes = _shapes.whole_areas(shapes, on_earth=unit == "degrees")
        return self._areas(table, shapes=shapes, unit=unit, crs=crs)

    def _areas(self, table: pl.DataFrame, **where: Any) -> AreaMap:  # noqa: ANN401 # of AreaMap
        name = self.name or ""
        names, *parents = (_texts(table[it]) for it in (name, *self.parents))
        twice = len(names) - names.n_unique()
        if twice:
            raise DataError(
                f"{twice} of {len(names)} areas of a map have the name of another one.",
                hint="Dissolve areas of one name, or choose a column that names each.",
            )
        people = None if self.people is None else self._people(table, 0.0)
        return AreaMap(names=names, parents=tuple(parents), people=people, **where)

    def _people(self, table: pl.DataFrame, default: float) -> NDArray[np.float64]:
        if self.people is None:
            return np.full(table.height, default)
        column = table[self.people]
        if not column.dtype.is_numeric():
            raise SchemaError(
                f"Column {self.people!r} of a map holds numbers of people. Got the type "
                f"{column.dtype.base_type()}."
            )
        people = column.cast(float).to_numpy()
        wrong = int((~(np.isfinite(people) & (people >= 0))).sum())
        if wrong:
            raise DataError(
                f"Column {self.people!r} of a map is missing or below 0 in {wrong} of "
                f"{len(people)} rows."
            )
        return people


def _texts(column: pl.Series) -> pl.Series:
    """Return names as texts; whole numbers are names, too."""
    if not (column.dtype == pl.String or column.dtype.is_integer()):
        raise SchemaError(
            f"Column {column.name!r} of a map holds names. Got the type {column.dtype.base_type()}."
        )
    column = column.cast(pl.String)
    unnamed = int((column.is_null() | (column.str.strip_chars() == "")).sum())
    if unnamed:
        raise DataError(f"Column {column.name!r} names no area in {unnamed} of {len(column)} rows.")
    return column


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointMap:
    """Points with the number of people at each, such as all addresses of a town."""

    points: Points
    people: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AreaMap:
    """Named areas, with polygons, with centres, or with neither."""

    names: pl.Series = field(repr=False)
    parents: tuple[pl.Series, ...] = field(default=(), repr=False)
    people: NDArray[np.float64] | None = field(default=None, repr=False)
    shapes: Any = field(default=None, repr=False)  # an array of shapely
    centres: Points | None = None
    unit: Unit = "degrees"  # of shapes, and their system
    crs: str | None = None
    _index: Any = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        index: Any = None
        if self.shapes is not None:
            from halfmask.geo._shapes import AreaIndex  # noqa: PLC0415 - an extra

            index = AreaIndex(self.shapes, on_earth=self.unit == "degrees")
        elif self.centres is not None:
            from halfmask.geo._centres import CentreIndex  # noqa: PLC0415 - an extra

            index = CentreIndex(self.centres)
            object.__setattr__(self, "unit", self.centres.unit)
            object.__setattr__(self, "crs", self.centres.crs)
        object.__setattr__(self, "_index", index)

    def __len__(self) -> int:
        return len(self.names)

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the number of the area of each point, of the nearest centre; -1 where none is.

        Of areas that share a border, the point on it lies in the one with the lowest number.
        """
        return self._found().locate(points.in_system(self.unit, self.crs))

    def contains(self, points: Points) -> NDArray[np.bool_]:
        """Return whether each point lies in an area."""
        return self.locate(points) >= 0

    def neighbours(self) -> NDArray[np.int64]:
        """Return the pairs of areas that touch each other, shape (pairs, 2).

        Centres are neighbours where they are so in Delaunay's triangles.
        """
        return self._found().neighbours()

    def outline(self, number: int) -> dict[str, Any] | None:
        """Return the polygon of an area as GeoJSON has it, or its centre; ``None`` without both.

        In longitude and latitude where the system of x and y is known.
        """
        if self._index is None:
            return None
        if self.centres is None:
            from halfmask.geo._shapes import geometry_of  # noqa: PLC0415 - an extra

            return geometry_of(self.shapes[number], self.unit, self.crs)
        centre = self.centres.take(np.array([number]))
        centre = centre if centre.crs is None else centre.in_system("degrees", None)
        return {"type": "Point", "coordinates": [float(centre.x[0]), float(centre.y[0])]}

    def _found(self) -> Any:  # noqa: ANN401 # of shapes or centres
        if self._index is None:
            raise DataError(
                "This needs a map with places. The map has names and people.",
                hint="Declare points, the centres of its areas, or give a file with polygons.",
            )
        return self._index


#: Opened maps by their names in a policy.
Maps: TypeAlias = "dict[str, PointMap | AreaMap]"

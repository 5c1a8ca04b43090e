"""Maps that an owner has: addresses, streets, areas and how many people live there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._validation import is_text, list_of, number_between
from halfmask.data import ReadOptions, open_table
from halfmask.geo.points import PlaceColumns, Points, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.geo._centres import CentreIndex
    from halfmask.geo._shapes import AreaIndex

#: Files of shapes, which may be compressed; all but the first two need GDAL.
_OF_SHAPES: Final = (".geojson", ".json", ".shp", ".gpkg", ".fgb", ".kml", ".gml", ".zip")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapFile:
    """A file of points or of areas: ``[maps.NAME]`` of a policy.

    Parameters
    ----------
    file
        A table (CSV, Parquet) of points or of named areas, or GeoJSON; relative to the policy.
    points, unit, crs
        The columns of points, or of the centres of areas; see `PlaceColumns`. The unit and system
        of the coordinates of shapes.
    name
        The column or property that names an area; without it a table is one of points.
    parents
        Columns or properties that name what an area is part of, the smallest first.
    people
        The column or property with the number of people or households; by default each point
        stands for one.
    reach
        How many metres beyond all polygons a point still belongs to the nearest one, as on a
        coast that is drawn roughly.
    """

    file: str
    points: tuple[str, str] | None = None
    unit: Unit = "degrees"
    crs: str | None = None
    name: str | None = None
    parents: tuple[str, ...] = ()
    people: str | None = None
    reach: float = 0.0

    def __post_init__(self) -> None:
        list_of("names of columns", is_text, owner="MapFile", parents=self.parents)
        number_between(0, np.inf, owner="MapFile", reach=self.reach)
        PlaceColumns(self.points or ("x", "y"), self.unit)
        if self.parents and self.name is None:
            raise ParameterError("A map with parents needs the name of its areas.")
        for name, given in (("points", self.points), ("parents", self.parents)):
            object.__setattr__(self, name, None if given is None else tuple(given))

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
        if path.name.lower().removesuffix(".gz").endswith(_OF_SHAPES):
            return self._of_shapes(path)
        if self.points is None and self.name is None:
            raise SchemaError(
                "A map in a table needs points, or the name of its areas.",
                hint='Write points = ["longitude", "latitude"].',
            )
        texts = dict.fromkeys(filter(None, (self.name, *self.parents)), "string")
        source = open_table(path, options=ReadOptions(dtypes=texts), called="The map")
        table = source.read(columns=self._columns(source.columns, self.points or ()))
        if self.points is None:
            return self._areas(table)
        where = PlaceColumns(self.points, self.unit, self.crs)
        return self._with_points(table, where.read(table, called="the map"))

    def _columns(self, available: Sequence[str], points: Sequence[str] = ()) -> list[str]:
        """Return the columns that are asked for; raise if one isn't there."""
        named = filter(None, (*points, self.name, *self.parents, self.people))
        wanted = list(dict.fromkeys(named))
        absent = [name for name in wanted if name not in available]
        if absent:
            raise ColumnNotFoundError.of(absent, available, where="the map")
        return wanted

    def _with_points(self, table: pl.DataFrame, points: Points) -> PointMap | AreaMap:
        lost = int((~points.present).sum())
        if lost:
            raise DataError(f"{lost} of {len(points)} features of the map have no point.")
        if self.name is not None:
            return self._areas(table, centres=points)
        people = np.ones(len(points)) if self.people is None else self._people(table)
        return PointMap(points=points, people=people)

    def _of_shapes(self, path: Path) -> PointMap | AreaMap:
        need("shapely")
        from halfmask.geo import _shapes  # noqa: PLC0415 - an extra

        table, shapes, crs = _shapes.read_shapes(path)
        self._columns(table.columns)
        where: dict[str, Any] = {"unit": self.unit, "crs": self.crs or crs}
        at = _shapes.points_of(shapes, named=bool(self.name or self.people))
        if at is not None:
            points = Points(x=at[:, 0], y=at[:, 1], **where).checked(("x", "y"))
            return self._with_points(table, points)
        shapes = _shapes.whole_areas(shapes, on_earth=self.unit == "degrees")
        return self._areas(table, shapes=shapes, reach=self.reach, **where)

    def _areas(self, table: pl.DataFrame, **where: Any) -> AreaMap:  # noqa: ANN401 # of AreaMap
        numbers = pl.Series([str(number) for number in range(1, table.height + 1)])
        names = numbers if self.name is None else _names(table[self.name])
        twice = len(names) - names.n_unique()
        if twice:
            raise DataError(
                f"{twice} of {len(names)} areas of the map have the name of another one.",
                hint="Dissolve areas of one name in the file, or choose names that differ.",
            )
        return AreaMap(
            names=names,
            parents=tuple(_names(table[name]) for name in self.parents),
            people=None if self.people is None else self._people(table),
            **where,
        )

    def _people(self, table: pl.DataFrame) -> NDArray[np.float64]:
        name = self.people or ""
        column = table[name]
        if not column.dtype.is_numeric():
            raise SchemaError(
                f"Column {name!r} of the map holds numbers of people. Got the type "
                f"{column.dtype.base_type()}."
            )
        people: NDArray[np.float64] = column.cast(float).to_numpy()
        wrong = int((~(np.isfinite(people) & (people >= 0))).sum())
        if wrong:
            raise DataError(
                f"Column {name!r} of the map has no number of people in {wrong} of {len(people)} "
                "rows: it is missing, below 0 or infinite.",
            )
        return people


def _names(column: pl.Series) -> pl.Series:
    """Return names as texts; whole numbers are names, too."""
    name = column.name
    if not (column.dtype == pl.String or column.dtype.is_integer()):
        raise SchemaError(
            f"Column {name!r} of the map holds names. Got the type {column.dtype.base_type()}."
        )
    column = column.cast(pl.String)
    unnamed = int((column.fill_null("").str.strip_chars() == "").sum())
    if unnamed:
        raise DataError(
            f"Column {name!r} of the map has no name in {unnamed} of {len(column)} rows."
        )
    return column


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointMap:
    """Points with the number of people at each, such as all addresses of a town.

    Parameters
    ----------
    points
        None is missing.
    people
        One number for each point.
    """

    points: Points
    people: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AreaMap:
    """Named areas, with polygons, with centres, or with neither.

    Parameters
    ----------
    names
        Texts, each once.
    parents
        What each area is part of, the smallest first.
    people
        How many live in each area.
    shapes, centres
        An array of shapely with valid polygons, or points.
    unit, crs
        Of the polygons, as of `PlaceColumns`; those of centres are their own.
    reach
        As of `MapFile`.
    """

    names: pl.Series = field(repr=False)
    parents: tuple[pl.Series, ...] = field(default=(), repr=False)
    people: NDArray[np.float64] | None = field(default=None, repr=False)
    shapes: Any = field(default=None, repr=False)
    centres: Points | None = None
    unit: Unit = "degrees"
    crs: str | None = None
    reach: float = 0.0
    _index: AreaIndex | CentreIndex | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        if self.shapes is not None:
            need("shapely")
            from halfmask.geo._shapes import AreaIndex  # noqa: PLC0415 - an extra

            index = AreaIndex(self.shapes, self.unit, self.reach)
            object.__setattr__(self, "_index", index)
        elif self.centres is not None:
            need("scipy")
            from halfmask.geo._centres import CentreIndex  # noqa: PLC0415 - an extra

            object.__setattr__(self, "unit", self.centres.unit)
            object.__setattr__(self, "crs", self.centres.crs)
            object.__setattr__(self, "_index", CentreIndex(self.centres))

    def __len__(self) -> int:
        return len(self.names)

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the number of the area of each point; -1 where none is.

        On a border it is the lowest number. With centres it is the nearest one.

        Parameters
        ----------
        points
            In any system that is known.
        """
        return self._found.locate(points.in_system(self.unit, self.crs))

    def neighbours(self) -> NDArray[np.int64]:
        """Return pairs of areas that touch, or of centres that Delaunay's triangles link."""
        return self._found.neighbours()

    def square_kilometres(self) -> NDArray[np.float64]:
        """Return how large each polygon is."""
        return self._found.square_kilometres()

    def outline(self, numbers: int | NDArray[np.int64]) -> dict[str, Any] | None:
        """Return areas as one, or their centres, as GeoJSON; ``None`` without both.

        It is in longitude and latitude where a reference system is known, else in x and y.

        Parameters
        ----------
        numbers
            Of the areas.
        """
        which = np.atleast_1d(numbers)
        if self.shapes is not None:
            from halfmask.geo._shapes import outline_of  # noqa: PLC0415 - an extra

            return outline_of(self.shapes[which], self.unit, self.crs)
        if self.centres is None:
            return None
        centres = self.centres.take(which)
        centres = centres if centres.crs is None else centres.in_system("degrees", None)
        at = np.column_stack((centres.x, centres.y)).tolist()
        if len(at) == 1:
            return {"type": "Point", "coordinates": at[0]}
        return {"type": "MultiPoint", "coordinates": at}

    @property
    def _found(self) -> AreaIndex | CentreIndex:
        if self._index is None:
            raise DataError(
                "This needs a map that says where its areas are.",
                hint="Give GeoJSON with polygons, or declare the points of their centres.",
            )
        return self._index


#: Opened maps by their names in a policy.
Maps: TypeAlias = "dict[str, PointMap | AreaMap]"

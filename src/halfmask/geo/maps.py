"""Maps that an owner has: addresses, streets, areas and how many people live there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from halfmask.geo.points import Points, Unit

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


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

    def opened(self, folder: Path | None) -> PointMap | AreaMap:
        """Return what the file has.

        Parameters
        ----------
        folder
            Where the file is.
        """
        raise NotImplementedError


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

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the number of the area of each point, of the nearest centre; -1 where none is."""
        raise NotImplementedError

    def neighbours(self) -> NDArray[np.int64]:
        """Return the pairs of areas that touch each other, shape (pairs, 2)."""
        raise NotImplementedError

    def outline(self, number: int) -> dict[str, Any] | None:
        """Return the polygon of an area as GeoJSON has it, or its centre."""
        raise NotImplementedError


#: Opened maps by their names in a policy.
Maps: TypeAlias = "dict[str, PointMap | AreaMap]"

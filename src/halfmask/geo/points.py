"""Points: which columns they are in, in what unit, and how far they are from each other.

Distances are those on the WGS84 ellipsoid, without a projection: points are put into space, where
the straight line between near ones is as long as the way on the ground (100 km: 1 m less). So
nothing is special at the poles or where longitudes end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask._validation import one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

#: What coordinates are in: degrees are longitude and latitude (WGS84), others x and y of a plane.
Unit: TypeAlias = Literal["degrees", "metres", "kilometres", "feet"]

_METRES: Final[dict[str, float]] = {"metres": 1.0, "kilometres": 1000.0, "feet": 0.3048}
_EQUATOR: Final = 6_378_137.0
_FLATTENING: Final = 1 / 298.257223563
_E2: Final = _FLATTENING * (2 - _FLATTENING)
_RADIUS: Final = 6_371_008.8  # of the sphere as large as the earth


@dataclass(frozen=True, slots=True)
class PointColumns:
    """The two columns of a point.

    Parameters
    ----------
    columns
        Longitude and latitude, in this order; of a plane, x and y.
    unit
        What both are in.
    crs
        The reference system of x and y, such as ``"EPSG:28992"``. Only maps in another system
        need it.
    """

    columns: tuple[str, str]
    unit: Unit = "degrees"
    crs: str | None = None

    def read(self, frame: pl.DataFrame) -> Points:
        """Return the points of a frame; a row without both coordinates has a missing point.

        Parameters
        ----------
        frame
            It has both columns.

        Raises
        ------
        DataError
            If coordinates can't be such, with the number of rows.
        """
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, frame.columns, where="the table")
        for name in self.columns:
            if not frame.schema[name].is_numeric():
                raise SchemaError(
                    f"Column {name!r} holds coordinates. Got the type "
                    f"{frame.schema[name].base_type()}."
                )
        x, y = (frame[name].cast(float).to_numpy().copy() for name in self.columns)
        n_half = int((np.isnan(x) != np.isnan(y)).sum())
        if n_half:
            raise DataError(f"{n_half} rows have one coordinate of {self.columns!r} and no other.")
        return Points(x=x, y=y, unit=self.unit, crs=self.crs).checked(self.columns)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points:
    """Points in one unit; missing ones are NaN.

    Parameters
    ----------
    x, y
        Longitude and latitude in degrees, or x and y in the unit.
    unit, crs
        As of `PointColumns`.
    """

    x: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.float64] = field(repr=False)
    unit: Unit = "degrees"
    crs: str | None = None

    def __post_init__(self) -> None:
        one_of(("degrees", *_METRES), owner="Points", unit=self.unit)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"<{len(self)} points in {self.unit}>"

    @property
    def on_earth(self) -> bool:
        """Whether they are longitudes and latitudes."""
        return self.unit == "degrees"

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which are not missing."""
        return ~np.isnan(self.x)

    def take(self, which: NDArray[np.generic]) -> Self:
        """Return some of them: by number, or by a mask."""
        return replace(self, x=self.x[which], y=self.y[which])

    def checked(self, columns: Sequence[str]) -> Self:
        """Return them if all can be such; missing ones can."""
        there = self.present
        x, y = self.x[there], self.y[there]
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise DataError(f"The columns {tuple(columns)!r} have infinite coordinates.")
        if self.on_earth:
            beyond = int(((np.abs(x) > 180) | (np.abs(y) > 90)).sum())
            if beyond:
                raise DataError(
                    f"{beyond} points of the columns {tuple(columns)!r} lie beyond the earth."
                )
        return self

    def in_space(self) -> NDArray[np.float64]:
        """Return them in metres, shape (n, 3) on the ellipsoid or (n, 2) in a plane."""
        if not self.on_earth:
            return np.column_stack((self.x, self.y)) * _METRES[self.unit]
        lon, lat = np.radians(self.x), np.radians(self.y)
        across = _EQUATOR / np.sqrt(1 - _E2 * np.sin(lat) ** 2)
        return np.column_stack(
            (
                across * np.cos(lat) * np.cos(lon),
                across * np.cos(lat) * np.sin(lon),
                across * (1 - _E2) * np.sin(lat),
            )
        )

    def moved(self, east: NDArray[np.float64], north: NDArray[np.float64]) -> Self:
        """Return them moved over the ground.

        Parameters
        ----------
        east, north
            Metres, one of each for each point; north is up in a plane.
        """
        if not self.on_earth:
            unit = _METRES[self.unit]
            return replace(self, x=self.x + east / unit, y=self.y + north / unit)
        far = np.hypot(east, north)
        # On the tangent plane the same angle is further away.
        stretch = np.ones_like(far)
        np.divide(_RADIUS * np.tan(far / _RADIUS), far, out=stretch, where=far > 0)
        lon, lat = np.radians(self.x), np.radians(self.y)
        eastwards = np.column_stack((-np.sin(lon), np.cos(lon), np.zeros_like(lon)))
        northwards = np.column_stack(
            (-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat))
        )
        found = self.in_space()
        found += eastwards * (east * stretch)[:, None] + northwards * (north * stretch)[:, None]
        x, y = _on_ground(found)
        return replace(self, x=x, y=y)

    def metres_to(self, others: Points) -> NDArray[np.float64]:
        """Return how far each is from the one of the same number in `others`."""
        straight = np.linalg.norm(self.in_space() - others.in_space(), axis=1)
        return straight if not self.on_earth else arc_of(straight)


def arc_of(straight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the way on the ground for straight lines between points of the earth, in metres."""
    return 2 * _RADIUS * np.arcsin(np.minimum(1.0, straight / (2 * _RADIUS)))


def straight_of(arc: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the straight lines for ways on the ground, in metres."""
    return 2 * _RADIUS * np.sin(np.minimum(np.pi / 2, arc / (2 * _RADIUS)))


def _on_ground(space: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return longitude and latitude of points in space; Bowring (1976)."""
    x, y, z = space.T
    polar = _EQUATOR * (1 - _FLATTENING)
    from_axis = np.hypot(x, y)
    angle = np.arctan2(z * _EQUATOR, from_axis * polar)
    lat = np.arctan2(
        z + _E2 / (1 - _E2) * polar * np.sin(angle) ** 3,
        from_axis - _E2 * _EQUATOR * np.cos(angle) ** 3,
    )
    return np.degrees(np.arctan2(y, x)), np.degrees(lat)

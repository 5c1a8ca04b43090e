"""Points: which columns they are in, in what unit, and how far they are from each other.

Distances are those on the WGS84 ellipsoid, without a projection: points are put into space, where
the straight line between near ones is as long as the way on the ground (100 km: 1 m less). So
nothing is special at the poles or where longitudes end.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import (
    ColumnNotFoundError,
    ColumnWarning,
    DataError,
    ParameterError,
    SchemaError,
)
from halfmask._foreign import foreign, need
from halfmask._validation import is_text, list_of, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: What coordinates are in: degrees are longitude and latitude (WGS84), others x and y of a plane.
Unit: TypeAlias = Literal["degrees", "metres", "kilometres", "feet"]

#: How long a unit of x and y is.
METRES: Final[dict[str, float]] = {"metres": 1.0, "kilometres": 1000.0, "feet": 0.3048}
_EQUATOR: Final = 6_378_137.0
_FLATTENING: Final = 1 / 298.257223563
_E2: Final = _FLATTENING * (2 - _FLATTENING)
_RADIUS: Final = 6_371_008.8  # of the sphere as large as the earth
_WGS84: Final = ("OGC:CRS84", "CRS84", "EPSG:4326", "EPSG:4258", "EPSG:4269", "EPSG:4979")
_EASTWARDS: Final = {"x", "lon", "lng", "long", "longitude", "easting", "laenge"}
_MINUTES: Final = r"[°º\x27\x22\u2032\u2033]|\d[ :]+\d|[NSEWO]\s*$|^\s*[NSEWO]"
_NORTHWARDS: Final = {"y", "lat", "latitude", "northing", "breite"}


@dataclass(frozen=True, slots=True)
class PlaceColumns:
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

    def __post_init__(self) -> None:
        list_of("names of columns", is_text, owner="PlaceColumns", columns=self.columns)
        if len(set(self.columns)) != 2:
            raise ParameterError(
                "The 'columns' parameter of PlaceColumns must be two columns: longitude and "
                "latitude, or x and y."
            )
        one_of(("degrees", *METRES), owner="PlaceColumns", unit=self.unit)
        object.__setattr__(self, "columns", tuple(self.columns))

    def read(self, frame: pl.DataFrame, *, called: str = "the table") -> Points:
        """Return the points of a frame, missing where both coordinates are.

        Longitude and latitude of 0 stand for an unknown place: such a point is missing. Longitudes
        from 180 to 360 become those of the west. A `ColumnWarning` counts both.

        Parameters
        ----------
        frame
            It has both columns.
        called
            What the frame is, in errors.

        Raises
        ------
        DataError
            If coordinates can't be such, with the number of rows.
        SchemaError
            If a column isn't of numbers.
        """
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, frame.columns, where=called)
        for name in self.columns:
            _check_numbers(frame[name], declared=called == "the table")
        x, y = (frame[name].cast(float).to_numpy().copy() for name in self.columns)
        n_half = int((np.isnan(x) != np.isnan(y)).sum())
        if n_half:
            raise DataError(
                f"In {n_half} of {len(x)} rows of {called}, one of {self._listed} is missing and "
                "the other isn't.",
                hint="Make both missing, or leave these rows out.",
            )
        if self.unit == "degrees":
            self._check_order(x, y)
            self._settle(x, y)
        elif self._looks_like_degrees(x[np.isfinite(x)], y[np.isfinite(y)]):
            self._warn(f"they are read as {self.unit}, and look like degrees")
        return Points(x=x, y=y, unit=self.unit, crs=self.crs).checked(self.columns)

    @property
    def _listed(self) -> str:
        return " and ".join(map(repr, self.columns))

    def _check_order(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Refuse latitude before longitude: by their names, or since they are too great for it."""
        first, second = map(_words, self.columns)
        named = first & _NORTHWARDS and second & _EASTWARDS and not first & _EASTWARDS
        some = np.abs(y[np.isfinite(y)])
        # A few beyond are typing errors.
        great = (some > 90).sum() > len(some) / 20 and (some <= 180).all()
        if (named or great) and not (np.abs(x) > 90).any():
            raise DataError(
                f"Longitude and latitude are exchanged, as the "
                f"{'names' if named else 'numbers'} of the columns {self._listed} say.",
                hint=f"Write longitude first: {self.columns[1]!r}, {self.columns[0]!r}.",
            )

    def _settle(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        """Make points at 0, 0 missing, and longitudes beyond 180 those of the west."""
        unknown, west = (x == 0) & (y == 0), (x > 180) & (x <= 360) & (np.abs(y) <= 90)
        x[unknown] = y[unknown] = np.nan
        if unknown.any():
            self._warn(f"both are 0 in {unknown.sum()} of {len(x)} rows, which are read as missing")
        if west.any() and not (x < 0).any():
            x[west] -= 360
            self._warn(f"{west.sum()} of {len(x)} longitudes from 180 to 360 are read as west")

    def _looks_like_degrees(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
        """Return whether x and y fit the earth, and have names of it, or a hair's precision."""
        named = _words(self.columns[0]) & {"lon", "lng", "long", "longitude"}
        fine = self.unit != "kilometres" and (np.abs(x * 1e4 % 1 - 0.5) < 0.499).sum() > len(x) / 2
        fit = len(x) > 0 and (np.abs(x) <= 180).all() and (np.abs(y) <= 90).all()
        return bool(fit and (named or fine))

    def _warn(self, what: str) -> None:
        warnings.warn(f"Columns {self._listed}: {what}.", ColumnWarning, stacklevel=4)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points:
    """Points in one unit; missing ones are NaN.

    Parameters
    ----------
    x, y
        Longitude and latitude in degrees, or x and y in the unit.
    unit, crs
        As of `PlaceColumns`.
    """

    x: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.float64] = field(repr=False)
    unit: Unit = "degrees"
    crs: str | None = None

    def __post_init__(self) -> None:
        one_of(("degrees", *METRES), owner="Points", unit=self.unit)

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
        """Return some of them.

        Parameters
        ----------
        which
            Their numbers, or a mask.
        """
        return replace(self, x=self.x[which], y=self.y[which])

    def checked(self, columns: Sequence[str]) -> Self:
        """Return them if all can be such; missing ones can.

        Parameters
        ----------
        columns
            Where they are, for errors.
        """
        listed, there = " and ".join(map(repr, columns)), self.present
        x, y = np.abs(self.x), np.abs(self.y)
        infinite = int(np.isinf(x[there] + y[there]).sum())
        if infinite:
            raise DataError(f"{listed} are infinite in {infinite} of {len(self)} rows.")
        beyond = int(((x > 180) | (y > 90)).sum()) if self.on_earth else 0
        if beyond:
            plane = ((x > 360) | (y > 180)).sum() > there.sum() / 2
            raise DataError(
                f"{listed} lie beyond the earth in {beyond} of {len(self)} rows.",
                hint='They look like those of a plane: declare unit = "metres".'
                if plane
                else "Longitudes are from -180 to 180, and latitudes from -90 to 90.",
            )
        return self

    def in_space(self) -> NDArray[np.float64]:
        """Return them in metres, shape (n, 3) on the ellipsoid or (n, 2) in a plane."""
        if not self.on_earth:
            return np.column_stack((self.x, self.y)) * METRES[self.unit]
        lon, lat = np.radians(self.x), np.radians(self.y)
        across = _EQUATOR / np.sqrt(1 - _E2 * np.sin(lat) ** 2)
        return np.column_stack(
            (
                across * np.cos(lat) * np.cos(lon),
                across * np.cos(lat) * np.sin(lon),
                across * (1 - _E2) * np.sin(lat),
            )
        )

    def below(self, space: NDArray[np.float64]) -> Self:
        """Return the points on the ground below some in space.

        Parameters
        ----------
        space
            In metres, as of `in_space`.
        """
        x, y = _on_ground(space) if self.on_earth else (space / METRES[self.unit]).T
        return replace(self, x=x, y=y)

    def in_system(self, unit: Unit, crs: str | None) -> Self:
        """Return them in the unit and reference system of a map.

        Parameters
        ----------
        unit, crs
            As of `PlaceColumns`. Without a system, x and y are in the same one, whatever it is.

        Raises
        ------
        SchemaError
            If no system is known that would relate degrees to x and y.
        """
        own, other = _system(self.unit, self.crs), _system(unit, crs)
        if own and other and own.upper() != other.upper():
            change, (into, out) = _change((own, self.unit), (other, unit))
            more = (np.append(it * into, (0.0, 0.0)) for it in (self.x, self.y))
            x, y = (it[:-2] for it in change.transform(*more))  # an array of one is no array to it
            lost = ~np.isfinite(x) & self.present
            if lost.any():
                raise DataError(
                    f"{lost.sum()} of {len(self)} points lie beyond the system of a map."
                )
            x[~self.present] = y[~self.present] = np.nan
            return replace(self, x=x / out, y=y / out, unit=unit, crs=crs)
        if (unit == "degrees") != self.on_earth:
            raise SchemaError(
                f"Points in {self.unit} and a map in {unit} have nothing in common.",
                hint='Declare the reference system of x and y, such as crs = "EPSG:28992".',
            )
        ratio = 1.0 if unit == self.unit else METRES[self.unit] / METRES[unit]
        return replace(self, x=self.x * ratio, y=self.y * ratio, unit=unit, crs=crs or self.crs)

    def moved(self, east: NDArray[np.float64], north: NDArray[np.float64]) -> Self:
        """Return them moved over the ground.

        Parameters
        ----------
        east, north
            Metres, one of each for each point; north is up in a plane.
        """
        if not self.on_earth:
            unit = METRES[self.unit]
            return replace(self, x=self.x + east / unit, y=self.y + north / unit)
        # On the tangent plane the same angle is further away.
        far = _RADIUS * np.tan(np.hypot(east, north) / _RADIUS)
        along = _as_long(np.column_stack((east, north)), far)
        return self.below(self.in_space() + np.einsum("ij,jik->ik", along, self._axes()))

    def seen_from(self, centre: Points) -> NDArray[np.float64]:
        """Return metres east and north of a centre, each as far as over the ground.

        Parameters
        ----------
        centre
            In the same unit: one for all of them, or one for each.
        """
        off = self.in_space() - centre.in_space()
        if not self.on_earth:
            return off
        flat = np.column_stack([(off * axis).sum(axis=1) for axis in centre._axes()])
        return _as_long(flat, arc_of(np.linalg.norm(off, axis=1)))

    def _axes(self) -> NDArray[np.float64]:
        """Return which way is east and north at each point in space, shape (2, n, 3)."""
        lon, lat = np.radians(self.x), np.radians(self.y)
        east = np.column_stack((-np.sin(lon), np.cos(lon), np.zeros_like(lon)))
        down = -np.sin(lat)
        return np.stack(
            (east, np.column_stack((down * np.cos(lon), down * np.sin(lon), np.cos(lat))))
        )

    def metres_to(self, others: Points) -> NDArray[np.float64]:
        """Return how far each is from another point, over the ground.

        Parameters
        ----------
        others
            In the same unit; one for each.
        """
        straight = np.linalg.norm(self.in_space() - others.in_space(), axis=1)
        return straight if not self.on_earth else arc_of(straight)


def _words(name: str) -> set[str]:
    """Return the words of a column's name in small letters, as of ``homeLat`` or ``geo_lat``."""
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def _check_numbers(column: pl.Series, *, declared: bool) -> None:
    """Refuse a column that isn't of numbers, with what makes numbers of its texts if one may."""
    if column.dtype.is_numeric() or column.null_count() == len(column):
        return
    name, hint = column.name, "Coordinates are decimal numbers, such as 4.895 and 52.37."
    if column.dtype == pl.String:
        texts = column.drop_nulls()
        if not declared:
            hint += " Write such into the file of the map."
        elif texts.str.contains(r"^\s*[-+]?\d+,\d+\s*$").any():
            hint = f'Declare number_formats = {{ {name} = "1234,5" }} under [input].'
        elif texts.str.contains(_MINUTES).any():
            hint += " Turn degrees and minutes into such; those of the south and west are below 0."
        elif texts.str.contains(r"^\s*[-+]?\d+\.?\d*\s*$").any():
            hint = (
                f'Declare dtypes = {{ {name} = "float" }} under [input], and coerce = ["{name}"] '
                "to make cells that aren't numbers missing."
            )
    raise SchemaError(
        f"Column {name!r} holds coordinates. Got the type {column.dtype.base_type()}.", hint=hint
    )


def _system(unit: Unit, crs: str | None) -> str | None:
    """Return the name of a reference system; those within two metres of WGS84 share one."""
    return _WGS84[0] if unit == "degrees" and (crs is None or crs.upper() in _WGS84) else crs


@lru_cache(maxsize=16)
def _change(own: tuple[str, Unit], other: tuple[str, Unit]) -> tuple[Any, list[float]]:
    """Return what changes coordinates, and what the unit of each is in those of its system."""
    need("pyproj")
    from pyproj import CRS, Transformer  # noqa: PLC0415 - only for maps in other systems

    hint = 'Write its code, such as crs = "EPSG:28992".'
    with foreign("A reference system isn't known", hint=hint, told_as=ParameterError):
        systems = [CRS.from_user_input(name) for name, _ in (own, other)]
        change = Transformer.from_crs(systems[0], systems[1], always_xy=True)
    if any(
        it.is_projected == (each[1] == "degrees")
        for it, each in zip(systems, (own, other), strict=True)
    ):
        raise ParameterError("A reference system is of degrees and the unit isn't, or the reverse.")
    ratios = [
        1.0 if unit == "degrees" else METRES[unit] / system.axis_info[0].unit_conversion_factor
        for system, (_, unit) in zip(systems, (own, other), strict=True)
    ]
    return change, [1.0 if abs(it - 1) < 1e-5 else it for it in ratios]  # feet of surveyors


def on_flat(at: NDArray[np.float64], unit: Unit) -> NDArray[np.float64]:
    """Return coordinates in metres of a plane that keeps the size of areas."""
    if unit != "degrees":
        return at * METRES[unit]
    e, sine = np.sqrt(_E2), np.sin(np.radians(at[:, 1]))
    up = (1 - _E2) / 2 * (sine / (1 - (e * sine) ** 2) + np.arctanh(e * sine) / e)
    return np.column_stack((np.radians(at[:, 0]), up)) * _EQUATOR


def _as_long(moves: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return moves in the same directions, of other lengths; none where one is none."""
    own = np.hypot(*moves.T)
    return np.asarray(
        moves * np.divide(lengths, own, out=np.ones_like(own), where=own > 0)[:, None]
    )


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

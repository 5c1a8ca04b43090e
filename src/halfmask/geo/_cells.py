"""Square cells, each level a whole multiple of the one below."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import decimal, list_of, number_between, one_of
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._place_rule import PlaceRule, check_known, each_label, rooted
from halfmask.geo.points import METRES, Points, Unit

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

#: From pole to pole, and round the equator, in km.
_MERIDIAN: Final = 20_003.93
_EQUATOR: Final = 40_075.02
#: The widest cells, in km: half as wide as the earth is round.
WIDEST: Final = 20_000
#: How many cells from the origin a point of a plane may be.
_MOST: Final = 2**30
_MIDDLE: Final = re.compile(r"(\d+(?:\.\d+)?)([NS]) (\d+(?:\.\d+)?)([EW]) [\d.]+km")
_CORNER: Final = re.compile(r"x=(-?\d+(?:\.\d+)?) y=(-?\d+(?:\.\d+)?) [\d.]+km")


@dataclass(frozen=True)
class Cells(PlaceRule):
    """Square cells in ever wider grids, and the root ``"*"`` above.

    Parameters
    ----------
    widths
        The width of the cells of each level in kilometres, the narrowest first; each is a whole
        multiple of the one before.
    unit, crs
        As of `PlaceColumns`; outlines are longitudes and latitudes if `crs` is given.

    Notes
    -----
    In a plane, corners of cells are multiples of their width. The lower left corner names a cell,
    as in national grids. On the earth there are rows about as high as the widest cells, each with
    as many columns as make these as wide as high in the middle of the row. Narrower cells divide
    them evenly, so that levels nest. The middle names a cell. Nothing depends on the data.

    Examples
    --------
    >>> cells = Cells((1, 10))
    >>> home = cells.locate(Points(x=np.array([4.89]), y=np.array([52.37])))
    >>> cells.build(home, column="home").levels.row(0)
    ('52.366N 4.888E 1km', '52.33N 4.85E 10km', '*')
    """

    widths: tuple[float, ...]
    unit: Unit = "degrees"
    crs: str | None = None

    def __post_init__(self) -> None:
        list_of(
            "numbers", lambda it: isinstance(it, int | float), owner="Cells", widths=self.widths
        )
        one_of(("degrees", "metres", "kilometres", "feet"), owner="Cells", unit=self.unit)
        object.__setattr__(self, "widths", tuple(self.widths))
        if not self.widths:
            raise ParameterError("The 'widths' parameter of Cells must be a list, not empty.")
        for width in self.widths:
            number_between(1e-3, WIDEST, owner="Cells", widths=width)
        for narrow, wide in itertools.pairwise(map(decimal, self.widths)):
            if wide <= narrow or wide % narrow:
                raise ParameterError(
                    "Each of the 'widths' of Cells must be a whole multiple of the one before. "
                    f"Got {float(wide):g} after {float(narrow):g} instead."
                )

    def locate(self, points: Points) -> pl.Series:
        """Return the label of the narrowest cell of each point; see `PlaceRule`."""
        there = points.present
        return each_label(partial(self.labels, level=0), there, *self.numbers(points.take(there)))

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of cells; see `PlaceRule`."""
        row, across, known = self._read(leaf_text(values).to_list(), 0)
        check_known(known, column, "cells")
        levels = range(len(self.widths))
        return rooted((self.labels(row, across, level) for level in levels), column)

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the corners of a cell; see `PlaceRule`."""
        for level in range(len(self.widths)):
            row, column, (known,) = self._read([label], level)
            if known:
                west, south, east, north = self.edges(row, column, level)
                # Sides of a plane aren't straight in longitude and latitude.
                n = 1 if self.crs is None else min(64, 1 + int(self.widths[level] / 5))
                along = np.arange(n) / n
                out, back = np.zeros(n), np.ones(n)
                x = west + np.concatenate((along, back, 1 - along, out)) * (east - west)
                y = south + np.concatenate((out, along, back, 1 - along)) * (north - south)
                ring = Points(x=x, y=y, unit=self.unit, crs=self.crs)
                if self.crs is not None:
                    ring = ring.in_system("degrees", None)
                corners = np.column_stack((ring.x, ring.y)).tolist()
                return {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}
        return None

    @property
    def outline_unit(self) -> Unit:
        """Degrees if a reference system is known."""
        return self.unit if self.crs is None else "degrees"

    def numbers(self, points: Points) -> tuple[Ints, Ints]:
        """Return row and column of the narrowest cell of each point.

        Parameters
        ----------
        points
            All are present.
        """
        points = points.in_system(self.unit, self.crs)
        x, y = points.x - self._origin[0], points.y - self._origin[1]
        _, (high,) = self._sides(np.zeros(1, dtype=np.int64), 0)
        far = int((np.maximum(np.abs(x), np.abs(y)) > high * _MOST).sum())
        if far:
            raise DataError(f"{far} points are more than {_MOST:.0e} cells from the origin.")
        row = _floored(y / high)
        if points.on_earth:
            row = np.minimum(row, self._rows * self._steps[-1] - 1)
        wide = self._sides(row, 0)[0]
        column = _floored(x / wide)
        if points.on_earth:  # longitudes end where they begin, and all of them meet at a pole
            column %= np.rint(360 / wide).astype(np.int64)
            column[np.abs(points.y) == 90] = 0
        return row, column

    def labels(self, row: Ints, column: Ints, level: int | Ints) -> list[str]:
        """Return the labels of the cells of a level that the narrowest cells lie in.

        Parameters
        ----------
        row, column
            Of the narrowest cells.
        level
            0 is the narrowest; of all, or of each.
        """
        west, south, east, north = self.edges(row, column, level)
        name = _on_earth if self.unit == "degrees" else _in_plane
        x, y = west, south
        if self.unit == "degrees":
            x, y = (west + east) / 2, (south + north) / 2
        each = zip(x.tolist(), y.tolist(), np.broadcast_to(level, len(row)).tolist(), strict=True)
        return [f"{name(x, y, self._digits[it])} {self.widths[it]:.12g}km" for x, y, it in each]

    def _read(self, labels: list[str], level: int) -> tuple[Ints, Ints, list[bool]]:
        """Return one of the narrowest cells of each label, and whether it is one of the level."""
        half = 500 * self.widths[level] / METRES.get(self.unit, 1.0)
        at = np.zeros((2, len(labels)))
        for number, label in enumerate(labels):
            if self.unit != "degrees" and (found := _CORNER.fullmatch(label)):
                at[:, number] = float(found[1]) + half, float(found[2]) + half
            elif self.unit == "degrees" and (found := _MIDDLE.fullmatch(label)):
                north, east = "S N".index(found[2]) - 1, "W E".index(found[4]) - 1
                at[:, number] = east * float(found[3]), north * float(found[1])
        row, column = self.numbers(Points(x=at[0], y=at[1], unit=self.unit, crs=self.crs))
        again = self.labels(row, column, level)
        return row, column, [one == other for one, other in zip(labels, again, strict=True)]

    def middles(self, points: Points) -> Points:
        """Return the middle of the narrowest cell of each point.

        Parameters
        ----------
        points
            All are present.
        """
        west, south, east, north = self.edges(*self.numbers(points), 0)
        return replace(points, x=(west + east) / 2, y=(south + north) / 2)

    def edges(self, row: Ints, column: Ints, level: int | Ints) -> tuple[Floats, ...]:
        """Return the western, southern, eastern and northern edges of cells of a level.

        Parameters
        ----------
        row, column, level
            As of `labels`.
        """
        x, y = (number // np.array(self._steps)[level] for number in (column, row))
        wide, high = self._sides(row, level)
        x_0, y_0 = self._origin
        return x * wide + x_0, y * high + y_0, (x + 1) * wide + x_0, (y + 1) * high + y_0

    def _sides(self, row: Ints, level: int | Ints) -> tuple[Floats, Floats]:
        """Return how wide and high cells of a level are in the unit, in rows of the narrowest."""
        if self.unit != "degrees":
            side = 1000 * np.array(self.widths)[level] / METRES[self.unit] + np.zeros(len(row))
            return side, side
        fine, each = self._steps[-1], self._steps[-1] // np.array(self._steps)[level]
        middle = np.radians((row // fine + 0.5) * 180 / self._rows - 90)
        columns = np.rint(_EQUATOR * np.cos(middle) / self.widths[-1])
        high = 180 / (self._rows * each) + np.zeros(len(row))
        return 360 / (np.maximum(1, columns) * each), high

    @property
    def _origin(self) -> tuple[float, float]:
        return (-180.0, -90.0) if self.unit == "degrees" else (0.0, 0.0)

    @property
    def _rows(self) -> int:
        """How many rows of the widest cells the earth has."""
        return max(1, round(_MERIDIAN / self.widths[-1]))

    @cached_property
    def _digits(self) -> list[int]:
        """Behind the point: with these a rounded middle is nearer to the middle than to an edge."""
        equator = np.array([self._rows * self._steps[-1] // 2])
        sides = (min(*self._sides(equator, level)) for level in range(len(self.widths)))
        return [max(0, math.ceil(-math.log10(side[0] / 2))) for side in sides]

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        """How many of the narrowest cells are as wide as one of each level."""
        return tuple(int(decimal(width) / decimal(self.widths[0])) for width in self.widths)


def _floored(numbers: Floats) -> Ints:
    """Return the whole numbers below; division can land a hair below one (0.3 / 0.1)."""
    near = np.rint(numbers)
    close = np.abs(numbers - near) <= 1e-9  # of a cell
    return np.where(close, near, np.floor(numbers)).astype(np.int64)


def _on_earth(lon: float, lat: float, digits: int) -> str:
    return f"{abs(lat):.{digits}f}{'NS'[lat < 0]} {abs(lon):.{digits}f}{'EW'[lon < 0]}"


def _in_plane(x: float, y: float, digits: int) -> str:
    texts = (f"{it:.{digits + 2}f}".rstrip("0").rstrip(".") for it in (x, y))
    return "x={} y={}".format(*("0" if it == "-0" else it for it in texts))

"""Square cells, each level a whole multiple of the one below."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask._validation import list_of, number_between, one_of
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo.points import Points, Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: From pole to pole, and round the equator, in km.
MERIDIAN: Final = 20_003.93
EQUATOR: Final = 40_075.02
#: Numbers of rows and columns, and of cells across one of the widest, fit 32 bits.
MOST: Final = 2**30
_WIDEST: Final = 20_000
_NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
_ON_EARTH: Final = re.compile(r"(\d+(?:\.\d+)?)([NS]) (\d+(?:\.\d+)?)([EW]) ([\d.]+)km")
_IN_PLANE: Final = re.compile(rf"x={_NUMBER} y={_NUMBER} ([\d.]+)km")


@dataclass(frozen=True)
class Cells:
    """Square cells in ever wider grids, and the root ``"*"`` above.

    Parameters
    ----------
    widths
        The width of the cells of each level in kilometres, the narrowest first; each is a whole
        multiple of the one before.
    unit
        What the points are in.

    Notes
    -----
    In a plane, corners of cells are multiples of their width. The lower left corner names a cell,
    as in national grids. On the earth there are rows about as high as the widest cells, each with
    as many columns as make these as wide as high in the middle of the row. Narrower cells divide
    them evenly, so that levels nest. The middle names a cell. Nothing depends on the data.

    Examples
    --------
    >>> tree = Cells((1, 10)).build(pl.Series(["52.371N 4.888E 1km"]), column="home")
    >>> tree.labels(1)
    ('52.33N 4.89E 10km',)
    """

    widths: tuple[float, ...]
    unit: Unit = "degrees"

    def __post_init__(self) -> None:
        list_of("numbers", _is_number, owner="Cells", widths=self.widths)
        one_of(("degrees", "metres", "kilometres", "feet"), owner="Cells", unit=self.unit)
        object.__setattr__(self, "widths", tuple(self.widths))
        if not self.widths:
            raise ParameterError("The 'widths' parameter of Cells must be a list, not empty.")
        for width in self.widths:
            number_between(1e-3, _WIDEST, owner="Cells", widths=width)
        for narrow, wide in itertools.pairwise(map(_exact, self.widths)):
            if wide <= narrow or wide % narrow:
                raise ParameterError(
                    "Each of the 'widths' of Cells must be a whole multiple of the one before. "
                    f"Got {wide} after {narrow} instead."
                )

    def locate(self, points: Points) -> pl.Series:
        """Return the label of the narrowest cell of each point; see `PlaceRule`."""
        there = points.present
        row, column = self._numbers(points.take(there))
        cells = pl.DataFrame({"row": row, "column": column})
        distinct = cells.unique(maintain_order=True)
        labels = self._labels(*(distinct[name].to_numpy() for name in cells.columns), 0)
        named = cells.join(
            distinct.with_columns(label=pl.Series(labels, dtype=pl.String)),
            on=cells.columns,
            how="left",
            maintain_order="left",
        )
        return spread(named["label"], there)

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Refuse; see `PlaceRule`."""
        raise no_codes("Cells", codes, column)

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of cells from the labels of the narrowest.

        Raises
        ------
        HierarchyError
            If a value is no such label.
        """
        texts = leaf_text(values)
        row, across, known = self._read(texts.to_list(), 0)
        check_known(known, column, "cells")
        # Widest cells first, and within each its own from south to north and west to east.
        keys = [number // step for step in self._steps for number in (across, row)]
        order = np.lexsort(keys) if len(row) else np.zeros(0, dtype=np.int64)
        labels = [
            pl.Series(str(level), self._labels(row[order], across[order], level), dtype=pl.String)
            for level in range(len(self.widths))
        ]
        return Hierarchy.from_levels(pl.DataFrame(labels), column=column, root=True)

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the corners of a cell; see `PlaceRule`."""
        for level in range(len(self.widths)):
            row, column, known = self._read([label], level)
            if known.all():
                return self._outline(int(row[0]), int(column[0]), level)
        return None

    def people_of(self, label: str) -> float | None:  # noqa: ARG002 # of the protocol
        """Return ``None``: cells know nobody."""
        return None

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        """How many of the narrowest cells are as wide as one of each level."""
        return tuple(int(_exact(width) / _exact(self.widths[0])) for width in self.widths)

    @cached_property
    def _rows(self) -> int:
        return max(1, round(MERIDIAN / self.widths[-1]))

    def _columns(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of the widest cells are in each of their rows."""
        middle = np.radians((row + 0.5) * 180 / self._rows - 90)
        many = np.rint(EQUATOR * np.cos(middle) / self.widths[-1])
        return np.maximum(1, many).astype(np.int64)

    @cached_property
    def _per_km(self) -> float:
        return 1000 / metres_of(self.unit)

    def _numbers(self, points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of the narrowest cell of each point."""
        if points.unit != self.unit:
            raise ParameterError(
                f"The 'unit' parameter of Cells is {self.unit!r}; the points are in "
                f"{points.unit!r}."
            )
        fine = self._steps[-1]
        if not points.on_earth:
            side = self.widths[0] * self._per_km
            far = int((np.maximum(np.abs(points.x), np.abs(points.y)) > side * MOST).sum())
            if far:
                raise DataError(f"{far} points are more than {MOST:.0e} cells from the origin.")
            return floored(points.y / side), floored(points.x / side)
        rows = self._rows * fine
        row = np.clip(np.floor((points.y + 90) / 180 * rows).astype(np.int64), 0, rows - 1)
        columns = self._columns(row // fine) * fine
        column = np.floor((points.x + 180) / 360 * columns).astype(np.int64) % columns
        # All meridians meet at a pole, which lies in one cell.
        return row, np.where(np.abs(points.y) == 90, 0, column)

    def _labels(self, row: NDArray[np.int64], column: NDArray[np.int64], level: int) -> list[str]:
        """Return the labels of the cells of a level that the narrowest cells lie in."""
        left, below, right, above = self._edges(row, column, level)
        end = f"{self.widths[level]:.12g}km"
        if self.unit != "degrees":
            digits = decimals(self.widths[level] * self._per_km) + 2
            return [plane_label(x, y, digits, end) for x, y in zip(left, below, strict=True)]
        # At the equator cells are narrowest in degrees.
        per_step = self._steps[-1] // self._steps[level]
        widest_row = max(1, round(EQUATOR / self.widths[-1]))
        digits = decimals(min(180 / self._rows, 360 / widest_row) / per_step)
        return [
            earth_label(x, y, digits, end)
            for x, y in zip((left + right) / 2, (below + above) / 2, strict=True)
        ]

    def _edges(
        self, row: NDArray[np.int64], column: NDArray[np.int64], level: int
    ) -> tuple[NDArray[np.float64], ...]:
        """Return the western, southern, eastern and northern edges of cells of a level."""
        step = self._steps[level]
        up, across = row // step, column // step
        if self.unit != "degrees":
            side = self.widths[level] * self._per_km
            return across * side, up * side, (across + 1) * side, (up + 1) * side
        fine = self._steps[-1]
        high = 180 / (self._rows * (fine // step))
        wide = 360 / (self._columns(row // fine) * (fine // step))
        south, west = up * high - 90, across * wide - 180
        return west, south, (across + 1) * wide - 180, (up + 1) * high - 90

    def _read(
        self, labels: list[str], level: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return a narrowest cell of each label's cell, and whether it is a label of the level."""
        half = 0.5 * self.widths[level] * self._per_km
        pattern = _ON_EARTH if self.unit == "degrees" else _IN_PLANE
        at = np.zeros((len(labels), 2))
        for number, label in enumerate(labels):
            found = pattern.fullmatch(label)
            if found and self.unit == "degrees":
                lat, north, lon, east = found.groups()[:4]
                at[number] = float(lon) * (1, -1)[east == "W"], float(lat) * (1, -1)[north == "S"]
            elif found:
                at[number] = float(found[1]) + half, float(found[2]) + half
        if self.unit == "degrees":
            at = np.clip(at, (-180, -90), (180, 90))
        row, column = self._numbers(Points(x=at[:, 0], y=at[:, 1], unit=self.unit))
        again = self._labels(row, column, level)
        return row, column, np.array([a == b for a, b in zip(labels, again, strict=True)], bool)

    def _outline(self, row: int, column: int, level: int) -> dict[str, Any]:
        edges = self._edges(np.array([row]), np.array([column]), level)
        return box(*(float(edge[0]) for edge in edges))


def metres_of(unit: Unit) -> float:
    """Return how long a unit of a plane is; that of degrees is of no use."""
    return float(Points(x=np.ones(1), y=np.zeros(1), unit=unit).in_space()[0, 0])


def floored(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the whole numbers below; division can land a hair below one (0.3 / 0.1)."""
    near = np.rint(numbers)
    close = np.abs(numbers - near) <= 1e-9
    return np.where(close, near, np.floor(numbers)).astype(np.int64)


def decimals(width: float) -> int:
    """Return how many decimals name a position within a quarter of a width."""
    return max(0, math.ceil(-math.log10(width / 2)))


def plane_label(x: float, y: float, digits: int, end: str) -> str:
    """Return the label of a cell in a plane by its lower left corner."""
    at = (f"{it:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{it:.0f}" for it in (x, y))
    return "x={} y={} ".format(*("0" if it == "-0" else it for it in at)) + end


def earth_label(lon: float, lat: float, digits: int, end: str) -> str:
    """Return the label of a cell of the earth by its middle."""
    north, east = "S" if lat < 0 else "N", "W" if lon < 0 else "E"
    return f"{abs(lat):.{digits}f}{north} {abs(lon):.{digits}f}{east} {end}"


def box(west: float, south: float, east: float, north: float) -> dict[str, Any]:
    """Return a rectangle as GeoJSON."""
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def spread(labels: pl.Series, there: NDArray[np.bool_]) -> pl.Series:
    """Return labels of points that are there at the places of all points."""
    at = np.cumsum(there) - 1
    return labels.gather(pl.Series(np.where(there, at, -1)).replace(-1, None))


def check_known(known: NDArray[np.bool_], column: str, what: str) -> None:
    """Raise if labels aren't of the rule."""
    n = int((~known).sum())
    if n:
        raise HierarchyError(
            f"Column {column!r} has {n} values that are no labels of {what} of its hierarchy."
        )


def no_codes(rule: str, codes: pl.Series, column: str) -> ParameterError:
    """Return the error of rules that need points."""
    return ParameterError(
        f"{rule} needs points. Got the column {column!r} of type {codes.dtype.base_type()}."
    )


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

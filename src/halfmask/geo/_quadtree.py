"""Cells that are divided as long as enough people live in a quarter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import need
from halfmask._validation import number_between
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._cells import WIDEST, Cells
from halfmask.geo._maps import PointMap
from halfmask.geo._place_rule import (
    PlaceRule,
    check_enough,
    check_known,
    check_people,
    each_label,
    rising,
    rooted,
)
from halfmask.geo.points import Points

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.geo.points import Unit

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


#: How wide the widest cells are at most, in km, if some have too few people.
_WIDE: Final = 1_000


class _Squares(NamedTuple):
    """Cells by their lower left one of the smallest, and how often that is doubled."""

    row: Ints
    column: Ints
    doubled: Ints
    people: Floats


class _Grown(NamedTuple):
    """The regions of a level, by their cells with enough people."""

    of: Ints  # the region that each undivided cell is in
    own: _Squares
    labels: NDArray[np.object_]
    numbers: dict[str, int]  # of the labels


@dataclass(frozen=True)
class Quadtree(PlaceRule):
    """Cells that are small where many people live, and the root ``"*"`` above.

    Parameters
    ----------
    smallest
        The width of the smallest cells in kilometres.
    people
        Where people live, such as all addresses.
    least
        How many people live at least in each region of a level; the finest level is the first.

    Raises
    ------
    DataError
        If fewer people live on the whole map.

    Notes
    -----
    Cells are divided into quarters as long as one quarter has enough people. Quarters with fewer
    join the nearest cell with enough, so that a lone home keeps no others in a wide cell. The cell
    with enough people and the number of others name a region. Points are refused where nobody
    lives. After sdcSpatial, ``protect_quadtree``.
    """

    smallest: float
    people: PointMap
    least: tuple[int, ...]

    def __post_init__(self) -> None:
        number_between(1e-3, WIDEST, owner="Quadtree", smallest=self.smallest)
        object.__setattr__(self, "least", rising(self.least, owner="Quadtree"))
        if not self.least:
            raise ParameterError("The 'least' parameter of Quadtree must be a list, not empty.")
        check_people(self.people, PointMap, owner="Quadtree")
        check_enough(float(self.people.people.sum()), self.least[-1], owner="Quadtree")

    def locate(self, points: Points) -> pl.Series:
        """Return the finest region of each point; see `PlaceRule`."""
        there = points.present
        cell = self._find(*self._cells.numbers(points.take(there)))
        outside = int((cell < 0).sum())
        if outside:
            raise DataError(
                f"{outside} points lie in cells where the map of people has nobody.",
                hint="Give a map that has all homes, or wider cells.",
            )
        finest = self._grown[1][0]
        return each_label(lambda it: finest.labels[it].tolist(), there, finest.of[cell])

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of regions; see `PlaceRule`."""
        texts = leaf_text(values)
        finest = self._grown[1][0]
        check_known([it in finest.numbers for it in texts], column, "cells")
        _, cell = np.unique(finest.of, return_index=True)  # one of each region
        at = cell[np.array([finest.numbers[it] for it in texts], dtype=np.int64)]
        return rooted((it.labels[it.of[at]].tolist() for it in self._grown[1]), column)

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the cells of a region; see `PlaceRule`."""
        undivided, levels = self._grown
        for level in (it for it in levels if label in it.numbers):
            number = level.numbers[label]
            mine, own = level.of == number, _take(level.own, np.array([number]))
            inside = _within(undivided, own)
            # A cell of the next level may have one in it that joined another region.
            whole = own if mine[inside].all() else _take(undivided, mine & inside)
            parts = (whole, _take(undivided, mine & ~inside))
            cells = [self._cells.outline(name) or {} for it in parts for name in self._names(it)]
            if len(cells) == 1:
                return cells[0]
            return {"type": "MultiPolygon", "coordinates": [it["coordinates"] for it in cells]}
        return None

    @property
    def outline_unit(self) -> Unit:
        """Degrees if the reference system of the map is known."""
        return self._cells.outline_unit

    def people_of(self, label: str) -> float | None:
        """Return how many people live in a region."""
        for level in self._grown[1]:
            if label in level.numbers:
                return float(level.own.people[level.numbers[label]])
        return None

    @cached_property
    def _cells(self) -> Cells:
        """The narrowest of all doubled widths of which each cell has enough people."""
        homes, people = self._homes
        widths = [self.smallest]
        while True:
            cells = Cells(tuple(widths), homes.unit, homes.crs)
            row, column = (it >> len(widths) - 1 for it in cells.numbers(homes))
            squares, _ = _joined(row, column, np.zeros_like(row), people)
            if squares.people.min() >= self.least[-1] or widths[-1] > _WIDE:
                return cells
            widths.append(2 * widths[-1])

    @property
    def _homes(self) -> tuple[Points, Floats]:
        somebody = (self.people.people > 0) & self.people.points.present
        return self.people.points.take(somebody), self.people.people[somebody]

    @cached_property
    def _grown(self) -> tuple[_Squares, list[_Grown]]:
        """The undivided cells, and the regions of each level that they are in."""
        homes, people = self._homes
        row, column = self._cells.numbers(homes)
        squares, _ = _joined(row, column, np.zeros_like(row), people)
        undivided, of = squares, np.arange(len(row))
        levels: list[_Grown] = []
        for least in self.least:
            doubled = _divided(squares, least, len(self._cells.widths))
            row, column = (it >> doubled << doubled for it in (squares.row, squares.column))
            cells, cell = _joined(row, column, doubled, squares.people)
            found, region = np.unique(self._nearest(cells, least), return_inverse=True)
            undivided, of = (undivided, region[cell[of]]) if levels else (cells, region)
            # Those of the next level are made of these, each where its own cell is.
            squares = _take(cells, found)._replace(people=_summed(region, cells.people))
            apart = ~_within(undivided, _take(squares, of))
            others = np.bincount(of, apart).astype(int).tolist()
            named = zip(self._names(squares), others, strict=True)
            labels = [f"{name} + {many} more" if many else name for name, many in named]
            numbers = {label: number for number, label in enumerate(labels)}
            levels.append(_Grown(of, squares, np.array(labels, dtype=object), numbers))
        return undivided, levels

    def _nearest(self, cells: _Squares, least: int) -> Ints:
        """Return for each cell the nearest with enough people: itself if it has."""
        need("scipy")
        from scipy.spatial import KDTree  # noqa: PLC0415 # an extra

        enough = cells.people >= least
        enough[cells.people.argmax()] = True
        west, south, east, north = self._cells.edges(cells.row, cells.column, cells.doubled)
        at = Points(x=(west + east) / 2, y=(south + north) / 2, unit=self._cells.unit)
        middles = at.in_space()
        _, near = KDTree(middles[enough]).query(middles)
        return np.where(enough, np.arange(len(enough)), np.flatnonzero(enough)[near])

    def _names(self, cells: _Squares) -> list[str]:
        return self._cells.labels(cells.row, cells.column, cells.doubled)

    def _find(self, row: Ints, column: Ints) -> Ints:
        """Return the undivided cell of each of the smallest; -1 where nobody lives."""
        found = np.full(len(row), -1)
        cells, _ = self._grown
        for each in np.unique(cells.doubled).tolist():
            at = np.flatnonzero(cells.doubled == each)
            keys = _key(cells.row[at], cells.column[at])  # in order
            wanted = _key(row >> each << each, column >> each << each)
            near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = keys[near] == wanted
            found[hit] = at[near[hit]]
        return found


def _divided(squares: _Squares, least: int, widths: int) -> Ints:
    """Return how often the cell of each square is doubled when no quarter has enough people."""
    keys = (_key(squares.row >> it, squares.column >> it) for it in range(widths))
    cells = [np.unique(it, return_inverse=True)[1] for it in keys]
    doubled = np.full(len(squares.row), widths - 1)
    divided = np.ones(len(doubled), dtype=bool)
    for each in range(widths - 1, 0, -1):
        cell, quarter = cells[each], cells[each - 1]
        enough = _summed(quarter, squares.people)[quarter] >= least
        whole = squares.doubled >= each  # a region of the level below
        divided &= (_summed(cell, enough) > 0)[cell] & (_summed(cell, whole) == 0)[cell]
        doubled[divided] = each - 1
    return doubled


def _joined(row: Ints, column: Ints, doubled: Ints, people: Floats) -> tuple[_Squares, Ints]:
    """Return squares with the people of equal ones, in order, and the number of each."""
    _, first, number = np.unique(_key(row, column), return_index=True, return_inverse=True)
    summed = _summed(number, people)
    return _Squares(row[first], column[first], doubled[first], summed), number


def _within(cells: _Squares, wider: _Squares) -> NDArray[np.bool_]:
    up = wider.doubled
    apart = (cells.row ^ wider.row) | (cells.column ^ wider.column)
    inside: NDArray[np.bool_] = apart >> up == 0
    return inside


def _take(cells: _Squares, which: NDArray[np.generic]) -> _Squares:
    return _Squares(*(it[which] for it in cells))


def _summed(number: Ints, weights: NDArray[np.generic]) -> Floats:
    return np.bincount(number, weights).astype(float)


def _key(row: Ints, column: Ints) -> Ints:
    return (row << 32) + column

"""Cells that are divided only as long as enough people live in each quarter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import number_between
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._cells import WIDEST, Cells
from halfmask.geo._labels import check_enough, check_known, check_people, each_label, rising, rooted
from halfmask.geo.maps import PointMap
from halfmask.geo.place_rule import PlaceRule

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.geo.points import Points, Unit

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class _Cell(NamedTuple):
    """Cells by their lower left one of the smallest, and how often that is doubled."""

    row: Ints
    column: Ints
    doubled: Ints
    people: Floats


@dataclass(frozen=True)
class Quadtree(PlaceRule):
    """Cells with a least number of people, small where many live, and the root ``"*"`` above.

    Parameters
    ----------
    smallest
        The width of the smallest cells in kilometres.
    people
        Where people live, such as all addresses.
    least
        How many people live at least in each cell, of each level; the finest level is the first.

    Raises
    ------
    DataError
        If even the widest cells have fewer people.

    Notes
    -----
    Cells are divided into quarters as long as each quarter where anybody lives has enough people.
    They begin with the narrowest of all doubled widths of which each cell has enough. Points are
    refused where nobody lives. Source: sdcSpatial, ``protect_quadtree``.
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
        """Return the finest cell of each point; see `PlaceRule`."""
        there = points.present
        row, column = self._cells.numbers(points.take(there))
        level = self._find(row, column, 0)
        outside = int((level < 0).sum())
        if outside:
            raise DataError(
                f"{outside} points lie in cells where the map of people has nobody.",
                hint="Give a map that has all homes, or wider cells.",
            )
        return each_label(
            self._labels, there, row >> level << level, column >> level << level, level
        )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of cells; see `PlaceRule`."""
        texts = leaf_text(values)
        finest = self._named[0]
        check_known([it in finest for it in texts], column, "cells")
        cells = [finest[it] for it in texts]
        row, across = (np.array([cell[it] for cell in cells], dtype=np.int64) for it in (0, 1))
        coarser = (self._find(row, across, level) for level in range(1, len(self.least)))
        return rooted((texts, *(self._labels(row, across, it) for it in coarser)), column)

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the corners of a cell; see `PlaceRule`."""
        return None if self.people_of(label) is None else self._cells.outline(label)

    @property
    def outline_unit(self) -> Unit:
        """Degrees if the reference system of the map is known."""
        return self._cells.outline_unit

    def people_of(self, label: str) -> float | None:
        """Return how many people live in a cell."""
        return next((named[label][2] for named in self._named if label in named), None)

    def _labels(self, row: Ints, column: Ints, doubled: Ints) -> list[str]:
        labels = np.empty(len(row), dtype=object)
        for each in np.unique(doubled).tolist():
            at = doubled == each
            labels[at] = self._cells.labels(row[at], column[at], each)
        return labels.tolist()

    def _find(self, row: Ints, column: Ints, level: int) -> Ints:
        """Return how often the smallest cells are doubled to those of a level; -1: nobody is."""
        cells = self._levels[level]
        found = np.full(len(row), -1)
        for each in np.unique(cells.doubled).tolist():
            at = cells.doubled == each
            own = _key(row >> each, column >> each)
            found[np.isin(own, _key(cells.row[at] >> each, cells.column[at] >> each))] = each
        return found

    @cached_property
    def _named(self) -> tuple[dict[str, tuple[int, int, float]], ...]:
        """Row, column and people of the cells of each level, by their labels."""
        return tuple(
            {
                label: (row, column, people)
                for label, row, column, people in zip(
                    self._labels(*cells[:3]),
                    *(it.tolist() for it in (cells.row, cells.column, cells.people)),
                    strict=True,
                )
            }
            for cells in self._levels
        )

    @cached_property
    def _cells(self) -> Cells:
        """The narrowest of all doubled widths of which each cell has enough people."""
        homes, people = self._homes
        widths = [self.smallest]
        while widths[-1] <= WIDEST:
            cells = Cells(tuple(widths), homes.unit, homes.crs)
            keys = _key(*(it >> len(widths) - 1 for it in cells.numbers(homes)))
            _, cell = np.unique(keys, return_inverse=True)
            if np.bincount(cell, people).min() >= self.least[-1]:
                return cells
            widths.append(2 * widths[-1])
        raise DataError(
            f"Of the widest cells of Quadtree, some have fewer than {self.least[-1]} people.",
            hint="Leave homes out of the map that are far from all others.",
        )

    @cached_property
    def _levels(self) -> tuple[_Cell, ...]:
        """The cells of each level."""
        homes, people = self._homes
        row, column = self._cells.numbers(homes)
        _, first, cell = np.unique(_key(row, column), return_index=True, return_inverse=True)
        row, column, many = row[first], column[first], _summed(cell, people)
        doublings = range(len(self._cells.widths))
        # The number of the cell of each width that each smallest cell lies in.
        cells = [
            np.unique(_key(row >> it, column >> it), return_inverse=True)[1] for it in doublings
        ]
        return tuple(
            _whole(row, column, many, _doubled(cells, many, least)) for least in self.least
        )

    @property
    def _homes(self) -> tuple[Points, Floats]:
        somebody = self.people.people > 0
        return self.people.points.take(somebody), self.people.people[somebody]


def _doubled(cells: list[Ints], people: Floats, least: int) -> Ints:
    """Return how often each smallest cell is doubled to the one that isn't divided."""
    doubled = np.full(len(people), len(cells) - 1)
    divided = np.ones(len(people), dtype=bool)
    for each in range(len(cells) - 1, 0, -1):
        fewest = np.full(cells[each].max() + 1, np.inf)
        np.minimum.at(fewest, cells[each], _summed(cells[each - 1], people)[cells[each - 1]])
        divided &= fewest[cells[each]] >= least
        doubled[divided] = each - 1
    return doubled


def _whole(row: Ints, column: Ints, people: Floats, doubled: Ints) -> _Cell:
    """Return each cell that isn't divided once, with its people."""
    corners = np.stack((row >> doubled << doubled, column >> doubled << doubled, doubled))
    cells, cell = np.unique(corners, axis=1, return_inverse=True)
    return _Cell(cells[0], cells[1], cells[2], _summed(cell, people))


def _summed(cell: Ints, people: Floats) -> Floats:
    return np.bincount(cell, people).astype(float)


def _key(row: Ints, column: Ints) -> Ints:
    return (row << 32) + column

"""Cells that are divided only as long as enough people live in each quarter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._validation import number_between
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._cells import WIDEST, Cells
from halfmask.geo._labels import check_enough, check_known, each_label, rising
from halfmask.geo.place_rule import PlaceRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo.maps import PointMap
    from halfmask.geo.points import Points, Unit

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class _Width(NamedTuple):
    """The cells of a width where people live: those of the narrowest, divided by how many."""

    row: Ints
    column: Ints
    people: Floats
    parent: Ints  # the number of the cell of the next width


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
        check_enough(float(self.people.people.sum()), self.least[-1], owner="Quadtree")

    def locate(self, points: Points) -> pl.Series:
        """Return the finest cell of each point; see `PlaceRule`."""
        there = points.present
        home = self.people.points
        row, column = self._cells.numbers(points.take(there).in_system(home.unit, home.crs))
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
        """Build the hierarchy of cells from labels of the finest level.

        Raises
        ------
        HierarchyError
            If a value is no such label.
        """
        texts = leaf_text(values)
        finest = self._named[0]
        check_known([it in finest for it in texts], column, "cells")
        cells = [finest[it] for it in texts]
        row, across = (np.array([cell[it] for cell in cells], dtype=np.int64) for it in (0, 1))
        levels = {"0": texts}
        for number in range(1, len(self.least)):
            labels = self._labels(row, across, self._find(row, across, number))
            levels[str(number)] = pl.Series(labels, dtype=pl.String)
        frame = pl.DataFrame(levels)
        return Hierarchy.from_levels(frame.sort(frame.columns[::-1]), column=column, root=True)

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

    def _labels(self, row: Ints, column: Ints, level: Ints) -> list[str]:
        """Return the labels of cells, each so many times doubled."""
        labels = np.empty(len(row), dtype=object)
        for each in np.unique(level).tolist():
            at = level == each
            labels[at] = self._cells.labels(row[at], column[at], each)
        return labels.tolist()

    def _find(self, row: Ints, column: Ints, number: int) -> Ints:
        """Return how often the narrowest cells are doubled to those of a level; -1: nobody is."""
        found = np.full(len(row), -1)
        for level, cells in enumerate(self._whole[number]):
            keys, wanted = _key(cells.row, cells.column), _key(row >> level, column >> level)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found[keys[at] == wanted if len(keys) else []] = level
        return found

    @cached_property
    def _named(self) -> tuple[dict[str, tuple[int, int, float]], ...]:
        """A narrowest cell and the people of the cells of each level, by their labels."""
        return tuple(
            {
                label: (row << level, column << level, people)
                for level, cells in enumerate(whole)
                for label, row, column, people in zip(
                    self._cells.labels(cells.row << level, cells.column << level, level),
                    *(it.tolist() for it in cells[:3]),
                    strict=True,
                )
            }
            for whole in self._whole
        )

    @cached_property
    def _cells(self) -> Cells:
        """The narrowest of all doubled widths of which each cell has enough people."""
        somebody = self.people.people > 0
        homes, people = self.people.points.take(somebody), self.people.people[somebody]
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
    def _whole(self) -> tuple[list[_Width], ...]:
        """For each level the cells that aren't divided, by how often they are doubled."""
        row, column = self._cells.numbers(self.people.points)
        people = self.people.people
        widths = []
        for _ in self._cells.widths:
            _, first, cell = np.unique(_key(row, column), return_index=True, return_inverse=True)
            people = np.bincount(cell, people)
            if widths:
                widths[-1] = widths[-1]._replace(parent=cell)
            else:
                first, people = first[people > 0], people[people > 0]
            row, column = row[first], column[first]
            widths.append(_Width(row, column, people, np.zeros(0, dtype=np.int64)))
            row, column = row >> 1, column >> 1
        return tuple(_undivided(widths, least) for least in self.least)


def _undivided(widths: list[_Width], least: int) -> list[_Width]:
    """Return the cells of each width that are in none that isn't divided, and aren't divided."""
    found = []
    reached = np.ones(len(widths[-1].row), dtype=bool)
    for cells, below in zip(widths[::-1], [*widths[-2::-1], None], strict=True):
        fewest = np.full(len(cells.row), np.inf if below else -np.inf)
        if below:
            np.minimum.at(fewest, below.parent, below.people)
        divided = reached & (fewest >= least)
        found.append(_Width(*(it[reached & ~divided] for it in cells[:3]), cells.parent))
        if below:
            reached = divided[below.parent]
    return found[::-1]


def _key(row: Ints, column: Ints) -> Ints:
    return (row << 32) + column

"""The quasi-identifiers of a population: who fits what is written, as places on a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import ParameterError
from halfmask.anonymize.recodings import MAX_MEMBERS, SHOWN_OF_MANY, Level, Ranges
from halfmask.data import Hierarchy, leaf_text

if TYPE_CHECKING:
    from halfmask.anonymize._cells import CellColumn
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.recodings import Recoding

Integers: TypeAlias = NDArray[np.int64]
Places: TypeAlias = NDArray[np.int32]

#: The place of a person whose value nothing that is written can cover, and that of a missing cell.
NOWHERE = -2
MISSING = -1


class Spans(NamedTuple):
    """What is written for each cell: the first and last place, and whether missing fits."""

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    missing: NDArray[np.bool_]


class Axis(Protocol):
    """One quasi-identifier: the places of people, and what is written for cells among them."""

    @property
    def coding(self) -> Coding:
        """The codes of the column."""

    def places(self) -> Places:
        """Return the place of each person; `MISSING` or `NOWHERE` where they have none."""

    def spans(self, cells: CellColumn) -> Spans:
        """Return what is written for cells, among the places."""

    def occurring(self, cells: CellColumn) -> NDArray[np.bool_] | None:
        """Return which places something that is written can name; ``None``: all."""


def axis_of(coding: Coding, recoding: Recoding, series: pl.Series) -> Axis:
    """Return how people are held against what is written for a column."""
    if not isinstance(recoding, Ranges | Level):
        raise ParameterError(
            f"Column {coding.column.name!r} is written as {recoding.name}, which doesn't say whom "
            "a class covers, and a guarantee is about a population.",
            hint="Use the recoding ranges or level.",
        )
    if isinstance(recoding, Level) and coding.hierarchy is not None:
        return NodeAxis(coding, series, _whole_tree(coding, series))
    if not coding.ordered:
        return _SetAxis(coding, series, isinstance(recoding, Ranges) and recoding.whole_sets)
    if coding.grid is not None and isinstance(recoding, Ranges) and recoding.form == "bounds":
        raise ParameterError(
            f"Column {coding.column.name!r} is written as bounds that end at a step, and a "
            "guarantee is about a population.",
            hint='Write form = "text", or leave the step out.',
        )
    return _RangeAxis(coding, series)


def _whole_tree(coding: Coding, series: pl.Series) -> Hierarchy:
    """Return the hierarchy with the people's values too; a rule builds it on all values."""
    given = coding.column.hierarchy
    if given is None or isinstance(given, Hierarchy):
        tree = given or coding.hierarchy
        if tree is None:
            raise ParameterError(f"Column {coding.column.name!r} has no hierarchy.")
        return tree
    theirs = coding.alike(series) if coding.ordered else series.cast(coding.values.dtype)
    both = pl.concat([coding.values, theirs.drop_nulls()])
    return given.build(both.unique().sort(), column=coding.column.name)


@dataclass(frozen=True, slots=True, eq=False)
class _RangeAxis:
    """Numbers or dates: value ``i`` is at ``2 i + 1``, what lies below it at ``2 i``.

    Where ranges end at a step, a value is all that lies from there to its end.
    """

    coding: Coding
    series: pl.Series

    def places(self) -> Places:
        known = self.coding.values.to_physical()
        values = self.coding.alike(self.series)
        if not len(known):
            places = np.full(len(values), NOWHERE, dtype=np.int32)
        else:
            asked = values.to_physical().fill_null(0)
            right = known.search_sorted(asked, side="right").to_numpy().astype(np.int64)
            grid = self.coding.grid
            if grid is None:
                left = known.search_sorted(asked, side="left").to_numpy().astype(np.int64)
            else:
                ends = grid.ends(self.coding.values).to_physical()
                within = asked < ends.gather(np.maximum(right - 1, 0))
                left = np.where(within.to_numpy(), right - 1, right)
            places = np.maximum(left + right, 0).astype(np.int32)
        if values.dtype.is_float():
            places[values.is_nan().fill_null(value=False).to_numpy()] = NOWHERE
        places[values.is_null().to_numpy()] = MISSING
        return places

    def spans(self, cells: CellColumn) -> Spans:
        low, high = cells.value_range()
        return _spans(2 * low + 1, 2 * high + 1, low, cells)

    def occurring(self, cells: CellColumn) -> None:  # noqa: ARG002 # of sets alone
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _SetAxis:
    """Categories: places are codes. A set names those of its codes that a released row has."""

    coding: Coding
    series: pl.Series
    whole: bool

    def places(self) -> Places:
        places = self.coding.codes(self.series).astype(np.int32)
        places[places < 0] = NOWHERE
        places[self.series.is_null().to_numpy()] = MISSING
        return places

    def spans(self, cells: CellColumn) -> Spans:
        low, high = cells.value_range()
        if self.whole:
            return _spans(low, high, low, cells)
        occurring = np.flatnonzero(cells.occurring())
        begin = np.searchsorted(occurring, low)
        many = (low >= 0) & (np.searchsorted(occurring, high, side="right") - begin > MAX_MEMBERS)
        high[many] = occurring[begin[many] + SHOWN_OF_MANY - 1]
        return _spans(low, high, low, cells)

    def occurring(self, cells: CellColumn) -> NDArray[np.bool_]:
        return cells.occurring()


@dataclass(frozen=True, slots=True, eq=False)
class NodeAxis:
    """Nodes of a hierarchy: places are its leaves, in the order of the tree."""

    coding: Coding
    series: pl.Series
    tree: Hierarchy

    def places(self) -> Places:
        """Return the leaf of each person, as of `Axis`."""
        leaves = pl.Enum(pl.Series(self.tree.leaves))
        found = leaf_text(self.series).cast(leaves, strict=False).to_physical()
        places = found.cast(pl.Int32).fill_null(NOWHERE).to_numpy(writable=True)
        places[self.series.is_null().to_numpy()] = MISSING
        return places

    def spans(self, cells: CellColumn) -> Spans:
        """Return the leaves below what is written for each cell, as of `Axis`."""
        low, high = cells.value_range()
        narrow = self.coding.hierarchy
        pairs, of_cell = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        runs = np.array(
            [
                (-1, -1) if a < 0 or narrow is None else self._run(narrow.node(a, b)[1])
                for a, b in pairs.tolist()
            ],
            dtype=np.int64,
        ).reshape(-1, 2)[of_cell.reshape(-1)]
        return _spans(runs[:, 0], runs[:, 1], low, cells)

    def occurring(self, cells: CellColumn) -> None:  # noqa: ARG002 # of sets alone
        """Return ``None``: a node names all of its leaves."""
        return

    def _run(self, label: str) -> tuple[int, int]:
        """Return the leaves below a label, at the highest level that has it."""
        for name in reversed(self.tree.levels.columns):
            found = (self.tree.levels[name] == label).arg_true()
            if len(found):
                return int(found[0]), int(found[-1])
        return -1, -1


def _spans(first: Integers, last: Integers, low: Integers, cells: CellColumn) -> Spans:
    """Return boxes on one column; one of missing cells alone covers no value."""
    none = low < 0
    return Spans(
        np.where(none, 0, first).astype(np.int32),
        np.where(none, -1, last).astype(np.int32),
        none | cells.mixes_missing(),
    )

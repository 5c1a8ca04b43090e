"""The people that a table was drawn from: how many fit what is written for each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize._population_axes import MISSING, NOWHERE, Axis, NodeAxis, Spans, axis_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from halfmask.anonymize._cells import CellCounts
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.recodings import Recoding
    from halfmask.guarantees import Classes

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Population:
    """The people that a table was drawn from.

    Parameters
    ----------
    people
        A row for each person, with the quasi-identifiers as the table has them.

    Notes
    -----
    **Guarantees.** A person fits a class if their value of each quasi-identifier lies in the range,
    set or node that is written, or is missing where missing is written. A person whom no set that
    is cut short names, or whom no hierarchy has, doesn't fit. Counts are exact; a person counts
    for each class that they fit.
    """

    people: pl.DataFrame

    def __repr__(self) -> str:
        return f"Population({self.people.height} people)"

    def placed(self, codings: Sequence[Coding], recodings: Mapping[str, Recoding]) -> PlacedPeople:
        """Place the people among the codes of a fit.

        Parameters
        ----------
        codings
            The quasi-identifiers' codes.
        recodings
            How each quasi-identifier is written.

        Raises
        ------
        ParameterError
            If a recoding doesn't write what its class covers.
        """
        axes = [
            axis_of(coding, recodings[coding.column.name], self.people[coding.column.name])
            for coding in codings
        ]
        places = np.stack([axis.places() for axis in axes], axis=1)
        able = (places != NOWHERE).all(axis=1)
        distinct, people = np.unique(places[able], axis=0, return_counts=True)
        return PlacedPeople(
            axes=tuple(axes),
            tree=_PointTree.of(distinct.astype(np.int32), people.astype(np.int64)),
            n_people=len(places),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedPeople:
    """People placed among the codes of a fit, ready to be counted in its cells."""

    axes: tuple[Axis, ...]
    tree: _PointTree
    n_people: int

    def __repr__(self) -> str:
        return f"PlacedPeople({self.n_people} people)"

    @property
    def trees(self) -> dict[str, pl.DataFrame]:
        """The levels of each hierarchy whose nodes are written, with all people's values."""
        return {
            axis.coding.column.name: axis.tree.levels
            for axis in self.axes
            if isinstance(axis, NodeAxis)
        }

    def classes(self, counts: CellCounts) -> tuple[Classes, Integers]:
        """Return the classes as written, with their people, and the class of each cell."""
        columns = [_column(axis.coding, place, counts) for place, axis in enumerate(self.axes)]
        spans = [axis.spans(column) for axis, column in zip(self.axes, columns, strict=True)]
        boxes = Spans(
            np.stack([span.first for span in spans], axis=1),
            np.stack([span.last for span in spans], axis=1),
            np.stack([span.missing for span in spans], axis=1),
        )
        _, sample, class_of_cell = np.unique(
            np.hstack(boxes), axis=0, return_index=True, return_inverse=True
        )
        class_of_cell = class_of_cell.reshape(-1).astype(np.int64)
        boxes = Spans(boxes.first[sample], boxes.last[sample], boxes.missing[sample])
        weights = self._named(columns)
        fitting, boxes_over = self.tree.count(weights, boxes)
        several = np.where(boxes_over > 1, weights, 0)
        merged = counts.classes.coarsened(class_of_cell, len(sample))
        inside = int(weights[boxes_over > 0].sum())
        found = replace(
            merged,
            population=fitting,
            shared=self.tree.count(several, boxes)[0] if several.any() else None,
            outside=self.n_people - inside,
            inside=inside,
        )
        return found, class_of_cell

    def _named(self, columns: Sequence[CellColumn]) -> Integers:
        """Return how many people each point stands for; none where no set can name its value."""
        weights = self.tree.people.copy()
        for place, (axis, column) in enumerate(zip(self.axes, columns, strict=True)):
            occurring = axis.occurring(column)
            if occurring is not None and len(occurring):
                at = self.tree.points[:, place]
                unnamed = ~occurring[np.minimum(at, len(occurring) - 1)]
                weights[unnamed & (at != self.tree.tops[place])] = 0
        return weights


def _column(coding: Coding, place: int, counts: CellCounts) -> CellColumn:
    cells, codes, n = counts.entries(place)
    low = np.full(counts.classes.n_classes, np.iinfo(np.int64).max, dtype=np.int64)
    high = np.full(counts.classes.n_classes, -1, dtype=np.int64)
    np.minimum.at(low, cells, codes.astype(np.int64))
    np.maximum.at(high, cells, codes.astype(np.int64))
    return CellColumn(coding=coding, low=low, high=high, cells=cells, codes=codes, counts=n)


@dataclass(frozen=True, slots=True, eq=False)
class _PointTree:
    """Different points of people, in a tree that counts them in boxes.

    In each column the value that stands for missing is the top one.
    """

    points: NDArray[np.int32]
    people: Integers
    tops: NDArray[np.int32]
    nodes: tuple[Integers, NDArray[np.int32], NDArray[np.int32]]

    @classmethod
    def of(cls, places: NDArray[np.int32], people: Integers) -> _PointTree:
        from halfmask.kernels.partition.fitting import LEAF_POINTS, bound_points  # noqa: PLC0415 # the compiler loads late

        tops = (places.max(axis=0, initial=-1) + 1).astype(np.int32)
        points = np.ascontiguousarray(np.where(places == MISSING, tops, places), dtype=np.int32)
        depth = (len(points) // LEAF_POINTS).bit_length()
        order = np.empty(len(points), dtype=np.int64)
        nodes = bound_points(points, (2 << depth) - 1, order)
        return cls(np.ascontiguousarray(points[order]), people[order], tops, nodes)

    def count(self, weights: Integers, boxes: Spans) -> tuple[Integers, Integers]:
        """Return the weight in each box, and how many boxes each point is in."""
        from halfmask.kernels.partition.fitting import count_in_boxes  # noqa: PLC0415 # the same

        counts = np.zeros(len(boxes.first), dtype=np.int64)
        steps = np.zeros(len(weights) + 1, dtype=np.int64)
        before = np.concatenate([[0], np.cumsum(weights)]).astype(np.int64)
        starts, low, high = self.nodes
        count_in_boxes(
            self.points,
            before,
            starts,
            low,
            high,
            self.tops,
            np.ascontiguousarray(boxes.first),
            np.ascontiguousarray(boxes.last),
            np.ascontiguousarray(boxes.missing),
            counts,
            steps,
        )
        return counts, np.cumsum(steps)[:-1]

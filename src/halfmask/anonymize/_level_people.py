"""A population recoded by levels: how many people fit each class of full-domain generalization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import HierarchyError
from halfmask.anonymize._population_axes import MISSING, NOWHERE, NodeAxis, axis_of
from halfmask.anonymize.lattice import lattice_column, root_label
from halfmask.anonymize.recodings import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.anonymize._cells import CellCounts
    from halfmask.anonymize._lattice_partition import LatticePartition
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.lattice import Levels
    from halfmask.guarantees import Classes

Integers: TypeAlias = NDArray[np.int64]
Nodes: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelPeople:
    """The people of a population, recoded by the levels of the table's columns.

    Notes
    -----
    **Guarantees.** A person fits a class if their value has the class's node above it in every
    column. The root of a column without a hierarchy covers everyone who has a value there; that of
    a hierarchy, everyone whose value it has. A person with a missing cell fits where missing is
    written, and not the root. Nobody fits two classes of a node.
    """

    nodes: tuple[tuple[Nodes, ...], ...]
    codes: Nodes
    people: Integers
    n_people: int
    trees: dict[str, pl.DataFrame]
    missing: bool

    def __repr__(self) -> str:
        return f"LevelPeople({self.n_people} people)"

    @classmethod
    def of(cls, people: pl.DataFrame, codings: Sequence[Coding]) -> LevelPeople:
        """Recode a population."""
        columns = [_leveled(coding, people[coding.column.name]) for coding in codings]
        codes = np.stack([column[0] for column in columns])
        able = (codes != NOWHERE).all(axis=0)
        different, counts = np.unique(codes[:, able], axis=1, return_counts=True)
        return cls(
            nodes=tuple(column[1] for column in columns),
            codes=np.ascontiguousarray(different, dtype=np.int32),
            people=counts.astype(np.int64),
            n_people=people.height,
            trees={
                coding.column.name: tree
                for coding, (_, _, tree) in zip(codings, columns, strict=True)
                if tree is not None
            },
            missing=any(coding.missing for coding in codings)
            or any(people[coding.column.name].null_count() for coding in codings),
        )

    def count(self, levels: Levels, nodes: Nodes) -> tuple[Integers, int]:
        """Return how many people fit each class of a node, and how many fit none."""
        from halfmask.kernels.lattice.grouping import same_groups  # noqa: PLC0415 # compiles late

        items = np.stack(
            [
                of[level][column]
                for of, level, column in zip(self.nodes, levels, self.codes, strict=True)
            ]
        )
        placed = (items >= 0).all(axis=0)
        widths = np.maximum(items.max(axis=1, initial=0), nodes.max(axis=0, initial=0)) + 1
        found = same_groups(
            np.ascontiguousarray(nodes.T, dtype=np.int32),
            np.ascontiguousarray(items[:, placed]),
            widths.astype(np.int64),
        )
        fitting = np.zeros(len(nodes), dtype=np.int64)
        np.add.at(fitting, found[found >= 0], self.people[placed][found >= 0])
        return fitting, self.n_people - int(fitting.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleOfNode:
    """People at the levels that were chosen, as `PlacedPeople` are among cells."""

    people: LevelPeople
    partition: LatticePartition

    def __repr__(self) -> str:
        return f"PeopleOfNode({self.people!r})"

    @property
    def trees(self) -> dict[str, pl.DataFrame]:
        """The levels of each hierarchy, with all people's values."""
        return self.people.trees

    def classes(self, counts: CellCounts) -> tuple[Classes, Integers]:
        """Return the classes with their people, and the class of each cell: each is one."""
        fitting, outside = self.people.count(self.partition.levels, self.partition.nodes)
        found = replace(counts.classes, population=fitting, outside=outside)
        return found, np.arange(self.partition.n_cells, dtype=np.int64)


def _leveled(
    coding: Coding, series: pl.Series
) -> tuple[Integers, tuple[Nodes, ...], pl.DataFrame | None]:
    """Return the value of each person, and the node of each value at each level."""
    axis = axis_of(coding, Level(), series)
    places = axis.places().astype(np.int64)
    table = lattice_column(coding, np.zeros(0, dtype=np.int64)).nodes
    if isinstance(axis, NodeAxis):
        rows = axis.tree.levels
        missing = rows.height
        nodes = tuple(_nodes_of_leaves(coding, level, own, rows) for level, own in enumerate(table))
        return np.where(places == MISSING, missing, places), nodes, rows
    other = coding.n_values
    known = places
    if coding.ordered:  # a value of the table lies at an odd place, what is between at an even one
        known = np.where(places % 2 == 1, places // 2, NOWHERE)
    codes = np.where(places == MISSING, other + 1, np.where(known < 0, other, known))
    own = np.append(table[0][:other], (-1, other if coding.missing else -1)).astype(np.int32)
    root = np.zeros(other + 2, dtype=np.int32)
    root[-1] = -1
    return codes, (own, root)[: len(table)], None


def _nodes_of_leaves(coding: Coding, level: int, own: Nodes, rows: pl.DataFrame) -> Nodes:
    """Return the table's node of each leaf at a level, and of missing: by what is written."""
    root = root_label(coding, level)
    hierarchy = coding.hierarchy
    labels = [root] if root is not None or hierarchy is None else hierarchy.labels(level)
    nodes = np.full(rows.height + 1, -1, dtype=np.int32)
    for code, label in enumerate(labels):
        if code and own[code] == own[code - 1]:
            continue
        for column in rows.columns:
            there = (rows[column] == label).to_numpy()
            if (nodes[:-1][there] >= 0).any() and (nodes[:-1][there] != own[code]).any():
                raise HierarchyError(
                    f"The hierarchy of column {coding.column.name!r} has one label for different "
                    "nodes, and a guarantee is about a population.",
                    hint="Give each node a label of its own.",
                )
            nodes[:-1][there] = own[code]
    if coding.missing and root is None:
        nodes[-1] = own[-1]
    return nodes

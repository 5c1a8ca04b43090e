"""The rows of a table grouped by the nodes of a level of each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import LatticeColumn
    from halfmask.kernels.lattice.grouping import NodeTables


@dataclass(slots=True, kw_only=True, eq=False)
class GroupedRows:
    """Classes of rows, each with the codes of one of its rows.

    Parameters
    ----------
    codes
        The codes of a row of each class, (columns, classes).
    sizes
        The rows of each class.
    counted
        The classes with their histograms; ``None`` until they are asked for.
    finer
        What these classes were grouped from, and the class of each class there.
    """

    codes: NDArray[np.integer]
    sizes: NDArray[np.int64]
    counted: Classes | None = None
    finer: tuple[GroupedRows, NDArray[np.int32]] | None = None

    def __repr__(self) -> str:
        return f"GroupedRows({len(self.sizes)} classes)"

    @classmethod
    def of_rows(
        cls,
        codes: Sequence[NDArray[np.integer]],
        columns: Sequence[LatticeColumn],
        sensitive: Mapping[str, tuple[NDArray[np.int64], int]],
        *,
        person_of_row: NDArray[np.int64] | None = None,
    ) -> tuple[Self, NDArray[np.int32]]:
        """Group rows by all their codes; return the classes, and the class of each row.

        Parameters
        ----------
        codes
            The codes of the rows, column by column.
        columns
            The columns.
        sensitive
            For each column that is counted in the classes its codes and how many there are.
        person_of_row
            The person of each row, where a person is the unit.
        """
        from halfmask.kernels.compiling import compile_all_widths  # noqa: PLC0415 # compiles late
        from halfmask.kernels.lattice.grouping import group_items, group_room  # noqa: PLC0415

        widest = max(len(column.rows) for column in columns)
        stacked = np.stack(codes, dtype=np.min_scalar_type(widest), casting="unsafe")
        room = group_room(stacked.shape[1])
        lowest = np.zeros(len(columns), dtype=np.int64)
        ones = np.ones(stacked.shape[1], dtype=np.int64)
        given = (stacked, ones, node_tables(columns), lowest, room)
        compile_all_widths(group_items, *given)
        n = group_items(*given)
        counted = Classes.from_codes(room.group, n, sensitive, person_of_row=person_of_row)
        first = np.ascontiguousarray(stacked[:, room.first[:n]])
        return cls(codes=first, sizes=counted.sizes, counted=counted), room.group

    @property
    def has_sizes_alone(self) -> bool:
        """Whether nothing but rows is counted in the classes."""
        counted = self.classes()
        rest = (getattr(counted, each.name) for each in fields(counted) if each.name != "sizes")
        return all(each is None or (isinstance(each, Mapping) and not each) for each in rest)

    def classes(self) -> Classes:
        """Return the classes with their histograms."""
        if self.counted is None:
            finer, into = self.finer  # type: ignore[misc] # one of both is there
            self.counted = finer.classes().coarsened(into, len(self.sizes))
            self.finer = None
        return self.counted


def node_tables(columns: Sequence[LatticeColumn]) -> NodeTables:
    """Return what each level of each column makes of codes, as the compiled loops read it."""
    from halfmask.kernels.lattice.grouping import NodeTables  # noqa: PLC0415 # compiles late

    shape = (len(columns), max(column.n_levels for column in columns))
    starts, widths = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    tables, end = [], 0
    for place, column in enumerate(columns):
        for level, nodes in enumerate(column.nodes):
            starts[place, level], widths[place, level] = end, int(nodes.max(initial=0)) + 1
            tables.append(nodes.astype(np.int32))
            end += len(nodes)
    return NodeTables(np.concatenate(tables), starts, widths)

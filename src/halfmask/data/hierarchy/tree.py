"""A hierarchy: the levels of generalization of one column, as a tree with its leaves in order."""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask._errors import HierarchyError
from halfmask._validation import integer_at_least, list_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = "*"
MAX_LEVELS = 255  # boundaries are bytes


def as_text(values: pl.Series) -> pl.Series:
    """Return values as texts that differ where the values do.

    Examples
    --------
    >>> from datetime import time
    >>> as_text(pl.Series([time(10), time(10, 0, 0, 500)])).to_list()
    ['10:00:00', '10:00:00.000500']
    """
    if values.dtype in (pl.Duration, pl.Time):
        return values.dt.to_string("iso")  # a cast raises, or cuts fractions of a second
    return values.cast(pl.String)


def leaf_text(values: pl.Series) -> pl.Series:
    """Return values as the leaves of a hierarchy spell them.

    Whole floating-point numbers are written without ``.0``: a column of whole numbers with gaps
    arrives as floats from many libraries, and hierarchy files say ``39``. Dates, times and spans
    of time are ISO 8601, with all their fractions of a second.

    Examples
    --------
    >>> leaf_text(pl.Series([39.0, 0.5, None])).to_list()
    ['39', '0.5', None]
    """
    if not values.dtype.is_float():
        return as_text(values)
    # Beyond 2**53 a float doesn't tell neighbouring whole numbers apart.
    whole = (values == values.floor()) & (values.abs() < 2**53)
    as_int = values.set(~whole.fill_null(value=False), None).cast(pl.Int64).cast(pl.String)
    return as_int.zip_with(as_int.is_not_null(), values.cast(pl.String))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """The levels of generalization of one column.

    Level 0 holds the raw values (the leaves); each level above is a coarser view of the one
    below, and the top level is a single node. Make one with `Hierarchy.from_rows`,
    `read_hierarchy` or a `HierarchyRule`; the constructor takes what these have checked.

    Parameters
    ----------
    column
        The column that it is of.
    levels
        A column of strings for each level, level 0 first; a row for each leaf, in tree order.
    boundaries
        For each leaf and the next, the level at which they meet.
    root_added
        Whether a root ``"*"`` was added on top.

    Notes
    -----
    **Guarantees.** The leaves are in tree order (depth first from the top level): the leaves below
    any node of any level are one contiguous run. Siblings keep the order in which they first
    appear; rules give them their natural order.

    **Edge cases.** Where the top level has more than one node, a root ``"*"`` is added above it
    and ``root_added`` is true. A label may occur at more than one level (files repeat a label
    that has no coarser one), but no label may lead back to itself through others.

    Examples
    --------
    >>> tree = Hierarchy.from_rows(
    ...     [("lyon", "france"), ("rome", "italy"), ("paris", "france")], column="city"
    ... )
    >>> tree.leaves
    ('lyon', 'paris', 'rome')
    >>> tree.boundaries.tolist()
    [1, 2]
    >>> tree.node(0, 1), tree.node(0, 2), tree.root_added
    ((1, 'france'), (2, '*'), True)
    """

    column: str
    levels: pl.DataFrame
    boundaries: NDArray[np.uint8]
    root_added: bool

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]], *, column: str) -> Self:
        """Build a hierarchy from its rows: a raw value, then ever more general labels.

        Parameters
        ----------
        rows
            One row for each raw value, all of the same length; the order of ARX's CSV files.
        column
            The column that the hierarchy is for, as errors call it.

        Raises
        ------
        HierarchyError
            If there are no rows; if rows have different numbers of levels, a label is missing, a
            raw value occurs twice, a level is no coarsening of the one below it, or labels lead
            back to themselves. Messages hold counts, level and row numbers, never a label.
        """
        list_of(
            "rows, each a list of labels",
            lambda it: isinstance(it, list | tuple),
            owner="Hierarchy.from_rows",
            rows=rows,
        )
        if not rows:
            raise HierarchyError(f"The hierarchy of column {column!r} has no rows.")
        height = len(rows[0])
        uneven = next((i for i, row in enumerate(rows) if len(row) != height), None)
        if uneven is not None:
            raise HierarchyError(
                f"The hierarchy of column {column!r} has uneven levels: row 1 has {height} and "
                f"row {uneven + 1} has {len(rows[uneven])}.",
                hint="Repeat a label where a value has no coarser one.",
            )
        if height == 0 or any(not isinstance(cell, str) for row in rows for cell in row):
            raise HierarchyError(
                f"The hierarchy of column {column!r} must have rows of strings, one at least."
            )
        names = [str(level) for level in range(height)]
        cells = zip(*rows, strict=True)
        levels = pl.DataFrame(
            [pl.Series(name, level, pl.String) for name, level in zip(names, cells, strict=True)]
        )
        return cls.from_levels(levels, column=column)

    @classmethod
    def from_levels(cls, levels: pl.DataFrame, *, column: str, root: bool = False) -> Self:
        """Build a hierarchy from a frame with one string column per level.

        Parameters
        ----------
        levels
            The rows of `from_rows` as a frame; the names of its columns don't matter.
        column
            The column that the hierarchy is for.
        root
            Whether to add the root ``"*"`` even where the top level is a single node, so that the
            height follows from the rule and not from the data.

        Raises
        ------
        HierarchyError
            As in `from_rows`.
        """
        if levels.is_empty():
            raise HierarchyError(f"The hierarchy of column {column!r} has no rows.")
        levels = levels.rename(
            dict(zip(levels.columns, map(str, range(levels.width)), strict=True))
        )
        add_root = root or levels.to_series(levels.width - 1).n_unique() > 1
        if add_root:
            levels = levels.with_columns(pl.lit(ROOT).alias(str(levels.width)))
        _check(levels, column)
        ordered = _tree_order(levels)
        return cls(column, ordered, _boundaries(ordered), add_root)

    @property
    def height(self) -> int:
        """The number of levels, the raw values and the root included."""
        return self.levels.width

    @property
    def leaves(self) -> tuple[str, ...]:
        """The raw values in tree order."""
        return self.labels(0)

    def labels(self, level: int) -> tuple[str, ...]:
        """Return the label of each leaf at a level, in the order of the leaves.

        Parameters
        ----------
        level
            The level; 0 holds the leaves.
        """
        return tuple(self._at(level))

    def node(self, first: int, last: int) -> tuple[int, str]:
        """Return the lowest node above the leaves ``first`` to ``last``, both included.

        Parameters
        ----------
        first, last
            Indices of leaves, ``0 <= first <= last < len(leaves)``.

        Returns
        -------
        tuple of int and str
            The node's level, the lowest there is, and its label.
        """
        integer_at_least(0, owner="Hierarchy.node", first=first)
        integer_at_least(first, owner="Hierarchy.node", last=last)
        if last >= len(self):
            raise HierarchyError(
                f"The hierarchy of column {self.column!r} has {len(self)} leaves; "
                f"there is none with index {last}."
            )
        level = int(self.boundaries[first:last].max(initial=0))
        return level, str(self.levels.item(first, level))

    def codes(self, values: pl.Series, *, column: str | None = None) -> pl.Series:
        """Return the index of each value's leaf, as UInt32; missing stays missing.

        Parameters
        ----------
        values
            The values of a column.
        column
            Its name, for errors; by default the hierarchy's.

        Raises
        ------
        HierarchyError
            If the hierarchy lacks values of the column; the message counts them.
        """
        leaves = self._at(0)
        codes = leaf_text(values).replace_strict(
            leaves,
            pl.Series(range(len(self)), dtype=pl.UInt32),
            default=None,
            return_dtype=pl.UInt32,
        )
        lacking = codes.is_null() & values.is_not_null()
        if lacking.any():
            n, rows = values.filter(lacking).n_unique(), int(lacking.sum())
            # Where each value is given once they may be a column's values and not its rows.
            where = f", in {rows} rows" if rows > n else ""
            raise HierarchyError(
                f"The hierarchy of column {column or self.column!r} lacks {n} "
                f"{'value' if n == 1 else 'values'} of the column{where}.",
                hint="Add a row for each, or name the markers of missing values for this table.",
            )
        return codes.alias(values.name)

    def cover(self, values: pl.Series, *, column: str | None = None) -> None:
        """Raise `HierarchyError` unless every value that isn't missing has a leaf.

        Parameters
        ----------
        values, column
            As of `codes`.
        """
        self.codes(values, column=column)

    def generalize(self, values: pl.Series, level: int) -> pl.Series:
        """Return the label of each value at a level; missing stays missing.

        Parameters
        ----------
        values
            The values of a column.
        level
            The level; 0 holds the leaves.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("1", "odd"), ("2", "even"), ("3", "odd")], column="n")
        >>> tree.generalize(pl.Series([2, None, 3]), 1).to_list()
        ['even', None, 'odd']
        """
        return self._at(level).gather(self.codes(values)).alias(values.name)

    def __len__(self) -> int:
        return self.levels.height

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self.levels.equals(other.levels)

    def __hash__(self) -> int:
        return hash((self.column, self.levels.shape))

    def __repr__(self) -> str:
        return f"<Hierarchy of column {self.column!r}: {len(self)} leaves, {self.height} levels>"

    def _at(self, level: int) -> pl.Series:
        integer_at_least(0, owner="Hierarchy", level=level)
        if level >= self.height:
            raise HierarchyError(
                f"The hierarchy of column {self.column!r} has levels 0 to {self.height - 1}; "
                f"there is no level {level}."
            )
        return self.levels.to_series(level)


def _check(levels: pl.DataFrame, column: str) -> None:
    """Raise unless the levels are a tree whose leaves differ."""
    of = f"The hierarchy of column {column!r}"
    if levels.width > MAX_LEVELS:
        raise HierarchyError(f"{of} has {levels.width} levels; {MAX_LEVELS} are the most.")
    for level, labels in enumerate(levels):
        empty = labels.null_count() + (labels == "").sum()
        if empty:
            raise HierarchyError(
                f"{of} has {empty} missing labels at level {level}.",
                hint="A missing cell follows the column's missing policy and needs no row.",
            )
    distinct = [labels.n_unique() for labels in levels]
    if distinct[0] < levels.height:
        raise HierarchyError(
            f"{of} has duplicates: {levels.height} rows and {distinct[0]} different raw values.",
            hint="Keep one row for each raw value.",
        )
    for level in range(1, levels.width - 1):
        pairs = levels.select(str(level), str(level + 1)).unique()
        if pairs.height > distinct[level]:
            split = pairs[str(level)].is_duplicated()
            raise HierarchyError(
                f"{of} is no tree: {pairs[str(level)].filter(split).n_unique()} labels of level "
                f"{level} have more than one parent at level {level + 1}.",
                hint=f"Level {level + 1} must be a coarsening of level {level}.",
            )
    # "*" is everybody's root; a raw value that is spelt like it makes no cycle.
    below = levels[:, :-1] if levels.item(0, -1) == ROOT else levels
    _check_cycles(below, distinct[: below.width], of)


def _check_cycles(levels: pl.DataFrame, distinct: list[int], of: str) -> None:
    """Raise if labels lead back to themselves through other labels."""
    # A cycle needs a label at two levels; most hierarchies have none, and this costs little.
    labels = [level.unique().alias("label") for level in levels]
    if not labels or pl.concat(labels).n_unique() == sum(distinct):
        return
    parents: dict[str, set[str]] = {}
    for level in range(levels.width - 1):
        pairs = levels.select(pl.col(str(level)).alias("a"), pl.col(str(level + 1)).alias("b"))
        for label, parent in pairs.unique().filter(pl.col("a") != pl.col("b")).iter_rows():
            parents.setdefault(label, set()).add(parent)
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        raise HierarchyError(
            f"{of} has a cycle: a label leads back to itself through "
            f"{len(error.args[1]) - 2} others.",
            hint="Give nodes of different levels different labels.",
        ) from None


def _tree_order(levels: pl.DataFrame) -> pl.DataFrame:
    """Sort the rows depth first, siblings by first appearance."""
    first = [pl.col("row").min().over(str(n)).alias(str(n)) for n in range(1, levels.width)]
    order = levels.with_row_index("row").select(*first, pl.col("row").alias("0"))
    by = [str(level) for level in reversed(range(levels.width))]
    return levels[order.select(pl.arg_sort_by(by)).to_series()]


def _boundaries(levels: pl.DataFrame) -> NDArray[np.uint8]:
    """Return the lowest level at which each leaf and the next share their label."""
    boundaries = np.full(max(levels.height - 1, 0), levels.width - 1, dtype=np.uint8)
    for level in reversed(range(1, levels.width - 1)):
        labels = levels.to_series(level)
        same = (labels == labels.shift(-1)).head(levels.height - 1).to_numpy()
        boundaries[same] = level
    boundaries.flags.writeable = False
    return boundaries

"""Cells as a learner sees them: what each class covers in each column, and that as features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.assess._arrays import Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


Integers = Ints


class Members(NamedTuple):
    """The codes of each cell's set: ``codes[offsets[i]:offsets[i + 1]]``.

    Each set lists a code once. A cell without members means "missing".

    Attributes
    ----------
    offsets
        Where the set of each cell begins in `codes`, and the end of the last.
    codes
        The codes of all sets, cell by cell.
    """

    offsets: Integers
    codes: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnExtents:
    """What each cell of one column covers.

    Parameters
    ----------
    low, high
        The lowest and highest number (numeric) or code (categorical) of each cell, both in it.
        Missing cells are NaN.
    domain_low, domain_high
        The lowest and highest number or code that the column had before.
    categorical
        Whether the numbers are codes of values, one apart, instead of quantities.
    members
        The codes of each cell where a set has gaps; without it a categorical cell holds every code
        from ``low`` to ``high``.
    """

    low: Floats
    high: Floats
    domain_low: float
    domain_high: float
    categorical: bool
    members: Members | None = None

    def __post_init__(self) -> None:
        if self.low.ndim != 1 or self.low.shape != self.high.shape:
            raise ParameterError(
                "The 'low' and 'high' parameters of ColumnExtents must have one entry a cell. "
                f"Got shapes {self.low.shape} and {self.high.shape}."
            )
        if self.low.size and not (self.domain_low <= self.domain_high):
            raise ParameterError("The 'domain_low' parameter of ColumnExtents is above its high.")
        if self.members is not None and len(self.members.offsets) != len(self.low) + 1:
            raise ParameterError("The 'members' parameter of ColumnExtents misses some cells.")
        stated = ~np.isnan(self.low)
        low, high = self.low[stated], self.high[stated]
        if np.any(np.isnan(high)) or not np.all(low <= high):
            raise ParameterError("A cell of ColumnExtents ends before it begins.")
        if low.size and (low.min() < self.domain_low or high.max() > self.domain_high):
            raise ParameterError("A cell of ColumnExtents reaches outside of the domain.")

    @classmethod
    def exact(
        cls, values: Floats, *, domain_low: float, domain_high: float, categorical: bool
    ) -> ColumnExtents:
        """Return cells that hold one value each: a raw column in released form.

        Parameters
        ----------
        values
            The value of each cell: numbers, or codes of categories.
        domain_low, domain_high
            The ends of the column's domain.
        categorical
            Whether the values are codes of categories.
        """
        return cls(
            low=values,
            high=values,
            domain_low=domain_low,
            domain_high=domain_high,
            categorical=categorical,
        )

    @classmethod
    def of_codes(
        cls,
        low: Integers,
        high: Integers,
        *,
        n_values: int,
        numbers: Floats | None,
        ends: Floats | None = None,
        members: Members | None = None,
    ) -> ColumnExtents:
        """Return what cells cover that are given as codes.

        Parameters
        ----------
        low
            The least code of each cell; -1 where the cell is missing.
        high
            The greatest.
        n_values
            How many values the column had; their codes are 0 to ``n_values - 1``.
        numbers
            The number of each code, ascending, of a numeric column; None for a categorical one.
        ends
            Where each code ends, of numbers that are starts of pieces; None: at its number.
        members
            The codes of each cell where sets have gaps.

        Examples
        --------
        >>> import numpy as np
        >>> cells = ColumnExtents.of_codes(
        ...     np.array([0, -1]), np.array([1, -1]), n_values=3, numbers=np.array([17.0, 30, 90])
        ... )
        >>> cells.low, cells.high
        (array([17., nan]), array([30., nan]))
        """
        scale = np.arange(n_values, dtype=np.float64) if numbers is None else numbers
        # A code of -1 reads the last entry: NaN.
        last = scale if ends is None else ends
        return cls(
            low=np.append(scale, np.nan)[low],
            high=np.append(last, np.nan)[high],
            domain_low=float(scale[0]) if n_values else 0.0,
            domain_high=float(last[-1]) if n_values else 0.0,
            categorical=numbers is None,
            members=members,
        )

    def __len__(self) -> int:
        return len(self.low)

    @property
    def n_leaves(self) -> int:
        """How many values a categorical column had."""
        return round(self.domain_high - self.domain_low) + 1

    def covered(self) -> Floats:
        """Return how many values each categorical cell stands for; 0 is missing."""
        if self.members is not None:
            return np.diff(self.members.offsets).astype(np.float64)
        return np.nan_to_num(self.high - self.low + 1.0, nan=0.0)

    def take(self, cells: Integers) -> ColumnExtents:
        """Return the extents of these cells in this order, each as often as it is named.

        Parameters
        ----------
        cells
            The cells to return.
        """
        members = None if self.members is None else _take_members(self.members, cells)
        return replace(self, low=self.low[cells], high=self.high[cells], members=members)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellExtents:
    """What each class of a release covers in every quasi-identifier.

    Parameters
    ----------
    columns
        The extents of each column, by its name. All have one entry a class.
    sizes
        How many rows each class has. At least 0.

    Examples
    --------
    >>> import numpy as np
    >>> age = ColumnExtents(
    ...     low=np.array([17.0, 40.0]), high=np.array([30.0, 90.0]),
    ...     domain_low=17, domain_high=90, categorical=False,
    ... )
    >>> cells = CellExtents(columns={"age": age}, sizes=np.array([12, 30]))
    >>> cells.rows
    42
    """

    columns: Mapping[str, ColumnExtents]
    sizes: Integers

    def __post_init__(self) -> None:
        if self.sizes.size and self.sizes.min() < 0:
            raise ParameterError("The 'sizes' parameter of CellExtents holds a negative count.")
        for name, column in self.columns.items():
            if len(column) != len(self.sizes):
                raise ParameterError(
                    f"The extents of column {name!r} must have one entry a class. "
                    f"Got {len(column)} for {len(self.sizes)} classes."
                )

    @property
    def rows(self) -> int:
        """How many rows all classes have together."""
        return int(self.sizes.sum())

    def take(self, classes: Integers) -> CellExtents:
        """Return one cell a row: ``classes`` names the class of each.

        Parameters
        ----------
        classes
            The class of each row.
        """
        return CellExtents(
            columns={name: column.take(classes) for name, column in self.columns.items()},
            sizes=np.ones(len(classes), dtype=np.int64),
        )

    def merged(self, other: CellExtents) -> CellExtents:
        """Return the columns of both, for the same rows.

        Parameters
        ----------
        other
            The extents of other columns.
        """
        return CellExtents(columns={**self.columns, **other.columns}, sizes=self.sizes)


def _take_members(members: Members, cells: Integers) -> Members:
    lengths = np.diff(members.offsets)[cells]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    codes = members.codes[np.repeat(members.offsets[cells], lengths) + within]
    return Members(offsets=offsets, codes=codes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeaturePlan:
    """Which feature each code of a column belongs to."""

    groups: Mapping[str, NDArray[np.int64] | None]

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return sum(_width(group) for group in self.groups.values())


def feature_plan(raw: CellExtents, *, max_categories: int = 32) -> FeaturePlan:
    """Choose the features from raw training rows."""
    integer_at_least(1, owner="feature_plan", max_categories=max_categories)
    return FeaturePlan(
        groups={
            name: _grouped(column, max_categories) if column.categorical else None
            for name, column in raw.columns.items()
        }
    )


def features_of_cells(cells: CellExtents, plan: FeaturePlan) -> NDArray[np.float32]:
    """Return one row of features for each cell.

    A numeric cell is its midpoint, NaN where it is missing. Of a set, each value has its share.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import CellExtents, ColumnExtents
    >>> sex = ColumnExtents(
    ...     low=np.array([0.0, 0.0]), high=np.array([0.0, 1.0]),
    ...     domain_low=0, domain_high=1, categorical=True,
    ... )
    >>> cells = CellExtents(columns={"sex": sex}, sizes=np.array([4, 6]))
    >>> features_of_cells(cells, feature_plan(cells)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    missing = [name for name in plan.groups if name not in cells.columns]
    if missing:
        raise ColumnNotFoundError.of(missing, cells.columns, where="the cells")
    out = np.zeros((len(cells.sizes), plan.n_features), dtype=np.float32)
    start = 0
    for name, group in plan.groups.items():
        block = out[:, start : start + _width(group)]
        start += _width(group)
        column = cells.columns[name]
        if group is None:
            block[:, 0] = (column.low + column.high) / 2
        elif column.members is not None:
            _fill_members(block, column, group)
        else:
            _fill_spans(block, column, group)
    return out


def _width(group: Ints | None) -> int:
    return 1 if group is None else int(group.max(initial=-1)) + 1


def _grouped(column: ColumnExtents, most: int) -> Ints:
    n_leaves = column.n_leaves
    if n_leaves <= most:
        return np.arange(n_leaves)
    stated = column.low[~np.isnan(column.low)] - column.domain_low
    counts = np.bincount(stated.astype(np.int64), minlength=n_leaves)
    group = np.full(n_leaves, most, dtype=np.int64)
    group[np.argsort(-counts, kind="stable")[:most]] = np.arange(most)
    return group


def _fill_spans(block: NDArray[np.float32], column: ColumnExtents, group: Ints) -> None:
    stated = ~np.isnan(column.low)
    first = (column.low[stated] - column.domain_low).astype(np.int64)
    last = (column.high[stated] - column.domain_low).astype(np.int64)
    for feature in range(block.shape[1]):
        # How many codes below each belong to the feature: a span's share is a difference of two.
        below = np.concatenate([[0], np.cumsum(group == feature)])
        block[stated, feature] = (below[last + 1] - below[first]) / (last + 1 - first)


def _fill_members(block: NDArray[np.float32], column: ColumnExtents, group: Ints) -> None:
    if column.members is None:
        return
    lengths = np.diff(column.members.offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    codes = column.members.codes.astype(np.int64) - round(column.domain_low)
    np.add.at(block, (owners, group[codes]), (1.0 / np.repeat(lengths, lengths)).astype(np.float32))

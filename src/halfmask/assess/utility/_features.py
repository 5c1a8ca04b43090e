"""Cells as numbers for a learner: raw rows and released ones by the same encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ColumnNotFoundError
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess.utility._extents import CellExtents, ColumnExtents


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeaturePlan:
    """Which feature each code of a column belongs to.

    Parameters
    ----------
    groups
        For each column, in order: None for a numeric one, which is one feature; else the feature of
        each code.
    """

    groups: Mapping[str, NDArray[np.int64] | None]

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return sum(_width(group) for group in self.groups.values())


def feature_plan(raw: CellExtents, *, max_categories: int = 32) -> FeaturePlan:
    """Choose the features from raw training rows.

    Parameters
    ----------
    raw
        Raw rows as cells of one value.
    max_categories
        A categorical column of more values keeps its most frequent ones; the rest share one
        feature. At least 1.
    """
    integer_at_least(1, owner="feature_plan", max_categories=max_categories)
    return FeaturePlan(
        groups={
            name: _grouped(column, max_categories) if column.categorical else None
            for name, column in raw.columns.items()
        }
    )


def features_of_cells(cells: CellExtents, plan: FeaturePlan) -> NDArray[np.float32]:
    """Return one row of features for each cell.

    Parameters
    ----------
    cells
        Released classes, released rows (``cells.take(class_of_row)``), or raw rows as cells of one
        value.
    plan
        The features, chosen once and used for all of them.

    Returns
    -------
    ndarray of shape (n_cells, plan.n_features)
        A numeric cell is its midpoint, NaN where it is missing. A categorical cell of m values puts
        1/m on each of them; a missing one is all zeros.

    Raises
    ------
    ColumnNotFoundError
        The cells lack a column of the plan.

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


def _width(group: NDArray[np.int64] | None) -> int:
    return 1 if group is None else int(group.max(initial=-1)) + 1


def _grouped(column: ColumnExtents, most: int) -> NDArray[np.int64]:
    n_leaves = column.n_leaves
    if n_leaves <= most:
        return np.arange(n_leaves)
    stated = column.low[~np.isnan(column.low)] - column.domain_low
    counts = np.bincount(stated.astype(np.int64), minlength=n_leaves)
    group = np.full(n_leaves, most, dtype=np.int64)
    group[np.argsort(-counts, kind="stable")[:most]] = np.arange(most)
    return group


def _fill_spans(
    block: NDArray[np.float32], column: ColumnExtents, group: NDArray[np.int64]
) -> None:
    stated = ~np.isnan(column.low)
    first = (column.low[stated] - column.domain_low).astype(np.int64)
    last = (column.high[stated] - column.domain_low).astype(np.int64)
    for feature in range(block.shape[1]):
        # How many codes below each belong to the feature: a span's share is a difference of two.
        below = np.concatenate([[0], np.cumsum(group == feature)])
        block[stated, feature] = (below[last + 1] - below[first]) / (last + 1 - first)


def _fill_members(
    block: NDArray[np.float32], column: ColumnExtents, group: NDArray[np.int64]
) -> None:
    if column.members is None:
        return
    lengths = np.diff(column.members.offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    codes = column.members.codes.astype(np.int64) - round(column.domain_low)
    np.add.at(block, (owners, group[codes]), (1.0 / np.repeat(lengths, lengths)).astype(np.float32))

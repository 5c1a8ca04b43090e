"""Information loss: the width of the released cells, compared with single values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess.utility._extents import CellExtents, ColumnExtents


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLoss:
    """Information loss of one column: 0 keeps every value, 1 keeps no detail.

    Parameters
    ----------
    ncp
        Normalized certainty penalty, in [0, 1]. A set of m of the column's M categories
        scores m / M, and a single category scores 0.
    loss
        Granularity loss, in [0, 1]. A set of m of M categories scores (m - 1) / (M - 1).
    """

    ncp: float
    loss: float

    @property
    def sentence(self) -> str:
        """The number in one sentence."""
        return f"A cell covers on average {self.loss:.1%} of the width that the column had."

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return {"ncp": self.ncp, "loss": self.loss}


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationLoss:
    """How much of a table's detail is gone: 0 nothing, 1 everything.

    Parameters
    ----------
    columns
        The loss of each quasi-identifier.
    ncp
        Mean of the columns' penalties, in [0, 1].
    loss
        Mean of the columns' granularity losses, in [0, 1].
    """

    columns: Mapping[str, ColumnLoss]
    ncp: float
    loss: float

    @property
    def ncp_sentence(self) -> str:
        """The penalty in one sentence."""
        return (
            f"Between 0 (exact values) and 1 (no information), the release is at "
            f"{self.ncp:.3f}; a set of values counts by its share of all values."
        )

    @property
    def loss_sentence(self) -> str:
        """The granularity loss in one sentence."""
        return (
            f"A released cell covers on average {self.loss:.1%} of the width of its column; "
            "0 means exact values, 1 means no information."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers by name."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {"ncp": self.ncp, "loss": self.loss, "columns": columns}


def information_loss(cells: CellExtents, *, suppressed: int) -> InformationLoss:
    """Measure how much detail a release loses.

    Parameters
    ----------
    cells
        What each class covers in each quasi-identifier.
    suppressed
        How many rows were left out whole. At least 0.

    Notes
    -----
    A cell of a numeric column scores ``(high - low) / (domain_high - domain_low)`` in
    both measures.
    A cell of a categorical column that stands for ``m`` of the column's ``M`` values scores

    - **NCP**: 0 if ``m = 1``, else ``m / M`` (Xu et al., KDD 2006, section 3, with the zero of a
      single leaf spelled out as in Ghinita et al., VLDB 2007, section 2);
    - **loss**: ``(m - 1) / (M - 1)`` (Iyengar, KDD 2002, section 3). ARX's granularity is the mean
      of ``m / M``, rescaled from ``1 / M`` to 1: the same number.

    A suppressed row scores 1 in every column. A column's loss is the mean over all rows that came
    in, the table's is the mean over its columns, none weighing more than another.

    **Guarantees.** Both lie in [0, 1]; they are 0 if every cell is one value, 1 if every
    row is suppressed, and merging classes never lowers them.

    **Edge cases.** A missing cell means exactly "missing" and scores 0; one that mixes missing with
    values is scored by its values. A column that had one value scores 0 in rows that were kept. No
    rows at all, or no columns: 0.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import CellExtents, ColumnExtents
    >>> age = ColumnExtents(
    ...     low=np.array([20.0, 40.0]), high=np.array([30.0, 60.0]),
    ...     domain_low=20, domain_high=60, categorical=False,
    ... )
    >>> cells = CellExtents(columns={"age": age}, sizes=np.array([3, 1]))
    >>> information_loss(cells, suppressed=0).loss
    0.3125
    """
    integer_at_least(0, owner="information_loss", suppressed=suppressed)
    columns = {
        name: ColumnLoss(
            ncp=_mean(_penalties(column), cells.sizes, suppressed),
            loss=_mean(_losses(column), cells.sizes, suppressed),
        )
        for name, column in cells.columns.items()
    }
    n_columns = max(len(columns), 1)
    return InformationLoss(
        columns=columns,
        ncp=sum(column.ncp for column in columns.values()) / n_columns,
        loss=sum(column.loss for column in columns.values()) / n_columns,
    )


def _widths(column: ColumnExtents) -> NDArray[np.float64]:
    width = column.domain_high - column.domain_low
    if width == 0:
        return np.zeros(len(column))
    return np.nan_to_num((column.high - column.low) / width, nan=0.0)


def _penalties(column: ColumnExtents) -> NDArray[np.float64]:
    if not column.categorical:
        return _widths(column)
    covered = column.covered()
    return np.where(covered > 1, covered / column.n_leaves, 0.0)


def _losses(column: ColumnExtents) -> NDArray[np.float64]:
    if not column.categorical:
        return _widths(column)
    return np.maximum(column.covered() - 1.0, 0.0) / max(column.n_leaves - 1, 1)


def _mean(scores: NDArray[np.float64], sizes: NDArray[np.int64], suppressed: int) -> float:
    rows = int(sizes.sum()) + suppressed
    return float(scores @ sizes + suppressed) / rows if rows else 0.0

"""Granularity loss (NCP), counted by one function for us and for every peer.

A part of the scripts; not run by itself.

Peers publish ranges, sets, hierarchy nodes or representatives, which can't be compared as written.
So the loss is counted from what a class *is*: the original rows that a release makes alike. A
number loses the extent of its class over the extent of the column; a category loses the share of
the column's other values that its class mixes in; a suppressed row loses everything. The loss of a
table is the mean over all rows and quasi-identifiers, in [0, 1].

This flatters a peer that writes more than the extent (full-domain hierarchies: anjana), never us.

Xu et al.: Utility-Based Anonymization Using Local Recoding, KDD 2006, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray


def granularity_loss(
    original: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    rows: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> float:
    """Return the loss of a release of `original` that put `rows[i]` into `classes[i]`.

    Parameters
    ----------
    original
        All raw rows.
    quasi_identifiers
        The columns that count.
    rows
        Row numbers of `original` that were released, each once.
    classes
        The class of each.
    """
    if len(np.unique(rows)) != len(rows):
        message = "a row was released more than once"
        raise ValueError(message)
    released = original.select(quasi_identifiers)[rows].with_columns(
        pl.Series("__class", classes, dtype=pl.Int64)
    )
    lost = released.group_by("__class").agg(
        pl.len().alias("__rows"), *[_lost(original[name]) for name in quasi_identifiers]
    )
    per_row = lost.select(pl.mean_horizontal(quasi_identifiers) * pl.col("__rows")).to_series()
    suppressed = original.height - len(rows)
    return float((per_row.sum() + suppressed) / original.height)


def _lost(column: pl.Series) -> pl.Expr:
    """What one class loses in one column, as a share of the whole column."""
    cell = pl.col(column.name)
    if column.dtype.is_numeric():
        extent = float(column.max()) - float(column.min())  # type: ignore[arg-type]
        return (cell.max() - cell.min()).cast(pl.Float64) / max(extent, 1.0)
    return (cell.n_unique() - 1).cast(pl.Float64) / max(column.n_unique() - 1, 1)

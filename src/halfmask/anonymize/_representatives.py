"""Which row of each cell lies nearest its middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.coding import Coding


def representative_rows(
    cell_of_row: NDArray[np.int32],
    codes: Sequence[NDArray[np.integer]],
    codings: Sequence[Coding],
) -> NDArray[np.int64]:
    """Return for each cell the number of the row that is nearest the cell's middle.

    Notes
    -----
    Of rows that are equally near the first in the table is taken.
    """
    n = len(cell_of_row)
    distance = np.zeros(n)
    for column, coding in zip(codes, codings, strict=True):
        rows = pl.DataFrame({"cell": cell_of_row, "code": column.astype(np.int64)})
        if coding.ordered:
            middle = rows.select(pl.col("code").quantile(0.5, "lower").over("cell")).to_series()
            width = max(1, coding.n_codes - 1)
            distance += np.abs(column - middle.to_numpy()) / width
        else:
            counted = rows.select("cell", "code", n=pl.len().over("cell", "code")).with_columns(
                most=pl.col("n").max().over("cell")
            )
            distance += (counted["n"] < counted["most"]).to_numpy()
    nearest = (
        pl.DataFrame({"cell": cell_of_row, "distance": distance, "row": np.arange(n)})
        .sort("cell", "distance", "row")
        .group_by("cell", maintain_order=True)
        .first()
    )
    return nearest["row"].to_numpy().astype(np.int64)

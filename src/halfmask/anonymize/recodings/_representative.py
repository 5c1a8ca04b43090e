"""One of a class's own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from halfmask.anonymize._cells import CellColumn


@dataclass(frozen=True, slots=True)
class Representative:
    """Write the quasi-identifiers of the row nearest the middle of its class.

    The middle of a class is the median code in ordered columns and the most frequent code in the
    others. Distances are normalized by the width of the column; different categories have
    distance 1.

    See Also
    --------
    Centroid : Writes means, which needn't be the values of any row.

    Notes
    -----
    Goldsteen et al., "Anonymizing machine learning models" (2020), section 3, without the
    majority label. The written values are those of a real person. The release doesn't state which
    row of the class they belong to, and its rows are shuffled.
    """

    name: ClassVar[str] = "representative"
    sentence: ClassVar[str] = "One row of a class is written for all."
    weaknesses: ClassVar[tuple[str, ...]] = ("representative-is-a-record",)

    def write(self, cells: CellColumn) -> pl.Series:
        """Return one column's value of each cell's representative.

        Parameters
        ----------
        cells
            One column of all cells.
        """
        if cells.representatives is None:
            raise ParameterError("Representative needs the rows themselves. Got counts only.")
        held = cells.representatives < cells.coding.n_values
        codes = pl.Series(np.where(held, cells.representatives, -1)).replace(-1, None)
        return cells.coding.values.gather(codes).alias(cells.coding.column.name)

"""One of a class's own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from halfmask.anonymize._cells import CellColumn

__all__ = ["Representative"]


@dataclass(frozen=True, slots=True)
class Representative:
    """Write the quasi-identifiers of the row nearest the middle of its class.

    The middle is the class's median code in each ordered column and its most frequent code in the
    others; distances are the engine's normalized widths, 1 for another category.

    See Also
    --------
    Centroid : Nobody's own values.

    Notes
    -----
    Goldsteen et al., "Anonymizing machine learning models" (2020), section 3, without a guide's
    majority label. The values written are somebody's: which of the class's rows they belong to
    isn't in the release, and the rows are released in another order.
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

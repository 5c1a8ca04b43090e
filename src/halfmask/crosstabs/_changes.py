"""What protection changes in a table: cells and value hidden, and how far published cells moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halfmask.crosstabs._arrays import Floats, Ints
    from halfmask.crosstabs._pattern import PublishedCells


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosstabChange:
    """What protection hides and changes in a table."""

    #: Those that aren't 0, totals among them.
    cells: int
    #: The share of them that is hidden.
    hidden_cells: float
    #: Their part of the sum of absolute values.
    hidden_value: float
    #: Of published cells, as are the next two; None if all are hidden.
    mean_absolute: float | None
    mean_relative: float | None
    largest: float | None
    #: In [0, 1]; None with negative cells, or if there is nothing to compare.
    hellinger: float | None

    def sentences(self) -> list[str]:
        """Say it in words, without what didn't happen."""
        said = []
        if self.hidden_cells:
            said.append(
                f"{self.hidden_cells:.1%} of {self.cells:,} cells are hidden, with "
                f"{self.hidden_value:.1%} of the value."
            )
        if self.largest and self.mean_absolute is not None and self.mean_relative is not None:
            said.append(
                f"Published cells differ from the true ones by {self.mean_absolute:.3g} on "
                f"average ({self.mean_relative:.2%}) and by {self.largest:.3g} at most."
            )
        return said or ["All cells are published with their true values."]


def crosstab_change(published: PublishedCells, cells: Ints | None = None) -> CrosstabChange:
    """Compare published cells of a table, or of a measure, with true ones: for the owner."""
    every = np.arange(published.cells.n) if cells is None else cells
    true, hidden = published.cells.value[every], published.hidden[every]
    shown = published.value[every][~hidden]
    filled = true != 0
    whole = float(np.abs(true).sum())
    apart = np.abs(shown - true[~hidden])
    base = np.abs(true[~hidden])
    relative = apart[base > 0] / base[base > 0]
    return CrosstabChange(
        cells=int(filled.sum()),
        hidden_cells=float(hidden[filled].mean()) if filled.any() else 0.0,
        hidden_value=float(np.abs(true[hidden]).sum()) / whole if whole else 0.0,
        mean_absolute=float(apart.mean()) if len(apart) else None,
        mean_relative=float(relative.mean()) if len(relative) else None,
        largest=float(apart.max()) if len(apart) else None,
        hellinger=_hellinger(true[~hidden], shown),
    )


def _hellinger(true: Floats, shown: Floats) -> float | None:
    totals = float(true.sum()), float(shown.sum())
    if not len(true) or min(true.min(), shown.min()) < 0 or min(totals) <= 0:
        return None
    roots = np.sqrt(true / totals[0]) - np.sqrt(shown / totals[1])
    return float(np.sqrt((roots**2).sum() / 2))

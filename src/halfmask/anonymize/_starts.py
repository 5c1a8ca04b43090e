"""Choose between two sets of cells: which loses less once every guarantee is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize._mending import mend
from halfmask.anonymize._recount import CellCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.anonymize._fitted import Fitted


def better_start(starts: Iterable[Fitted], *, max_suppression_fraction: float) -> Fitted:
    """Return the cells that lose least after mending; of equal ones the first."""
    best: tuple[float, Fitted] | None = None
    failed: GuaranteeNotMetError | None = None
    for start in starts:
        try:
            mended, _ = mend(
                start,
                CellCounts.of(start),
                guarantees=[each for each in start.guarantees if not each.needs_population],
                max_suppression_fraction=max_suppression_fraction,
            )
        except GuaranteeNotMetError as error:
            failed = error
            continue
        loss = _width(mended)
        if best is None or loss < best[0]:
            best = loss, start
    if best is not None:
        return best[1]
    raise failed if failed is not None else GuaranteeNotMetError("There are no cells.")


def _width(fitted: Fitted) -> float:
    """Return the mean width of the rows' cells, in [0, 1]; that of a suppressed row is 1."""
    partition = fitted.partition
    spans = np.array([max(1, coding.n_codes - 1) for coding in fitted.codings])
    widths = ((partition.high - partition.low) / spans).mean(axis=1)
    n_rows = len(fitted.cell_of_row)
    suppressed = n_rows - int(partition.sizes.sum())
    return float(((widths * partition.sizes).sum() + suppressed) / n_rows)

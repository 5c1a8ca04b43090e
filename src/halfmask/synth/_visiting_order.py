"""The order in which columns are synthesized: each is drawn given those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.synth._column_codes import ColumnCodes


def by_entropy(columns: Sequence[ColumnCodes]) -> list[int]:
    """Return the columns' places, by the entropy of their cells, the least first.

    A tree finds a column from those that determine it, such as an installment from the amount, the
    term and the rate. The column that is determined has more different cells than each of these.
    """
    entropies = []
    for column in columns:
        shares = column.counts[column.counts > 0] / max(1, column.counts.sum())
        entropies.append(float(-(shares * np.log(shares)).sum()))
    return sorted(range(len(columns)), key=lambda place: (entropies[place], place))

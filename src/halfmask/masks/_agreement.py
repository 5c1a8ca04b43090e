"""How many rows agree with each row after suppression, counted both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.guarantees import agreeing_rows, class_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def agreement(
    table: pl.DataFrame, compared: Sequence[tuple[int, ...]], *, k: int
) -> dict[str, int]:
    """Count both ways on each set of columns, and state the worst of them.

    Examples
    --------
    >>> import polars as pl
    >>> found = agreement(pl.DataFrame({"sex": ["f", "f", None]}), [(0,)], k=2)
    >>> found["smallest"], found["smallest_strict"], found["rows_under_k_strict"]
    (3, 1, 1)
    """
    smallest = strict = table.height
    under = np.zeros(table.height, dtype=np.bool_)
    for places in compared:
        columns = [table.columns[j] for j in places]
        smallest = min(smallest, int(agreeing_rows(table, columns=columns).min(initial=smallest)))
        of_row, n_classes = class_of_row(table, quasi_identifiers=columns)
        equal = np.bincount(of_row, minlength=n_classes)[of_row]
        strict = min(strict, int(equal.min(initial=strict)))
        under |= equal < k
    return {
        "smallest": smallest,
        "smallest_strict": strict,
        "rows_under_k_strict": int(under.sum()),
        "missing_cells": sum(table[name].null_count() for name in table.columns),
    }

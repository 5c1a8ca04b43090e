"""The risk from an attacker who knows columns that are released unchanged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask.assess.risk import (
    ColumnSetCounter,
    ColumnSetRisk,
    ReleasedColumnsRisk,
    worst_sets,
)
from halfmask.guarantees import size_asked
from halfmask.microdata._prepared import CELL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.guarantees import Classes
    from halfmask.microdata._prepared import Prepared

#: Rows that the search for the worst sets of columns looks at, at most.
SEARCH_ROWS = 100_000


def released_columns_risk(
    prepared: Prepared,
    released: Classes,
    class_of_cell: NDArray[np.int64],
    *,
    sample: pl.DataFrame,
) -> ReleasedColumnsRisk:
    """Count unique rows, and rows in classes under k, over columns that an attacker may know.

    These are columns that no class covers. Columns that a mask randomises, or gives tokens, are no
    knowledge of anybody's.
    """
    k = size_asked(prepared.guarantees, least=2)
    unchanged = _unchanged(prepared)
    known = {*prepared.plan.quasi_identifiers, *unchanged}
    counted = tuple(
        prepared.plan.released_columns([name for name in prepared.columns if name in known])
    )
    sizes = released.sizes
    if not unchanged:
        every = ColumnSetRisk(
            columns=counted,
            rows=released.rows,
            unique=int(np.count_nonzero(sizes == 1)),
            under_k=int(sizes[sizes < k].sum()),
        )
        return ReleasedColumnsRisk(k=k, exact=True, every=every, unchanged=None, few=())
    few = worst_sets(sample.select(name for name in sample.columns if name in unchanged), k=k)
    sets = list(dict.fromkeys([(CELL, *unchanged), tuple(unchanged), *few]))
    counter = ColumnSetCounter(sets, rows=prepared.n_out, k=k)
    for keys in prepared.each(partial(_keys_of, counter, class_of_cell)):
        counter.hold(keys)
    every, whole, *_ = risks = counter.risks()
    return ReleasedColumnsRisk(
        masked=any(prepared.policy.masks_of(name) for name in unchanged),
        k=k,
        exact=counter.exact,
        every=replace(every, columns=counted),
        unchanged=whole,
        few=tuple(each for each in risks[1:] if each.columns in few),
    )


def check_strict(risk: ReleasedColumnsRisk) -> None:
    """Raise where unchanged columns put a row into a class under k."""
    if risk.warning is not None:
        raise GuaranteeNotMetError(risk.warning, hint=risk.advice)


def _unchanged(prepared: Prepared) -> list[str]:
    policy, known = prepared.policy, prepared.plan.quasi_identifiers
    return [
        name
        for name in prepared.columns
        if name not in known and all(mask.is_matchable for mask in policy.masks_of(name))
    ]


def _keys_of(
    counter: ColumnSetCounter, class_of_cell: NDArray[np.int64], number: int, placed: pl.DataFrame
) -> list[NDArray[np.uint64]]:
    del number  # all batches are counted alike
    classes = pl.Series(CELL, class_of_cell[placed[CELL].to_numpy()])
    return counter.keys_of(placed.with_columns(classes))

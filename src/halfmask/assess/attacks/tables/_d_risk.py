"""dRisk: how many people have all their numbers near what was released of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.tables._matching import usual_numbers

if TYPE_CHECKING:
    from halfmask.assess.attacks.tables._links import Linkable


def d_risk(linkable: Linkable, interval: float) -> float:
    """Return the share of people with every number near what was released of them.

    Notes
    -----
    A range stands for its middle, a suppressed cell is near nothing. 0 without numbers.
    """
    numbers = [column for column in linkable.columns if column.is_number]
    if not numbers:
        return 0.0
    owners, first = np.unique(linkable.owners, return_index=True)
    rows = first[np.searchsorted(owners, linkable.people)]
    near = np.ones(len(rows), dtype=np.bool_)
    for column in numbers:
        middle, known = column.cells.middle, linkable.known[column.name]
        present = usual_numbers(middle[~np.isnan(middle)])
        reach = interval * float(present.std(ddof=1)) if len(present) > 1 else 0.0
        near &= (np.abs(middle[rows] - known) <= reach) | (
            np.isnan(known) & column.cells.null[rows]
        )
    return float(near.mean())

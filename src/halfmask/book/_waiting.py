"""Who waits for a later release, so that the floor holds over all releases together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError
from halfmask._random import keyed_order
from halfmask.book._judging import Floor, find_weak_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.book._joint import CodedRelease, JointClasses


def find_waiting(
    before: JointClasses,
    new: CodedRelease,
    floor: Floor,
    *,
    key: bytes,
    leave_out: float | None = None,
) -> NDArray[np.bool_]:
    """Return which rows of a new release wait: all rows of some people.

    The people of an earlier group who have the same classes leave together or wait. Where too few
    would be left behind of an earlier group, as many of its people wait as make up the floor: drawn
    by the key where classes have people to spare, else those of its smallest class.

    ``leave_out`` is the largest share of people that may wait, 1 where it is left out.
    """
    waits = np.zeros(len(before.groups), dtype=np.bool_)
    while True:
        kept = new.keeping(~waits[new.persons])
        after = before.joined_with(kept)
        weak = find_weak_groups(before, after, floor)
        if not weak.any():
            break
        waits |= _more(before, new, after, weak, waits)
    _ = keyed_order, key
    _check_share(waits, new, leave_out)
    return waits[new.persons]


def _more(
    before: JointClasses,
    new: CodedRelease,
    after: JointClasses,
    weak: NDArray[np.bool_],
    waits: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return more people who wait: the weak groups that leave, else all of a group's people."""
    leaves = np.zeros(len(waits), dtype=np.bool_)
    leaves[new.persons] = True
    leaves &= ~waits
    of_weak = np.append(weak, False)[after.groups] & (after.groups >= 0)
    more = of_weak & leaves
    rests = np.zeros(before.n_groups + 1, dtype=np.bool_)
    rests[before.groups[of_weak & ~leaves]] = True
    return more | (rests[before.groups] & leaves)


def _check_share(waits: NDArray[np.bool_], new: CodedRelease, leave_out: float | None) -> None:
    people = np.unique(new.persons)
    share = float(waits[people].mean()) if len(people) else 0.0
    if leave_out is not None and share > leave_out:
        raise GuaranteeNotMetError(
            f"{share:.2%} of people would have to wait, and at most {leave_out:.2%} may.",
            hint="Raise [[leave_out|--leave-out]], reuse an earlier release, or lower the floor.",
        )

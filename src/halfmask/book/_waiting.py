"""Who waits for a later release, so that the floor holds over all releases together."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError
from halfmask._random import keyed_order
from halfmask.book._judging import Floor, find_weak_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.book._joint import CodedRelease, JointClasses


_PATIENCE = 16


def find_waiting(
    before: JointClasses,
    new: CodedRelease,
    floor: Floor,
    *,
    key: bytes,
    leave_out: float | None = None,
) -> NDArray[np.bool_]:
    """Return which rows of a release wait: all rows of some people.

    The people of an earlier group who have the same classes leave together, or wait together. Where
    too few of an earlier group stay behind, others wait with them: people drawn by the key from
    classes that have enough, else whole classes of that group, the smallest first: one by one, then
    more and more at once, or a table with many classes would take hours.

    ``leave_out`` is the largest share of people that may wait; None is any.
    """
    leaves = np.zeros(len(before.groups), dtype=np.bool_)
    leaves[new.persons] = True
    n_people = int(leaves.sum())
    drawn = keyed_order(len(leaves), key=key)
    for part in (Floor(k=floor.k), floor):  # by k alone first: it needs no values
        for n_tries in count():
            after = before.joined_with(new.keeping(leaves[new.persons]))
            weak = find_weak_groups(before, after, part)
            if not weak.any():
                break
            n_classes = 1 << max(0, n_tries - _PATIENCE)
            leaves &= ~_choose_more(before, after, weak, leaves, drawn, floor.k or 0, n_classes)
    share = (n_people - int(leaves.sum())) / max(n_people, 1)
    if leave_out is not None and share > leave_out:
        raise GuaranteeNotMetError(
            f"{share:.2%} of people would have to wait; at most {leave_out:.2%} may.",
            hint="Reuse an earlier release, or raise [[leave_out|--leave-out]].",
        )
    return ~leaves[new.persons]


def _choose_more(
    before: JointClasses,
    after: JointClasses,
    weak: NDArray[np.bool_],
    leaves: NDArray[np.bool_],
    drawn: NDArray[np.int64],
    k: int,
    n_classes: int,
) -> NDArray[np.bool_]:
    """Return who waits next: weak groups that leave, and people of those that leave weak rests."""
    is_leaving = np.zeros(after.n_groups, dtype=np.bool_)
    is_leaving[after.groups[leaves]] = True
    more = leaves & (weak & is_leaving)[after.groups]
    stays = (after.groups >= 0) & (weak & ~is_leaving)[after.groups]
    lacks = np.zeros(before.n_groups + 1, dtype=np.int64)  # the last is of new people, who may wait
    lacks[before.groups[stays]] = np.maximum(k - after.sizes[after.groups[stays]], 0)
    is_short = np.zeros(len(lacks), dtype=np.bool_)
    is_short[before.groups[stays]] = True
    is_short[before.groups[more]] = False  # more of them stay behind now: look again
    people = drawn[(leaves & is_short[before.groups])[drawn]]
    old, groups, weights = before.groups[people], after.groups[people], after.weights[people]
    is_spare = _running(groups, weights) <= after.sizes[groups] - k
    is_drawn = is_spare & (_running(old, weights * is_spare) - weights < lacks[old])
    found = np.zeros(len(lacks), dtype=np.int64)
    np.add.at(found, old, weights * is_drawn)
    suffices = (found >= lacks) & (lacks > 0)
    found_in = np.full(after.n_groups, before.n_groups)
    found_in[groups] = old
    smallest_first = np.lexsort((after.sizes, found_in))
    rank = np.empty_like(found_in)
    rank[smallest_first] = _running(found_in[smallest_first], np.ones_like(rank))
    more[people] = np.where(suffices[old], is_drawn, rank[groups] <= n_classes)
    return more


def _running(keys: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums of weights up to each place, of those with the same key."""
    order = np.argsort(keys, kind="stable")
    sums = np.cumsum(weights[order])
    is_first = np.diff(keys[order], prepend=-1) != 0
    earlier = (sums - weights[order])[is_first]
    running = np.empty_like(sums)
    running[order] = sums - np.repeat(
        earlier, np.diff(np.append(np.flatnonzero(is_first), len(keys)))
    )
    return running

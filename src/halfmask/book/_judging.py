"""Whether a release may leave: what it does to the groups that earlier releases have left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from halfmask.book._joint import JointClasses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: What an owner can do about a refused release, the cheapest first.
REMEDIES: Final = (
    "reuse the classes of an earlier release ([[[book] reuse|--reuse NUMBER]])",
    "make classes coarser: a larger k, or coarser hierarchies",
    "let people wait ([[[book] leave_out|--leave-out SHARE]])",
    "accept it in writing ([[accepted_by and reason|--accept NAME --reason TEXT]])",
)


@dataclass(frozen=True, slots=True)
class Floor:
    """What must still hold over all releases together; None is no floor."""

    k: int | None = None
    l: int | None = None  # its name in the field
    t: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class JointVerdict:
    """What a release does to people, in numbers and in words.

    ``concerned`` says of each person whether the release makes their group weaker: below the floor
    where it is refused, else below what each release keeps alone. `sentences` are for its page,
    `weaknesses` for its manifest where it leaves all the same.
    """

    status: Literal["holds", "weakens", "refused"]
    concerned: NDArray[np.bool_]
    k: int | None
    l: Mapping[str, int] = field(default_factory=dict)
    t: Mapping[str, float] = field(default_factory=dict)
    exposed: Mapping[str, int] = field(default_factory=dict)
    epsilon: float = 0.0
    sentences: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


def judge_release(
    before: JointClasses,
    after: JointClasses,
    floor: Floor,
    *,
    spent: float = 0.0,
    epsilon: float = 0.0,
) -> JointVerdict:
    """Judge a release by the groups before and after it.

    ``spent`` is the epsilon of the earlier releases, ``epsilon`` that of the release. It is refused
    where a group is below the floor that gets smaller or weaker by it, or has new people.
    """
    weak = find_weak_groups(before, after, floor)
    concerned = _of_people(after, weak)
    status: Literal["holds", "weakens", "refused"] = "refused" if weak.any() else "holds"
    return JointVerdict(status=status, concerned=concerned, k=after.effective_k)


def find_weak_groups(before: JointClasses, after: JointClasses, floor: Floor) -> NDArray[np.bool_]:
    """Return which groups a release brings below the floor, or leaves weaker below it.

    A group that was below the floor before, and that the release doesn't make smaller or weaker,
    isn't among them.
    """
    parents = _parents(before, after)
    smaller = after.members < np.append(before.members, np.iinfo(np.int64).max)[parents]
    weak = np.zeros(after.n_groups, dtype=np.bool_)
    if floor.k is not None:
        weak |= smaller & (after.sizes < floor.k)
    for column in after.columns:
        if floor.l is not None:
            least = after.least_distinct(column)
            old = np.append(before.least_distinct(column), 0)[parents]
            weak |= (smaller | (least < old)) & (least < floor.l)
        if floor.t is not None:
            greatest = after.greatest_t(column)
            earlier = np.append(before.greatest_t(column), 0.0)[parents]
            weak |= (smaller | (greatest > earlier)) & (greatest > floor.t)
    return weak


def _parents(before: JointClasses, after: JointClasses) -> NDArray[np.int64]:
    """Return the group before of each group after, -1 for new people."""
    parents = np.empty(after.n_groups, dtype=np.int64)
    there = after.groups >= 0
    parents[after.groups[there]] = before.groups[there]
    return parents


def _of_people(joint: JointClasses, groups: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.append(groups, False)[joint.groups] & (joint.groups >= 0)

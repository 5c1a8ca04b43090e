"""Whether a release may leave: what it does to the groups that earlier releases have left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np

from halfmask.book._joint import UNBOUNDED, join_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.book._joint import JointClasses

Status = Literal["refused", "weakens", "holds"]
_STATUSES: Final = get_args(Status)
#: What an owner can do about a refused release, in the order in which to try.
REMEDIES: Final = (
    "reuse the classes of an earlier release ([[reuse of [book]|--reuse NUMBER]])",
    "make its classes coarser, such as by a larger k",
    "let people wait for a later release ([[leave_out of [book]|--leave-out SHARE]])",
    "accept it in writing ([[accepted_by and reason of [book]|--accept NAME --reason TEXT]])",
)
_ROUNDING = 1e-9  # sums of epsilon aren't exact: ten times 0.1 isn't 1


@dataclass(frozen=True, slots=True)
class Floor:
    """What must still hold over all releases together; None is no floor."""

    k: int | None = None
    l: int | None = None
    t: float | None = None
    epsilon: float | None = None

    @property
    def is_about_groups(self) -> bool:
        """Whether it bounds anything but epsilon."""
        return any(bound is not None for bound in (self.k, self.l, self.t))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointVerdict:
    """What a release does to people who are in earlier ones, and what to do about a refusal."""

    status: Status
    sentences: tuple[str, ...]
    weaknesses: tuple[str, ...]
    remedies: tuple[str, ...]


class _Measure(NamedTuple):
    """A number of each group, now and without the newest release: the lower, the weaker."""

    name: str
    bound: float
    values: NDArray[Any]
    earlier: NDArray[Any]

    def find_weak(self, smaller: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the groups below the bound that are smaller or weaker by the newest release."""
        weak: NDArray[np.bool_] = (smaller | (self.values < self.earlier)) & (
            self.values < self.bound
        )
        return weak

    def tell(self, values: NDArray[Any]) -> str:
        return f"{self.name} = {abs(values.min()):.6g}"


def _measures(joint: JointClasses, floor: Floor) -> Iterator[_Measure]:
    """Yield what has a floor."""
    if floor.k is not None:
        yield _Measure("k", floor.k, joint.sizes, joint.sizes)
    if floor.l is None and floor.t is None:
        return  # values take time
    for column, (now, earlier) in joint.spreads.items():
        if floor.l is not None:
            yield _Measure(f"l of {column!r}", floor.l, now.least, earlier.least)
        if floor.t is not None:
            yield _Measure(f"t of {column!r}", -floor.t, -now.distance, -earlier.distance)


def _compare(after: JointClasses) -> Iterator[_Measure]:
    """Yield k and l, with the number that each release keeps alone in place of a floor."""
    low = Floor(k=UNBOUNDED, l=UNBOUNDED)
    alone: dict[str, float] = {}
    for release in after.releases:
        for one in _measures(join_classes([release], len(after.groups)), low):
            least = one.values.min(initial=UNBOUNDED)
            alone[one.name] = min(alone.get(one.name, UNBOUNDED), least)
    for measure in _measures(after, low):
        yield measure._replace(bound=alone[measure.name])


def describe_groups(joint: JointClasses) -> tuple[str, ...]:
    """Return k and l of all releases together, in words."""
    if not joint.n_groups:
        return ()
    low = Floor(k=UNBOUNDED, l=UNBOUNDED)
    return tuple(measure.tell(measure.values) for measure in _measures(joint, low))


def _find_smaller(before: JointClasses, after: JointClasses) -> NDArray[np.bool_]:
    """Return which groups are smaller than before, or of new people."""
    there = after.groups >= 0
    members = np.append(before.members, len(there) + 1)  # the last is of new people
    smaller = np.zeros(after.n_groups, dtype=np.bool_)
    smaller[after.groups[there]] = (after.members[after.groups] < members[before.groups])[there]
    return smaller


def find_weak_groups(before: JointClasses, after: JointClasses, floor: Floor) -> NDArray[np.bool_]:
    """Return which groups are below the floor by a release.

    A group that was below it before isn't among them where the release leaves it as it was.
    """
    weak = np.zeros(after.n_groups, dtype=np.bool_)
    if len(after.releases) > len(before.releases):
        smaller = _find_smaller(before, after)
        for measure in _measures(after, floor):
            weak |= measure.find_weak(smaller)
    return weak


def judge_release(
    before: JointClasses,
    after: JointClasses,
    floor: Floor,
    *,
    spent: float = 0.0,
    epsilon: float = 0.0,
) -> JointVerdict:
    """Judge a release by the groups before and after it.

    It is refused where a group is below the floor that has new people, or that gets smaller or
    weaker by it. Without a floor for groups it weakens those that are below what releases keep
    alone. ``spent`` is the epsilon of the earlier releases, ``epsilon`` that of the release.
    """
    found = []
    if len(after.releases) > len(before.releases):
        found = list(_judge_groups(before, after, floor))
        for column in after.columns:
            if new := _count_exposed(column, after):
                words = (
                    f"one value of {column!r} is left for {_spell(new)} whose value stays the same"
                )
                found.append(("weakens", words))
        together = "Together with the earlier releases, " if before.releases else ""
        found = [(status, f"{together}{words}.") for status, words in found]
    is_refused = any(status == "refused" for status, _ in found)
    remedies = tuple(_find_remedies(after)) if is_refused else ()
    total, limit = spent + epsilon, floor.epsilon
    if limit is not None and epsilon > 0 and total > limit * (1 + _ROUNDING):
        found.append(("refused", f"Epsilon adds up to {total:.6g}; it must be at most {limit:g}."))
        remedies = remedies or ("choose a smaller epsilon", REMEDIES[-1])
    elif total > 0:
        found.append(("holds", f"Epsilon adds up to {total:.6g}."))
    found.sort(key=lambda one: _STATUSES.index(one[0]))
    return JointVerdict(
        status=found[0][0] if found else "holds",
        sentences=tuple(words for _, words in found),
        weaknesses=tuple(words for status, words in found if status != "holds"),
        remedies=remedies,
    )


def _find_remedies(after: JointClasses) -> Iterator[str]:
    """Yield what an owner can do. People with rows in several classes are small groups."""
    new = after.releases[-1]
    several = 0 if new.matched else new.count_scattered()
    if several:
        yield f"keep one row of each person, since rows of {_spell(several)} are in several classes"
    yield from REMEDIES[len(after.releases) == 1 :]  # the first has no earlier classes


def _judge_groups(
    before: JointClasses, after: JointClasses, floor: Floor
) -> Iterator[tuple[Status, str]]:
    """Yield what holds of groups and what doesn't, in words."""
    smaller = _find_smaller(before, after)
    limits = list(_measures(after, floor))
    for measure in limits or _compare(after):
        weak = measure.find_weak(smaller)
        bound = f"{abs(measure.bound):g}"
        people = _spell(after.count_people(weak[after.groups]))
        if not weak.any():
            is_old = measure.values.min() < measure.bound
            words = measure.tell(measure.values)
            yield "holds", f"{words} by earlier releases alone" if is_old else words
        elif limits:
            which = "least" if measure.bound > 0 else "most"
            words = f"{measure.tell(measure.values[weak])} for {people}"
            yield "refused", f"{words}; it must be at {which} {bound}"
        else:
            words = f"{measure.tell(measure.values[weak])} for {people}"
            yield "weakens", f"{words}; each alone keeps {bound}"


def _count_exposed(column: str, after: JointClasses) -> int:
    """Return how many people have one candidate only because the newest release joins others."""
    if len(after.releases) == 1 or column not in after.releases[-1].sensitive:
        return 0
    now, earlier = after.count_candidates(column)
    own, _ = join_classes(after.releases[-1:], len(after.groups)).count_candidates(column)
    return after.count_people((now == 1) & (earlier != 1) & (own != 1))


def _spell(people: int) -> str:
    return f"{people:,} {'person' if people == 1 else 'people'}"

"""Whether a release may leave: what it does to the groups that earlier releases have left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from halfmask.book._joint import join_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.book._joint import JointClasses

#: What an owner can do about a refused release, in the order in which to try.
_REMEDIES: Final = (
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class JointVerdict:
    """What a release does to people who are in earlier ones, in numbers and in words.

    ``concerned`` says which people it makes weaker: those below the floor if it is refused, else
    those below what the releases keep alone. ``exposed`` has how many people have one candidate, by
    column. ``sentences`` say all that was found, ``weaknesses`` what isn't protected.
    """

    status: Literal["holds", "weakens", "refused"]
    concerned: NDArray[np.bool_]
    k: int | None
    l: Mapping[str, int | None]
    t: Mapping[str, float | None]
    exposed: Mapping[str, int]
    epsilon: float
    sentences: tuple[str, ...]
    weaknesses: tuple[str, ...]
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Measure:
    """A number of each group; the lower, the weaker, so that t is negative here."""

    name: str
    floor: float | None
    of: Callable[..., NDArray[Any]]

    def find_weak(self, before: JointClasses, after: JointClasses) -> NDArray[np.bool_]:
        """Return the groups below the floor that the release makes smaller or weaker."""
        if self.floor is None:
            return np.zeros(after.n_groups, dtype=np.bool_)
        there = after.groups >= 0
        members = np.append(before.members, len(there) + 1)  # the last is of new people
        hit = np.zeros(after.n_groups, dtype=np.bool_)
        hit[after.groups[there]] = (after.members[after.groups] < members[before.groups])[there]
        hit |= self.of(after) < self.of(after, earlier=True)
        return hit & (self.of(after) < self.floor)


def _measures(after: JointClasses, floor: Floor) -> Iterator[_Measure]:
    """Yield what is judged: k, l of each sensitive column, and t where it has a limit."""
    yield _Measure("k", floor.k, lambda joint, *, earlier=False: joint.sizes)  # noqa: ARG005
    for column in after.columns:
        yield _Measure(f"l of {column!r}", floor.l, partial(_l, column=column))
        if floor.t is not None:
            yield _Measure(f"t of {column!r}", -floor.t, partial(_minus_t, column=column))


def _l(joint: JointClasses, column: str, *, earlier: bool = False) -> NDArray[np.int64]:
    return joint.least_distinct(column, earlier=earlier)


def _minus_t(joint: JointClasses, column: str, *, earlier: bool = False) -> NDArray[np.float64]:
    return -joint.greatest_t(column, earlier=earlier)


def find_weak_groups(before: JointClasses, after: JointClasses, floor: Floor) -> NDArray[np.bool_]:
    """Return which groups are below the floor by a release.

    A group that was below it before isn't among them where the release leaves it as it was.
    """
    weak = np.zeros(after.n_groups, dtype=np.bool_)
    if len(after.releases) > len(before.releases):
        for measure in _measures(after, floor):
            weak |= measure.find_weak(before, after)
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
    weaker by it. Without any floor for groups, it weakens them where they are below what the
    releases keep alone. ``spent`` is the epsilon of the earlier releases, ``epsilon`` that of it.
    """
    findings = _Findings(before, after)
    exposed = dict.fromkeys(after.columns, 0)
    if len(after.releases) > len(before.releases):
        has_floor = any(limit is not None for limit in (floor.k, floor.l, floor.t))
        for measure in _measures(after, floor):
            findings.compare(measure, has_floor=has_floor)
        exposed = {column: findings.expose(column) for column in after.columns}
    findings.add_up(spent, epsilon, floor.epsilon)
    return JointVerdict(
        status="refused" if findings.refused else "weakens" if findings.weaker else "holds",
        concerned=findings.people["refused" if findings.refused else "weaker"],
        k=after.effective_k,
        l={column: after.effective_l(column) for column in after.columns},
        t={column: after.effective_t(column) for column in after.columns},
        exposed=exposed,
        epsilon=spent + epsilon,
        sentences=(*findings.refused, *findings.weaker, *findings.held),
        weaknesses=(*findings.refused, *findings.weaker),
        remedies=_REMEDIES if findings.refused else (),
    )


class _Findings:
    """Collects what a release breaks, weakens and keeps, in words, and for whom."""

    def __init__(self, before: JointClasses, after: JointClasses) -> None:
        n_persons, n_earlier = len(after.groups), len(before.releases)
        own = join_classes(after.releases[n_earlier:], n_persons)
        self._before, self._after = before, after
        self._alone = [joint for joint in (own, before) if joint.n_groups]
        self.refused: list[str] = []
        self.weaker: list[str] = []
        self.held: list[str] = []
        self.people = {kind: np.zeros(n_persons, dtype=np.bool_) for kind in ("refused", "weaker")}
        self._together = f"Together with {_spell(n_earlier, 'earlier release')}, "
        if not n_earlier:
            self._together = ""

    def compare(self, measure: _Measure, *, has_floor: bool) -> None:
        """Find whether a number of groups falls below its floor; without any, whether it falls."""
        values, floor = measure.of(self._after), measure.floor
        if floor is not None and (weak := measure.find_weak(self._before, self._after)).any():
            people = self._concern(weak[self._after.groups], "refused")
            bound = f"{'at least' if floor > 0 else 'at most'} {abs(floor):g}"
            told = self._tell(measure, values[weak])
            self.refused.append(f"{told} for {people}; it must be {bound}.")
            return
        alone = 0 if has_floor else min(measure.of(joint).min() for joint in self._alone)
        if (weaker := values < alone).any():
            people = self._concern(weaker[self._after.groups], "weaker")
            told = self._tell(measure, values)
            self.weaker.append(f"{told} for {people}; each alone keeps {alone:g}.")
        elif floor is not None and values.min() < floor:
            told = self._tell(measure, values)
            self.held.append(f"{told} by earlier releases; this one doesn't change it.")
        else:
            self.held.append(f"{self._tell(measure, values)}.")

    def expose(self, column: str) -> int:
        """Find the people for whom one candidate is left, and how many are so by this release."""
        is_exposed = self._after.candidates(column) == 1
        new = is_exposed & (self._after.candidates(column, earlier=True) != 1)
        if column in self._alone[0].columns:
            new &= self._alone[0].candidates(column) != 1
        if new.any():
            people = self._concern(new, "weaker")
            self.weaker.append(
                f"{self._together}one value of {column!r} is left for {people}, if it is the same "
                "in all."
            )
        return self._count(is_exposed)

    def add_up(self, spent: float, epsilon: float, limit: float | None) -> None:
        """Add up epsilon, and find whether it is above its limit by this release."""
        if spent + epsilon == 0:
            return
        told = f"{self._together}epsilon adds up to {spent + epsilon:.6g}"
        if limit is not None and epsilon > 0 and spent + epsilon > limit * (1 + _ROUNDING):
            self.refused.append(f"{told}; it must be at most {limit:g}.")
        else:
            self.held.append(f"{told}.")

    def _tell(self, measure: _Measure, values: NDArray[Any]) -> str:
        return f"{self._together}{measure.name} = {abs(values.min()):.12g}"

    def _concern(self, people: NDArray[np.bool_], kind: str) -> str:
        """Note whom a sentence concerns, and return how many they are."""
        people = people & (self._after.groups >= 0)
        self.people[kind] |= people
        return _spell(self._count(people), "person")

    def _count(self, people: NDArray[np.bool_]) -> int:
        return int(self._after.weights[people].sum())


def _spell(number: int, what: str) -> str:
    plural = {"person": "people"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"

"""Joint classes: the groups of people that several releases together leave, counted exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNBOUNDED = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CodedRelease:
    """The rows of a release, coded: whose each is, its class and its sensitive values.

    ``classes`` are -1 where the release has no classes. A value of ``sensitive`` has the same code
    in all releases, and a missing value has one too. ``matched`` is true where the persons are
    people with the same values: such a unit counts as often as it has rows.
    """

    number: int
    persons: NDArray[np.int64]
    classes: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    matched: bool = False

    def __post_init__(self) -> None:
        if self.has_classes and (self.classes < 0).any():
            raise ParameterError("Either all rows of a release have a class, or none.")

    @property
    def has_classes(self) -> bool:
        """Whether it has rows, and classes that divide them."""
        return bool((self.classes >= 0).any())

    def keeping(self, rows: NDArray[np.bool_]) -> CodedRelease:
        """Return the release with some rows only."""
        return replace(
            self,
            persons=self.persons[rows],
            classes=self.classes[rows],
            sensitive={name: codes[rows] for name, codes in self.sensitive.items()},
        )

    def rounds(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield persons and classes, each person once a round: the first class, the second, ..."""
        if not len(self.persons) or np.bincount(self.persons).max() == 1:
            yield self.persons, self.classes
            return
        n_classes = int(self.classes.max()) + 1
        persons, classes = np.divmod(_distinct(self.persons * n_classes + self.classes), n_classes)
        starts = np.flatnonzero(np.diff(persons, prepend=-1))
        sizes = np.diff(starts, append=len(persons))
        for rank in range(int(sizes.max())):
            starts, sizes = starts[sizes > rank], sizes[sizes > rank]
            yield persons[starts + rank], classes[starts + rank]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class JointClasses:
    """The groups of people that several releases together leave.

    ``groups`` has the group of each person, -1 for who is in none of the releases. ``weights`` has
    how many people each stands for: more than one only where people were matched by columns.
    """

    releases: tuple[CodedRelease, ...]
    groups: NDArray[np.int64]
    weights: NDArray[np.int64]

    def joined_with(self, release: CodedRelease) -> JointClasses:
        """Return the groups after one more release: who is absent from it stays together."""
        if not release.has_classes:
            return self
        groups = self.groups.copy()
        n_groups, n_classes = self.n_groups, int(release.classes.max()) + 1
        for persons, classes in release.rounds():
            found, places = np.unique(
                (groups[persons] + 1) * n_classes + classes, return_inverse=True
            )
            groups[persons] = places + n_groups
            n_groups += len(found)
        weights = self.weights
        if release.matched:
            rows = np.bincount(release.persons, minlength=len(groups))
            weights = np.maximum(weights, rows)
        used = np.bincount(groups + 1, minlength=1) > 0
        used[0] = False
        groups = np.where(groups < 0, -1, np.cumsum(used)[groups + 1] - 1)
        return JointClasses(releases=(*self.releases, release), groups=groups, weights=weights)

    @cached_property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """How many persons or units each group has."""
        return np.bincount(self.groups + 1, minlength=self.n_groups + 1)[1:]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many people each group has."""
        sizes = np.zeros(self.n_groups + 1, dtype=np.int64)
        np.add.at(sizes, self.groups + 1, self.weights)
        return sizes[1:]

    @property
    def effective_k(self) -> int | None:
        """The size of the smallest group, None where no release has classes."""
        return int(self.sizes.min()) if self.n_groups else None

    def people_under(self, k: int) -> NDArray[np.bool_]:
        """Return for each person whether the group has fewer than k people."""
        return (self.groups >= 0) & np.append(self.sizes < k, False)[self.groups]

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns of all releases, in order."""
        return tuple(dict.fromkeys(name for one in self.releases for name in one.sensitive))

    def least_distinct(self, column: str) -> NDArray[np.int64]:
        """Return for each group the least number of distinct values in a release that has it.

        A group that is in no release with the column has a number that no floor is above.
        """
        return self._spreads(column)[0]

    def greatest_t(self, column: str) -> NDArray[np.float64]:
        """Return for each group the greatest distance of its values from those of a release.

        The total variation distance. It bounds t of ordered distances from above.
        """
        return self._spreads(column)[1]

    def effective_l(self, column: str) -> int | None:
        """Return the least number of distinct values of a group in a release."""
        least = int(self.least_distinct(column).min(initial=_UNBOUNDED))
        return None if least == _UNBOUNDED else least

    def effective_t(self, column: str) -> float | None:
        """Return the greatest t of a group in a release."""
        return None if self.effective_l(column) is None else float(self.greatest_t(column).max())

    @cached_property
    def _spread_of(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        return {}

    def _spreads(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if column not in self._spread_of:
            least = np.full(self.n_groups, _UNBOUNDED)
            greatest = np.zeros(self.n_groups)
            for release in self.releases:
                if column in release.sensitive:
                    self._spread(release, release.sensitive[column], least, greatest)
            self._spread_of[column] = least, greatest
        return self._spread_of[column]

    def _spread(
        self,
        release: CodedRelease,
        codes: NDArray[np.int64],
        least: NDArray[np.int64],
        greatest: NDArray[np.float64],
    ) -> None:
        """Lower the least numbers, and raise the greatest distances, by one release."""
        n_values = int(codes.max()) + 1
        pairs, counts = _counted(self.groups[release.persons] * n_values + codes)
        groups, values = np.divmod(pairs, n_values)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        there = groups[starts]
        least[there] = np.minimum(least[there], np.diff(starts, append=len(groups)))
        # In whole numbers: the share in the group minus the share in the release, times both sizes.
        n_rows, of_group = len(codes), np.add.reduceat(counts, starts)
        of_all = np.bincount(codes, minlength=n_values)
        sizes = np.repeat(of_group, np.diff(starts, append=len(groups)))
        above = np.maximum(counts * n_rows - sizes * of_all[values], 0)
        distances = np.add.reduceat(above, starts) / (of_group * n_rows)
        greatest[there] = np.maximum(greatest[there], distances)

    def candidates(self, column: str) -> NDArray[np.int64]:
        """Return how many values each person can have, if it has the same in all releases.

        The values that all of a person's classes have. 0 where they have none in common, so that
        the value did change, and for who is in no release with the column.
        """
        alive: NDArray[np.int64] | None = None
        width = 1 + max(
            (int(r.sensitive[column].max()) for r in self.releases if column in r.sensitive),
            default=0,
        )
        begun = np.zeros(self.n_groups, dtype=np.bool_)
        alive = np.empty(0, dtype=np.int64)
        for release in self.releases:
            if column not in release.sensitive:
                continue
            pairs = _distinct(release.classes * width + release.sensitive[column])
            of_class, values = np.divmod(pairs, width)
            n_classes = int(release.classes.max()) + 1
            sizes = np.bincount(of_class, minlength=n_classes)
            starts = np.cumsum(sizes) - sizes
            for persons, classes in release.rounds():
                class_of = np.full(self.n_groups, -1)
                class_of[self.groups[persons]] = classes
                theirs = class_of[alive // width]
                wanted = theirs * width + alive % width
                places = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
                alive = alive[(theirs < 0) | (pairs[places] == wanted)]
                new = np.flatnonzero((class_of >= 0) & ~begun)
                begun[new] = True
                n_new = sizes[class_of[new]]
                at = np.repeat(starts[class_of[new]] - (np.cumsum(n_new) - n_new), n_new)
                at += np.arange(len(at))
                alive = np.concatenate([alive, np.repeat(new, n_new) * width + values[at]])
        counts = np.append(np.bincount(alive // width, minlength=self.n_groups), 0)
        return counts[self.groups]


def join_classes(releases: Sequence[CodedRelease], n_persons: int) -> JointClasses:
    """Return the groups of people whom several releases together leave.

    Two people are in one group if they have the same classes in the same releases: an attacker may
    know who is in which release. Who is in none is in no group. The groups are refined release by
    release.
    """
    joint = JointClasses(
        releases=(),
        groups=np.full(n_persons, -1, dtype=np.int64),
        weights=np.ones(n_persons, dtype=np.int64),
    )
    for release in releases:
        joint = joint.joined_with(release)
    return joint


def number_people(
    digests: Sequence[NDArray[np.void]],
) -> tuple[list[NDArray[np.int64]], int]:
    """Give the people of several releases numbers: one for each digest of 16 bytes.

    Digests are compared whole. Arrays have dtype ``V16``, or 16 columns of bytes.
    """
    halves = [np.ascontiguousarray(one).view(np.uint64).reshape(-1, 2) for one in digests]
    whole = np.concatenate([*halves, np.empty((0, 2), dtype=np.uint64)])
    order = np.lexsort((whole[:, 1], whole[:, 0]))
    ordered = whole[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    ends = np.cumsum([len(one) for one in halves])[:-1]
    return np.split(numbers, ends) if digests else [], int(is_first.sum())


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return _counted(keys)[0]


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in order, and how often each is there."""
    ordered = np.sort(keys)
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts], np.diff(starts, append=len(ordered))

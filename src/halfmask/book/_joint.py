"""Joint classes: the groups of people that several releases together leave, counted exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROOM = 1 << 20  # more numbers of classes than rows and these would only waste memory
UNBOUNDED = np.iinfo(np.int64).max  # of groups that are in no release with a column


class Spread(NamedTuple):
    """By group: the fewest distinct values, the greatest total variation distance (bounds t)."""

    least: NDArray[np.int64]
    distance: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CodedRelease:
    """The rows of a release, coded: whose each is, its class and its sensitive values.

    ``classes`` are -1 where the release has no classes. A value of ``sensitive`` has the same code
    in all releases, and a missing value has one too. ``matched`` is true where the persons are
    people with the same values: such a unit counts as often as it has rows.
    """

    persons: NDArray[np.int64]
    classes: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    matched: bool = False

    def __post_init__(self) -> None:
        if self.has_classes and (self.classes < 0).any():
            raise ParameterError("Either all rows of a release have a class, or none.")
        if self.classes.max(initial=0) > len(self.classes) + _ROOM:
            object.__setattr__(self, "classes", _label(self.classes)[0])

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

    def count_scattered(self) -> int:
        """Return how many persons have rows in several classes."""
        order = np.lexsort((self.classes, self.persons))
        persons, classes = self.persons[order], self.classes[order]
        is_scattered = (persons[1:] == persons[:-1]) & (classes[1:] != classes[:-1])
        return len(np.unique(persons[1:][is_scattered]))

    @cached_property
    def class_sets(self) -> NDArray[np.int64]:
        """Which set of classes the person of each row has: their class, if all have one row."""
        if not len(self.persons) or np.bincount(self.persons).max() == 1:
            return self.classes
        n_classes = int(self.classes.max()) + 1
        pairs = _counted(self.persons * n_classes + self.classes)[0]
        persons, classes = np.divmod(pairs, n_classes)
        starts = np.flatnonzero(_changes(persons))
        sizes = np.diff(starts, append=len(persons))
        sets, n_sets = np.zeros(int(persons.max()) + 1, dtype=np.int64), 1
        for rank in range(int(sizes.max())):  # the first class of each person, the second, ...
            starts, sizes = starts[sizes > rank], sizes[sizes > rank]
            whose = persons[starts + rank]
            labels, n_found = _label(sets[whose] * n_classes + classes[starts + rank])
            sets[whose] = labels + n_sets
            n_sets += n_found
        return _label(sets[self.persons])[0]


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
        groups, sets = self.groups.copy(), release.class_sets
        labels, _ = _label((groups[release.persons] + 1) * (int(sets.max()) + 1) + sets)
        groups[release.persons] = labels + self.n_groups
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
        sizes = np.bincount(self.groups + 1, self.weights, minlength=self.n_groups + 1)
        return sizes[1:].astype(np.int64)

    def count_people(self, persons: NDArray[np.bool_]) -> int:
        """Return how many people some persons stand for."""
        return int(self.weights[persons & (self.groups >= 0)].sum())

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns of all releases, in order."""
        return tuple(dict.fromkeys(name for one in self.releases for name in one.sensitive))

    @cached_property
    def spreads(self) -> Mapping[str, tuple[Spread, Spread]]:
        """How values spread in each group by column, in all releases and without the newest."""
        found = {}
        for column in self.columns:
            now = earlier = Spread(np.full(self.n_groups, UNBOUNDED), np.zeros(self.n_groups))
            for release in self.releases:
                if release is self.releases[-1]:
                    earlier = Spread(now.least.copy(), now.distance.copy())
                if column in release.sensitive:
                    there, (least, distance) = self._spread(release, release.sensitive[column])
                    now.least[there] = np.minimum(now.least[there], least)
                    now.distance[there] = np.maximum(now.distance[there], distance)
            found[column] = now, earlier
        return found

    def _spread(
        self, release: CodedRelease, codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Spread]:
        """Return the groups of a release, and how values spread in them."""
        n_rows, n_values = len(codes), int(codes.max()) + 1
        pairs, counts = _counted(self.groups[release.persons] * n_values + codes)
        groups, values = np.divmod(pairs, n_values)
        starts = np.flatnonzero(_changes(groups))
        distinct, sizes = np.diff(starts, append=len(groups)), np.add.reduceat(counts, starts)
        # In whole numbers: the share in the group minus the share in the release, times both sizes.
        of_all = np.bincount(codes)[values] * np.repeat(sizes, distinct)
        above = np.add.reduceat(np.maximum(counts * n_rows - of_all, 0), starts)
        return groups[starts], Spread(distinct, above / (sizes * n_rows))

    def count_candidates(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many values each person can have, if it has the same in all releases.

        In all releases, and without the newest; 0 where no value is left, or no release has any.
        """
        from halfmask.kernels.attacks.candidates import keep_common  # noqa: PLC0415 # numba: late

        starts, lengths = np.zeros(self.n_groups, dtype=np.int64), np.full(self.n_groups, -1)
        left, n_left, earlier = np.empty(0, dtype=np.int64), 0, lengths
        codes = [one.sensitive[column] for one in self.releases if column in one.sensitive]
        n_values = 1 + max(int(each.max()) for each in codes)
        for release in self.releases:
            if release is self.releases[-1]:
                earlier = lengths.copy()
            if column not in release.sensitive:
                continue
            pairs = _values_of_sets(release, release.sensitive[column], n_values)
            sizes = np.bincount(pairs // n_values)
            set_of = np.full(self.n_groups, -1)
            set_of[self.groups[release.persons]] = release.class_sets
            new = np.flatnonzero((set_of >= 0) & (lengths < 0))
            room = sizes[set_of[new]]
            starts[new] = n_left + np.cumsum(room) - room
            n_left += int(room.sum())
            left = np.append(left, np.empty(n_left - len(left), dtype=np.int64))
            keep_common(set_of, pairs, n_values, starts, lengths, left)
        now, before = (np.append(np.maximum(one, 0), 0)[self.groups] for one in (lengths, earlier))
        return now, before


def _values_of_sets(
    release: CodedRelease, codes: NDArray[np.int64], n_values: int
) -> NDArray[np.int64]:
    """Return which set of classes has which value in one of them: set * n_values + value."""
    pairs = _counted(release.classes * n_values + codes)[0]
    if release.class_sets is release.classes:
        return pairs
    sizes = np.bincount(pairs // n_values)
    both = _counted(release.class_sets * len(sizes) + release.classes)[0]
    sets, classes = np.divmod(both, len(sizes))
    room = sizes[classes]
    firsts = (np.cumsum(sizes) - sizes)[classes] - (np.cumsum(room) - room)
    values = pairs[np.repeat(firsts, room) + np.arange(int(room.sum()))] % n_values
    return _counted(np.repeat(sets, room) * n_values + values)[0]


def join_classes(releases: Sequence[CodedRelease], n_persons: int) -> JointClasses:
    """Return the groups of people who have the same classes in the same releases."""
    joint = JointClasses(
        releases=(),
        groups=np.full(n_persons, -1, dtype=np.int64),
        weights=np.ones(n_persons, dtype=np.int64),
    )
    for release in releases:
        joint = joint.joined_with(release)
    return joint


def number_people(
    digests: Sequence[NDArray[Any]],
) -> tuple[list[NDArray[np.int64]], int]:
    """Give the people of several releases numbers: one for each digest of 16 bytes."""
    if not digests:
        return [], 0
    halves = [np.ascontiguousarray(one).view(np.uint64).reshape(-1, 2) for one in digests]
    high, low = (np.concatenate([one[:, i] for one in halves]) for i in (0, 1))
    numbers, n_people = _label((high >> np.uint64(_place_bits(high) + 1)).view(np.int64))
    first = np.empty((2, n_people), dtype=np.uint64)
    first[0, numbers], first[1, numbers] = high, low
    other = np.flatnonzero((first[0, numbers] != high) | (first[1, numbers] != low))
    if len(other):  # other digests with the same beginning
        pairs = np.stack([high[other], low[other]], axis=1)
        found, places = np.unique(pairs, axis=0, return_inverse=True)
        numbers[other] = places.reshape(-1) + n_people  # NumPy 2.0 keeps an axis
        n_people += len(found)
    ends = np.cumsum([len(one) for one in halves])
    return [numbers[end - len(one) : end] for one, end in zip(halves, ends, strict=True)], n_people


def _place_bits(keys: NDArray[Any]) -> int:
    return max(1, len(keys) - 1).bit_length()


def _label(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return equal numbers for equal keys, and how many there are."""
    bits, largest = _place_bits(keys), int(keys.max(initial=0))
    if largest < 8 * len(keys):  # few enough for a table
        there = np.zeros(largest + 1, dtype=np.bool_)
        there[keys] = True
        return (np.cumsum(there) - 1)[keys], int(there.sum())
    if largest >> (63 - bits):
        found, labels = np.unique(keys, return_inverse=True)
        return labels, len(found)
    # Sorting keys whose last bits are their places is far faster than sorting places.
    ordered = np.sort((keys << bits) | np.arange(len(keys)))
    is_first = _changes(ordered >> bits)
    labels = np.empty(len(keys), dtype=np.int64)
    labels[ordered & ((1 << bits) - 1)] = np.cumsum(is_first) - 1
    return labels, int(is_first.sum())


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value isn't the one before it; at the first place too."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in order, and how often each is there."""
    ordered = np.sort(keys)
    starts = np.flatnonzero(_changes(ordered))
    return ordered[starts], np.diff(starts, append=len(ordered))

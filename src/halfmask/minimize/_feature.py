"""One feature as the minimizer coarsens it: a map from every value to its group's representative.

A group is named by its representative, which is one of its members; so one array of codes says
which groups there are, what stands for each, and what a row becomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.anonymize.coding import Coding

MAX_VALUES = 256  # a feature with more values than that is first cut into ...
BINS = 128  # ... about this many
NEAREST = 4  # how many other groups a group of categories may join
STAND_INS = 5  # how many values are tried for a feature that isn't asked for at all


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """One way to coarsen one feature, and what it gains in information."""

    feature: int
    key: tuple[object, ...]
    gain: float
    gone: int = -1
    stays: int = -1
    whole: NDArray[np.int64] | None = None

    def applied(self, target: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what a feature's present map becomes."""
        return (
            np.where(target == self.gone, self.stays, target) if self.whole is None else self.whole
        )


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """One feature: its values and their counts."""

    index: int
    coding: Coding
    counts: NDArray[np.int64]
    places: NDArray[np.float64] | None

    @classmethod
    def of(cls, index: int, coding: Coding, codes: NDArray[np.int64]) -> Feature:
        """Count one feature's codes."""
        counts = np.bincount(codes, minlength=coding.n_codes)
        if not coding.ordered:
            return cls(index, coding, counts, None)
        numbers = coding.values.to_physical().cast(float).to_numpy()
        span = float(numbers[-1] - numbers[0]) if len(numbers) else 0.0
        places = (numbers - numbers[0]) / span if span > 0 else np.zeros(len(numbers))
        return cls(index, coding, counts, places)

    @property
    def identity(self) -> NDArray[np.int64]:
        """The identity map: every value stays unchanged."""
        return np.arange(self.coding.n_codes)

    @property
    def is_tree(self) -> bool:
        """Whether groups must be nodes of a hierarchy."""
        return self.coding.hierarchy is not None

    def ncp(self, target: NDArray[np.int64]) -> float:
        """Return the normalized certainty penalty of a map, in [0, 1], mean over the rows.

        For an ordered feature the width of a row's group by that of all values; for categories the
        number of values in it by that of all, 0 for a group of one: Ghinita et al., "Fast data
        anonymization with low information loss" (VLDB 2007), section 2.
        """
        groups = np.unique(target)
        if len(groups) == 1:
            return 1.0
        mass = np.bincount(target, weights=self.counts, minlength=len(target))
        low, high, size = self._extents(target)
        if self.places is None:
            widths = np.where(size > 1, size, 0) / self.coding.n_codes
        else:
            widths = high - low
        return float((mass * widths).sum() / mass.sum())

    def bits(self, target: NDArray[np.int64]) -> float:
        """Return the entropy of a map's groups among the rows, in bits."""
        mass = np.bincount(target, weights=self.counts)
        return float(_entropy(mass / mass.sum()).sum())

    def commonest(self, target: NDArray[np.int64]) -> int:
        """Return the code that stands for the group of most rows."""
        return int(np.argmax(np.bincount(target, weights=self.counts)))

    def lost(self, target: NDArray[np.int64]) -> float:
        """Return the information that a map loses, in [0, 1]: mean of its NCP and its bits' share.

        NCP alone would see nothing in joining the crowded end of a skewed feature, bits alone
        nothing in joining values that few rows have.
        """
        if not (target != self.identity).any():
            return 0.0
        all_bits = self.bits(self.identity)
        share = 1 - self.bits(target) / all_bits if all_bits else 1.0
        return (self.ncp(target) + share) / 2

    def moves(
        self, target: NDArray[np.int64], profiles: NDArray[np.float64] | None
    ) -> Iterator[Move]:
        """Yield the ways to coarsen a map by one step."""
        groups = np.unique(target)
        if len(groups) < 2:  # nothing is left of it
            return
        lost = self.lost(target)
        mass = np.bincount(target, weights=self.counts, minlength=len(target)).astype(np.float64)
        for code in self._stand_ins(groups, mass):
            whole = np.full(len(target), code)
            yield Move(self.index, ("drop", code), 1 - lost, whole=whole)
        if self.is_tree:
            for key, whole in self._nodes(target, mass):
                yield Move(self.index, key, self.lost(whole) - lost, whole=whole)
        elif self.places is not None and len(groups) > MAX_VALUES:
            whole = self._binned()
            yield Move(self.index, ("bin",), self.lost(whole) - lost, whole=whole)
        elif len(groups) > 2:  # joining two is to drop the feature
            yield from self._joins(target, groups, mass, profiles)

    def _joins(
        self,
        target: NDArray[np.int64],
        groups: NDArray[np.int64],
        mass: NDArray[np.float64],
        profiles: NDArray[np.float64] | None,
    ) -> Iterator[Move]:
        """Yield the joins of two groups, the smaller into the larger."""
        if self.places is None:
            pairs = _nearest(groups, profiles)
        else:
            known = groups[groups < self.coding.n_values]
            pairs = np.stack([known[:-1], known[1:]])
        # The fewer rows change, the less the model is asked and the less it errs.
        first_is_less = mass[pairs[0]] <= mass[pairs[1]]
        gone, stays = np.where(first_is_less, pairs, pairs[::-1])
        gains = self._gains(target, mass, gone, stays)
        masses = mass[gone].tolist(), mass[stays].tolist()
        for one, other, gain, *sizes in zip(
            gone.tolist(), stays.tolist(), gains.tolist(), *masses, strict=True
        ):
            yield Move(self.index, ("join", one, other, *sizes), gain, gone=one, stays=other)

    def _gains(
        self,
        target: NDArray[np.int64],
        mass: NDArray[np.float64],
        gone: NDArray[np.int64],
        stays: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return by how much `lost` grows with each join: what two groups add to it is theirs."""
        n, of_both = mass.sum(), mass[gone] + mass[stays]
        low, high, size = self._extents(target)
        if self.places is None:
            wide = np.where(size > 1, size, 0) / self.coding.n_codes
            both = (size[gone] + size[stays]) / self.coding.n_codes
        else:
            wide = high - low
            both = np.maximum(high[gone], high[stays]) - np.minimum(low[gone], low[stays])
        ncp = of_both * both - mass[gone] * wide[gone] - mass[stays] * wide[stays]
        all_bits = self.bits(self.identity)
        bits = _entropy(mass[gone] / n) + _entropy(mass[stays] / n) - _entropy(of_both / n)
        gains: NDArray[np.float64] = (ncp / n + (bits / all_bits if all_bits else 0.0)) / 2
        return gains

    def _extents(
        self, target: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return where each group begins and ends, and how many values it has, by its code."""
        size = np.bincount(target, minlength=len(target))
        low, high = np.zeros(len(target)), np.zeros(len(target))
        if self.places is not None:
            known = target[: self.coding.n_values]
            # The values are in order, so the last that is written is the highest.
            high[known] = self.places
            low[known[::-1]] = self.places[::-1]
        return low, high, size

    def _stand_ins(self, groups: NDArray[np.int64], mass: NDArray[np.float64]) -> list[int]:
        """Return a few values that may stand for all: the commonest groups', and the median."""
        common = groups[np.argsort(-mass[groups], kind="stable")][: STAND_INS - 1].tolist()
        if self.places is not None:
            common.append(self._median(0, self.coding.n_codes))
        return list(dict.fromkeys(map(int, common)))

    def _median(self, start: int, end: int) -> int:
        """Return the code among some that follow each other below which half of the rows lie."""
        reached = np.cumsum(self.counts[start:end])
        return start + int(np.searchsorted(reached, reached[-1] / 2))

    def _binned(self) -> NDArray[np.int64]:
        """Return the map of bins, finer where more rows are; missing stays apart.

        Values weigh the root of their rows. Otherwise the many zeros of a skewed feature would push
        all other values into a few bins.
        """
        n = self.coding.n_values
        weights = np.sqrt(self.counts[:n])
        reached = np.cumsum(weights)
        middle = (reached - weights / 2) * BINS / max(float(reached[-1]), 1.0)
        bins = np.minimum(middle.astype(int), BINS - 1)
        starts = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
        ends = np.append(starts[1:], n)
        medians = [self._median(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
        target = np.repeat(np.array(medians, dtype=np.int64), ends - starts)
        return np.append(target, np.arange(n, self.coding.n_codes))

    def _nodes(
        self, target: NDArray[np.int64], mass: NDArray[np.float64]
    ) -> Iterator[tuple[tuple[object, ...], NDArray[np.int64]]]:
        """Yield the maps in which a node of the hierarchy takes in what is below it."""
        hierarchy = self.coding.hierarchy
        if hierarchy is None:
            return
        n = self.coding.n_values
        seen = set()
        for level in range(1, hierarchy.height):
            reaches = np.asarray(hierarchy.boundaries) <= level
            starts = np.flatnonzero(np.append(True, ~reaches))
            ends = np.append(starts[1:], n)
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                inside = np.unique(target[start:end])
                if len(inside) < 2 or (start, end) in seen:  # it is one group
                    continue
                seen.add((start, end))
                stays = int(inside[np.argmax(mass[inside])])
                joined = target.copy()
                joined[start:end] = stays
                yield ("node", start, end, stays, tuple(inside.tolist())), joined


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each share adds to an entropy, in bits."""
    some = np.where(shares > 0, shares, 1.0)
    return -some * np.log2(some) + 0.0


def _nearest(groups: NDArray[np.int64], profiles: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Return pairs of groups that the model takes for much the same, (2, n_pairs)."""
    n = len(groups)
    if profiles is None:
        return np.zeros((2, 0), dtype=np.int64)
    of_groups = profiles[groups]
    near = np.zeros((n, n), dtype=bool)
    for i, profile in enumerate(of_groups):
        far = np.abs(of_groups - profile).mean(axis=1)
        far[i] = np.inf
        near[i, np.argsort(far, kind="stable")[: min(NEAREST, n - 1)]] = True
    return groups[np.stack(np.nonzero(np.triu(near | near.T)))]

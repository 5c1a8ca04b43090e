"""Worlds: all assignments of a class's secrets to its people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfmask.guarantees import Classes, Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.guarantees import Guarantee

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Finer(NamedTuple):
    """A finer way to write a class: the side of each of its people, and who else is on a side.

    ``others`` holds for each side the codes of the secrets of people who were released there.
    """

    side_of: Ints
    others: tuple[Ints, ...]


def worlds(sizes: Sequence[int], counts: Sequence[int], *, most: int) -> Ints | None:
    """Return every assignment of secrets to groups of indistinguishable people."""
    left = np.asarray(counts, dtype=np.int64)[None, :]
    found = np.zeros((1, 0, len(counts)), dtype=np.int64)
    # Every start can be carried on to a whole world, so too many starts are too many worlds.
    for size in sizes:
        choices = _choices(size, counts, most)
        if choices is None:
            return None
        world, choice = np.nonzero((left[:, None, :] >= choices[None, :, :]).all(axis=2))
        if len(world) > most:
            return None
        found = np.concatenate([found[world], choices[choice][:, None, :]], axis=1)
        left = left[world] - choices[choice]
    return found


def _choices(size: int, counts: Sequence[int], most: int) -> Ints | None:
    """Return every way to choose so many of the secrets, (ways, secrets)."""
    chosen = np.zeros((1, 0), dtype=np.int64)
    later = int(sum(counts))
    for count in counts:
        later -= count
        number = np.arange(count + 1)
        sums = chosen.sum(axis=1)[:, None] + number[None, :]
        way, n = np.nonzero((sums <= size) & (sums + later >= size))
        if len(way) > most:
            return None
        chosen = np.concatenate([chosen[way], number[n][:, None]], axis=1)
    return chosen


def believed(
    finer: Sequence[Finer],
    codes: Ints,
    guarantees: Sequence[Guarantee],
    *,
    column: str,
    n_values: int,
    most: int,
) -> Floats | None:
    """Return the posterior of each secret, given that no finer way kept the guarantees.

    Notes
    -----
    Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing" (VLDB 2007),
    section 4: all inputs that agree with what was released and with how it was made are equally
    likely.
    """
    # People on the same side of every finer way are indistinguishable.
    _, first, of_person = np.unique(
        np.stack([each.side_of for each in finer]), axis=1, return_index=True, return_inverse=True
    )
    of_person = of_person.ravel()
    sizes = np.bincount(of_person)
    values, counts = np.unique(codes, return_counts=True)
    found = worlds(sizes.tolist(), counts.tolist(), most=most)
    if found is None:
        return None
    for each in finer:
        sides = _sides(found, each.side_of[first], values, each.others, n_values)
        found = found[_missed(sides, guarantees, column)]
    if not len(found):
        return np.zeros((0, n_values))
    weights = _ways(found)
    shares = np.tensordot(weights, found, axes=1) / weights.sum() / sizes[:, None]
    probabilities: Floats = np.zeros((len(of_person), n_values))
    probabilities[:, values] = shares[of_person]
    return probabilities


def _sides(
    found: Ints, side_of_group: Ints, values: Ints, others: Sequence[Ints], n_values: int
) -> Ints:
    """Return how often each side has each secret in each world, (worlds, sides, values)."""
    sides = np.zeros((len(found), len(others), n_values), dtype=np.int64)
    for group, side in enumerate(side_of_group.tolist()):
        sides[:, side, values] += found[:, group, :]
    for side, codes in enumerate(others):
        sides[:, side, :] += np.bincount(codes, minlength=n_values)
    return sides


def _missed(sides: Ints, guarantees: Sequence[Guarantee], column: str) -> NDArray[np.bool_]:
    """Return for each world whether a side misses a guarantee."""
    n_worlds, n_sides, n_values = sides.shape
    if not n_worlds:
        return np.zeros(0, dtype=np.bool_)
    table = sides.reshape(-1, n_values)
    rows, codes = np.nonzero(table)
    histogram = Histogram.count(
        rows, codes, n_classes=len(table), n_values=n_values, weights=table[rows, codes]
    )
    classes = Classes(table.sum(axis=1), {column: histogram})
    failing = np.zeros(len(table), dtype=np.bool_)
    for guarantee in guarantees:
        failing[guarantee.judge(classes).failing] = True
    return np.asarray(failing.reshape(n_worlds, n_sides).any(axis=1), dtype=np.bool_)


def _ways(found: Ints) -> Floats:
    """Return how many assignments of single people each world stands for, up to a factor."""
    from scipy.special import gammaln  # noqa: PLC0415 # scipy loads late

    # What the groups' sizes add is the same in all worlds.
    logs = -gammaln(found + 1.0).sum(axis=(1, 2))
    ways: Floats = np.exp(logs - logs.max())
    return ways

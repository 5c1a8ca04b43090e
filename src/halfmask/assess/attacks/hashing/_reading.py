"""What an attacker tries, and how many cells are named by what was read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from halfmask.assess.attacks._hashing_target import HashingTarget
    from halfmask.assess.attacks.hashing._hash_schemes import HashScheme

#: The buckets of a column's values, as an attacker computes them.
Hashed: TypeAlias = "Callable[[str, list[str]], NDArray[np.uint32]]"

_SUFFIX = "~"


def candidates(target: HashingTarget) -> dict[str, list[str]]:
    """Return the values that are tried for each column, the population's most frequent first."""
    found = {}
    for name in target.original.columns:
        if name in target.dictionary:
            found[name] = list(dict.fromkeys(target.dictionary[name]))
            continue
        true = target.original[name].unique(maintain_order=True).to_list()
        if target.population is not None:
            counted = target.population[name].value_counts(sort=True)[name].to_list()
            true = [*counted, *true]
        # As many words that no row has: a dictionary holds more than what is there.
        true = list(dict.fromkeys(true))
        found[name] = list(dict.fromkeys([*true, *(value + _SUFFIX for value in true)]))
    return found


def unkeyed_best(
    target: HashingTarget,
    schemes: Iterable[HashScheme],
    tried: dict[str, list[str]],
    *,
    sample: int,
) -> tuple[HashScheme | None, int, int]:
    """Return the way whose buckets are most often among the rows', how often, of how many."""
    cells = [(name, value) for name, words in tried.items() for value in words[:sample]]
    place = np.repeat(np.arange(len(tried)), [len(words[:sample]) for words in tried.values()])
    there = seen(target)
    best, most, n_schemes = None, 0, 0
    hashed: dict[HashScheme, tuple[NDArray[np.uint64], int]] = {}
    for scheme in schemes:
        n_schemes += 1
        unfolded = replace(scheme, fold="")
        if unfolded not in hashed:
            hashed = {unfolded: unfolded.numbers(cells)}
        hits = n_seen(there, place, scheme.folded(*hashed[unfolded], target.bits))
        if hits > most:
            best, most = scheme, hits
    return best, most, n_schemes


def seen(target: HashingTarget) -> NDArray[np.int64]:
    """Return the buckets that rows have, each with its column's place, ascending."""
    places = np.arange(target.buckets.shape[1], dtype=np.int64) << 32
    return np.unique(target.buckets.astype(np.int64) | places)


def n_seen(there: NDArray[np.int64], place: NDArray[np.int64], buckets: NDArray[np.uint32]) -> int:
    """Return how many different buckets of all these are seen in their columns."""
    keys = np.unique(buckets.astype(np.int64) | place.astype(np.int64) << 32)
    at = np.minimum(np.searchsorted(there, keys), len(there) - 1)
    return int((there[at] == keys).sum())


def named(
    target: HashingTarget, scheme: Hashed, tried: dict[str, list[str]]
) -> tuple[int, int, int]:
    """Return how many cells are named rightly, how many values are, and how many are claimed."""
    cells = values = claimed = 0
    for place, (name, words) in enumerate(tried.items()):
        if not words:
            continue
        hashed = scheme(name, words)
        # Of values that share a bucket the first is taken: the most frequent one.
        bucket, first = np.unique(hashed, return_index=True)
        row = np.searchsorted(bucket, target.buckets[:, place])
        row[row == len(bucket)] = 0
        hit = bucket[row] == target.buckets[:, place]
        guess = np.array(words, dtype=object)[first[row]]
        truth = target.original[name].to_numpy()
        right = hit & (guess == truth)
        cells += int(right.sum())
        values += len(set(truth[right].tolist()))
        claimed += int(np.isin(bucket, target.buckets[:, place]).sum())
    return cells, values, claimed


def read_outcome(
    attack: str, target: HashingTarget, read: tuple[int, int, int], **details: float
) -> Outcome:
    """Return how many cells were read: exact, and by chance one in the number of buckets."""
    cells, values, claimed = read
    total = target.original.height * target.original.width
    distinct = sum(column.n_unique() for column in target.original.iter_columns())
    return Outcome(
        attack=attack,
        measure="cells read",
        success=Certain(cells / total, total),
        control=Certain(2.0**-target.bits, total),
        needed=1,
        needed_of="cells",
        details={
            "values read": float(values),
            "values": float(distinct),
            "buckets claimed": float(claimed),
            **details,
        },
    )

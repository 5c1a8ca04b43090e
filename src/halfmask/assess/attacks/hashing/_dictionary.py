"""Values read without the key: by a dictionary, and by a seed that a few known cells identify."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import as_numbers, numbers_of
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, Found, Outcome
from halfmask.assess.attacks._hashes import (
    JOINED,
    HashScheme,
    murmur3,
    salts_given,
    siphash,
    unkeyed_schemes,
)
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks.hashing._frequencies import lacking_cells
from halfmask.vault import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Ints


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
    there = seen_buckets(target)
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


def seen_buckets(target: HashingTarget) -> Ints:
    """Return the buckets that rows have, each with its column's place, ascending."""
    places = np.arange(target.buckets.shape[1], dtype=np.int64) << 32
    return np.unique(target.buckets.astype(np.int64) | places)


def n_seen(there: Ints, place: Ints, buckets: NDArray[np.uint32]) -> int:
    """Return how many different buckets of all these are seen in their columns."""
    keys = np.unique(buckets.astype(np.int64) | place.astype(np.int64) << 32)
    at = np.minimum(np.searchsorted(there, keys), len(there) - 1)
    return int((there[at] == keys).sum())


def count_named(
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


# What people type where a secret is asked for.
_PASSWORDS = ("", "secret", "password", "changeme", "test", "key", "salt", "123456", "halfmask")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary(
    DeclaredAttack, name="hashing/dictionary", target=HashingTarget, needs=(lacking_cells,)
):
    """Hash a dictionary of values without the key, and look the buckets up.

    Parameters
    ----------
    salts
        Salts that leaked, or that are public; tried before name and value.
    seeds
        How many small seeds of MurmurHash3 are tried, from 0, and well-known ones.
    sample
        How many values of each column decide which way is the owner's.

    Notes
    -----
    What undid the hashed medallions of New York's taxis in 2014: 22 million candidates.
    Tried are MurmurHash3, SipHash-2-4 with public keys, CRC-32, FNV-1a and digests,
    name and value joined in eight ways and folded in three; namespaces of Vowpal Wabbit; and, with
    `rehash`, the owner's own way under secrets that people choose: all bytes alike, passwords, and
    their SHA-256. The way whose buckets are seen most often is believed. Exact: every cell is
    counted. Control: a guess is a bucket's value once in the number of buckets.

    Examples
    --------
    >>> towns = pl.DataFrame({"town": ["Aachen", "Bonn", "Bonn", "Celle"] * 50})
    >>> drawn = np.array([[7], [1], [1], [5]] * 50, dtype=np.uint32)
    >>> keyed = HashingTarget(buckets=drawn, original=towns, bits=20)
    >>> attack = Dictionary(seeds=2)
    >>> [attack.run(each, random_state=0)[0].success.value for each in (keyed, keyed.unprotected())]
    [0.0, 1.0]
    """

    salts: tuple[bytes, ...] = field(default=(b"salt", b"pepper"), metadata={"take": salts_given})
    seeds: int = field(default=16, metadata={"ge": 0})
    sample: int = field(default=50, metadata={"ge": 1})

    def _measure(self, target: HashingTarget, random_state: int) -> Found:  # noqa: ARG002 # exact
        tried = candidates(target)
        schemes = unkeyed_schemes(seeds=self.seeds, salts=self.salts)
        scheme, most, n_schemes = unkeyed_best(target, schemes, tried, sample=self.sample)
        hashed: Hashed = _nothing if scheme is None else partial(scheme.buckets, bits=target.bits)
        if any(tried.values()) and target.rehash is not None:
            few = {name: words[: self.sample] for name, words in tried.items()}
            for secret in _weak_secrets():
                n_schemes += 1
                guessed = _Guessed(target, secret, few)
                if (hits := guessed.hits(target)) > most:
                    most, hashed = hits, _Guessed(target, secret, tried)
        details = {"ways": float(n_schemes), "hits of the best way": float(most)}
        return read_outcome(self.name, target, count_named(target, hashed, tried), **details)


class _Guessed:
    """The owner's way under a secret that was guessed: all columns are hashed at once."""

    def __init__(self, target: HashingTarget, secret: Secret, tried: dict[str, list[str]]) -> None:
        longest = max(map(len, tried.values()))
        padded = {name: (words * longest)[:longest] for name, words in tried.items() if words}
        buckets = _rehashed(target, secret, pl.DataFrame(padded))
        self._buckets = dict(zip(padded, buckets.T, strict=True))
        self._tried = tried

    def __call__(self, name: str, values: list[str]) -> NDArray[np.uint32]:
        return np.asarray(self._buckets[name][: len(values)])

    def hits(self, target: HashingTarget) -> int:
        """Return how many buckets of the candidates are seen."""
        pairs = [(place, self(name, words)) for place, (name, words) in self._enumerated()]
        places = np.concatenate([np.full(len(buckets), place) for place, buckets in pairs])
        return n_seen(
            seen_buckets(target), places, np.concatenate([buckets for _, buckets in pairs])
        )

    def _enumerated(self) -> list[tuple[int, tuple[str, list[str]]]]:
        return [(at, each) for at, each in enumerate(self._tried.items()) if each[1]]


def _rehashed(
    target: HashingTarget, secret: Secret, candidates: pl.DataFrame
) -> NDArray[np.uint32]:
    """Return the buckets of candidates by the owner's way under another secret.

    Buckets that no row can have would never be hit, and every secret would seem a good one.
    """
    if target.rehash is None:
        raise DataError("The target has no way to hash again.")
    with foreign("The way to hash again failed on candidates"):
        rehashed = as_numbers(target.rehash(secret, candidates))
    given = numbers_of(rehashed, candidates.shape, who="The way to hash again", what="buckets")
    if (given < 0).any() or (given >= 1 << target.bits).any() or (given % 1 != 0).any():
        raise DataError(f"The way to hash again gave what are no buckets of {target.bits} bits.")
    return given.astype(np.uint32)


def _nothing(name: str, values: list[str]) -> NDArray[np.uint32]:  # noqa: ARG001 # Hashed
    """Return buckets that no row has: nothing was found."""
    return np.full(len(values), np.iinfo(np.uint32).max, dtype=np.uint32)


def _weak_secrets() -> list[Secret]:
    """Return secrets that people choose who don't draw one."""
    bytes_ = [bytes([byte]) * 32 for byte in (0, 1, 7, 42, 255)]
    bytes_ += [bytes(range(32)), *(word.encode().ljust(32, b"\0") for word in _PASSWORDS[1:])]
    bytes_ += [hashlib.sha256(word.encode()).digest() for word in _PASSWORDS]
    return [Secret.from_bytes(each) for each in bytes_]


_AT_ONCE = 1 << 18
_MAX_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BruteForce(
    DeclaredAttack, name="hashing/brute-force", target=HashingTarget, needs=(lacking_cells,)
):
    """Search all seeds by a few known cells, then read values by enumeration.

    Parameters
    ----------
    known
        How many cells with different values the attacker knows, with their buckets.
    seed_bits
        All seeds below 2**`seed_bits` are tried, 1 to 32: of MurmurHash3, and as keys of SipHash
        where at most 22. Seeds of MurmurHash3 have 32 bits, which takes minutes for all ways of
        joining name and value; keys of SipHash have 128.
    digits
        All numbers of up to so many digits, 0 to 7, are tried as values, leading zeros and all:
        postcodes, years, short ids. 0: only the dictionary.

    Notes
    -----
    A secret seed of 32 bits is no key: two known features leave hardly a seed but the owner's.
    Exact: every cell is counted. Control: a wrong seed names a cell once in the number of buckets.

    Examples
    --------
    >>> import polars as pl
    >>> zips = pl.DataFrame({"zip": [f"{n:03d}" for n in range(200)]})
    >>> drawn = np.random.default_rng(0).permutation(1 << 20)[:200, None].astype(np.uint32)
    >>> keyed = HashingTarget(buckets=drawn, original=zips, bits=20, dictionary={"zip": []})
    >>> seeded = keyed.unprotected(seed=54_321)
    >>> attack = BruteForce(seed_bits=16, digits=3)
    >>> [attack.run(each, random_state=0)[0].success.value for each in (keyed, seeded)]
    [0.0, 1.0]
    """

    known: int = field(default=4, metadata={"ge": 1})
    seed_bits: int = field(default=18, metadata={"ge": 1})
    digits: int = field(default=0, metadata={"ge": 0})

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        if self.seed_bits > _MAX_BITS or self.digits > 7:
            raise ParameterError("BruteForce has at most 32 seed_bits and 7 digits.")

    def _measure(self, target: HashingTarget, random_state: int) -> Found:
        known = self._known(target, np.random.default_rng(random_state))
        found = self._found(known, target.bits)
        details = {"known cells": float(len(known)), "seeds tried": float(1 << self.seed_bits)}
        if found is None:
            return read_outcome(self.name, target, (0, 0, 0), **details)
        tried = {name: [*words, *self._counted()] for name, words in candidates(target).items()}

        def scheme(name: str, values: list[str]) -> NDArray[np.uint32]:
            return found.buckets(name, values, target.bits)

        return read_outcome(self.name, target, count_named(target, scheme, tried), **details)

    def _known(self, target: HashingTarget, rng: np.random.Generator) -> list[tuple[str, str, int]]:
        """Return known cells of different values: column, value and bucket."""
        n, width = target.buckets.shape
        found: dict[tuple[str, str], int] = {}
        for cell in rng.permutation(n * width)[: 1000 * self.known]:
            row, place = divmod(int(cell), width)
            name = target.original.columns[place]
            found[name, target.original[name][row]] = int(target.buckets[row, place])
            if len(found) == self.known:
                break
        return [(name, value, bucket) for (name, value), bucket in found.items()]

    def _found(self, known: list[tuple[str, str, int]], bits: int) -> HashScheme | None:
        """Return the way and seed that all known cells agree with."""
        wide = [("siphash", min(self.seed_bits, 22)), ("murmur3", self.seed_bits)]
        tries = [(base, top, joined) for base, top in wide for joined in JOINED]
        for base, top, joined in tries:
            for start in range(0, 1 << top, _AT_ONCE):
                seeds = np.arange(start, min(start + _AT_ONCE, 1 << top), dtype=np.uint64)
                for seed in _agreeing(HashScheme(base=base, joined=joined), seeds, known[0], bits):
                    scheme = HashScheme(base=base, joined=joined, seed=int(seed))
                    if all(scheme.buckets(n, [v], bits)[0] == bucket for n, v, bucket in known):
                        return scheme
        return None

    def _counted(self) -> list[str]:
        """Return all numbers of up to so many digits."""
        return [
            f"{number:0{length}d}"
            for length in range(1, self.digits + 1)
            for number in range(10**length)
        ]


def _agreeing(
    scheme: HashScheme, seeds: NDArray[np.uint64], known: tuple[str, str, int], bits: int
) -> NDArray[np.uint64]:
    """Return the seeds that one known cell agrees with."""
    name, value, bucket = known
    message = [scheme.joined.format(c=name, v=value).encode()]
    if scheme.base == "murmur3":
        hashes = murmur3(message, seeds.astype(np.uint32)).astype(np.uint64)
    else:
        hashes = siphash(message, seeds)
    return np.asarray(seeds[(hashes & np.uint64((1 << bits) - 1)) == np.uint64(bucket)])

"""Dictionary: every value that a column may have is hashed by every way that needs no secret."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks._numbers import as_numbers, numbers_of
from halfmask.assess.attacks.encodings._hashes import salts_given
from halfmask.assess.attacks.hashing._hash_schemes import unkeyed_schemes
from halfmask.assess.attacks.hashing._reading import (
    candidates,
    n_seen,
    named,
    read_outcome,
    seen,
    unkeyed_best,
)
from halfmask.vault import Secret

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks.hashing._hash_schemes import HashScheme
    from halfmask.assess.attacks.hashing._reading import Hashed

# What people type where a secret is asked for.
_PASSWORDS = ("", "secret", "password", "changeme", "test", "key", "salt", "123456", "halfmask")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
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

    name: ClassVar[str] = "hashing/dictionary"
    attacks: ClassVar[type] = HashingTarget

    salts: tuple[bytes, ...] = (b"salt", b"pepper")
    seeds: int = 16
    sample: int = 50

    def __post_init__(self) -> None:
        integer_at_least(0, owner="Dictionary", seeds=self.seeds)
        object.__setattr__(self, "salts", salts_given(self.salts, owner="Dictionary"))
        integer_at_least(1, owner="Dictionary", sample=self.sample)

    def missing_inputs(self, target: HashingTarget) -> str:
        """Return what is missing: cells."""
        return "" if target.buckets.size else "cells"

    def run(self, target: HashingTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # exact
        """Try every way, and return how many cells the best one reads."""
        tried = candidates(target)
        schemes = unkeyed_schemes(seeds=self.seeds, salts=self.salts)
        scheme, most, n_schemes = unkeyed_best(target, schemes, tried, sample=self.sample)
        hashed: Hashed = _nothing if scheme is None else _Public(scheme, target.bits)
        if any(tried.values()) and target.rehash is not None:
            few = {name: words[: self.sample] for name, words in tried.items()}
            for secret in _weak_secrets():
                n_schemes += 1
                guessed = _Guessed(target, secret, few)
                if (hits := guessed.hits(target)) > most:
                    most, hashed = hits, _Guessed(target, secret, tried)
        details = {"ways": float(n_schemes), "hits of the best way": float(most)}
        return (read_outcome(self.name, target, named(target, hashed, tried), **details),)


@dataclass(frozen=True, slots=True)
class _Public:
    """A public way, without a secret."""

    scheme: HashScheme
    bits: int

    def __call__(self, name: str, values: list[str]) -> NDArray[np.uint32]:
        return self.scheme.buckets(name, values, self.bits)


class _Guessed:
    """The owner's way under a secret that was guessed: all columns are hashed at once."""

    def __init__(self, target: HashingTarget, secret: Secret, tried: dict[str, list[str]]) -> None:
        longest = max(map(len, tried.values()))
        padded = {name: (words * longest)[:longest] for name, words in tried.items() if words}
        buckets = _rehashed(target, secret, pl.DataFrame(padded))
        self._buckets = dict(zip(padded, buckets.T, strict=True))
        self._tried = tried

    def __call__(self, name: str, values: list[str]) -> NDArray[np.uint32]:
        buckets: NDArray[np.uint32] = self._buckets[name][: len(values)]
        return buckets

    def hits(self, target: HashingTarget) -> int:
        """Return how many buckets of the candidates are seen."""
        pairs = [(place, self(name, words)) for place, (name, words) in self._enumerated()]
        places = np.concatenate([np.full(len(buckets), place) for place, buckets in pairs])
        return n_seen(seen(target), places, np.concatenate([buckets for _, buckets in pairs]))

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

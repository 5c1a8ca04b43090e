"""Brute force: a few known cells identify a seed; then all short numbers are tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks._murmur3 import murmur3
from halfmask.assess.attacks.hashing._bucket_column import lacking_cells
from halfmask.assess.attacks.hashing._hash_schemes import JOINED, HashScheme
from halfmask.assess.attacks.hashing._reading import candidates, named, read_outcome
from halfmask.assess.attacks.hashing._siphash import siphash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._outcome import Outcome

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

    def run(self, target: HashingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Search seeds by the known cells, and return how many cells the found one reads."""
        known = self._known(target, np.random.default_rng(random_state))
        found = self._found(known, target.bits)
        details = {"known cells": float(len(known)), "seeds tried": float(1 << self.seed_bits)}
        if found is None:
            return (read_outcome(self.name, target, (0, 0, 0), **details),)
        tried = {name: [*words, *self._counted()] for name, words in candidates(target).items()}

        def scheme(name: str, values: list[str]) -> NDArray[np.uint32]:
            return found.buckets(name, values, target.bits)

        return (read_outcome(self.name, target, named(target, scheme, tried), **details),)

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
    agree: NDArray[np.uint64] = seeds[(hashes & np.uint64((1 << bits) - 1)) == np.uint64(bucket)]
    return agree

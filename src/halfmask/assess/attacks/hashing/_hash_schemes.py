"""HashScheme: ways to hash a column and a value into a bucket without a key."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.assess.attacks._murmur3 import murmur3
from halfmask.assess.attacks.hashing._siphash import siphash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: How a column's name and a value are put together. Drake's article has "firstName-Adam".
JOINED = ("{c}={v}", "{c}-{v}", "{c}:{v}", "{c}_{v}", "{c}{v}", "{c}|{v}", "{c}^{v}", "{v}")
_DIGESTS = ("md5", "sha1", "sha256", "blake2b")
_FNV = {32: (0x811C9DC5, 0x01000193), 64: (0xCBF29CE484222325, 0x100000001B3)}
# Other seeds that programs have as their default.
_SEEDS = (42, 0x9747B28C, 0xDEADBEEF)
# The key of the SipHash paper's test vectors, and of many a program that was copied from them.
_PAPER_KEY = int.from_bytes(bytes(range(16)), "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class HashScheme:
    """One way to hash cells without a secret."""

    base: str
    seed: int = 0
    joined: str = JOINED[0]
    fold: str = "low"
    salt: bytes = b""

    def buckets(self, column: str, values: Sequence[str], bits: int) -> NDArray[np.uint32]:
        """Return the bucket of each value of a column."""
        return self.folded(*self.numbers([(column, value) for value in values]), bits)

    def numbers(self, cells: Sequence[tuple[str, str]]) -> tuple[NDArray[np.uint64], int]:
        """Return the hash of each column and value, before it is folded, and its bits."""
        if self.base == "namespace":
            return self._in_namespaces(cells), 32
        numbers, width = self._hashed(_joined(self.salt, self.joined, tuple(cells)))
        return numbers.astype(np.uint64), width

    def folded(self, numbers: NDArray[np.uint64], width: int, bits: int) -> NDArray[np.uint32]:
        """Return the buckets of hashes."""
        if self.fold == "high":
            return (numbers >> np.uint64(width - bits)).astype(np.uint32)
        if self.fold == "size":
            signed = numbers.astype(np.uint32).view(np.int32).astype(np.int64)
            numbers = np.abs(signed).astype(np.uint64)
        return (numbers & np.uint64((1 << bits) - 1)).astype(np.uint32)

    def _in_namespaces(self, cells: Sequence[tuple[str, str]]) -> NDArray[np.uint64]:
        names = list(dict.fromkeys(column for column, _ in cells))
        hashes = murmur3([self.salt + name.encode() for name in names], self.seed)
        seeds = dict(zip(names, hashes, strict=True))
        return murmur3(
            [value.encode() for _, value in cells],
            np.array([seeds[column] for column, _ in cells], dtype=np.uint32),
        ).astype(np.uint64)

    def _hashed(self, messages: list[bytes]) -> tuple[NDArray[Any], int]:
        if self.base == "murmur3":
            return murmur3(messages, self.seed), 32
        if self.base == "siphash":
            return siphash(messages, self.seed), 64
        if self.base == "crc32":
            return np.array([zlib.crc32(each) for each in messages], dtype=np.uint64), 32
        if self.base in {"fnv32", "fnv64"}:
            width = int(self.base[3:])
            return np.array([_fnv(each, width) for each in messages], dtype=np.uint64), width
        hashes = [hashlib.new(self.base, m, usedforsecurity=False).digest()[:8] for m in messages]
        return np.array([int.from_bytes(each, "big") for each in hashes], dtype=np.uint64), 64


def unkeyed_schemes(*, seeds: int, salts: tuple[bytes, ...]) -> Iterator[HashScheme]:
    """Return every way that is tried, the usual ones first."""
    small = (*range(seeds), *_SEEDS)
    for salt in (b"", *salts):
        for joined in JOINED:
            for fold in ("low", "size", "high"):
                for seed in small:
                    yield HashScheme(base="murmur3", seed=seed, joined=joined, fold=fold, salt=salt)
                yield HashScheme(base="crc32", joined=joined, fold=fold, salt=salt)
            for fold in ("low", "high"):
                for seed in (0, 1, _PAPER_KEY):
                    yield HashScheme(base="siphash", seed=seed, joined=joined, fold=fold, salt=salt)
                for base in ("fnv32", "fnv64", *_DIGESTS):
                    yield HashScheme(base=base, joined=joined, fold=fold, salt=salt)
        yield from (HashScheme(base="namespace", seed=seed, salt=salt) for seed in small)


@lru_cache(maxsize=1)
def _joined(salt: bytes, joined: str, cells: tuple[tuple[str, str], ...]) -> list[bytes]:
    """Return what is hashed of each cell; ways that differ by seed alone follow each other."""
    first, _, last = joined.partition("{v}")
    around = {
        column: (salt + first.format(c=column).encode(), last.format(c=column).encode())
        for column in {column for column, _ in cells}
    }
    return [around[column][0] + value.encode() + around[column][1] for column, value in cells]


def _fnv(message: bytes, width: int) -> int:
    """Return FNV-1a of bytes."""
    digest, prime = _FNV[width]
    mask = (1 << width) - 1
    for byte in message:
        digest = ((digest ^ byte) * prime) & mask
    return digest

"""Ways to hash cells and names without a key: the attacker's own MurmurHash3 and SipHash-2-4.

Both take many messages under one seed or key, or one message under many.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._inputs import several

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Ints


_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_Word = TypeVar("_Word", np.uint32, np.uint64)


def murmur3(messages: Sequence[bytes], seed: int | NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return MurmurHash3 (x86, 32 bits), as Appleby's reference code does.

    Examples
    --------
    >>> murmur3([b"hello", b"", b"hell"], 0).tolist(), murmur3([b""], np.array([1, 2])).tolist()
    ([613153351, 0, 2707938291], [1364076727, 821347078])
    """
    blocks, lengths = blocks_of(messages, np.uint32)
    whole = lengths // 4
    seeds = np.asarray(seed, dtype=np.uint32)
    h = np.broadcast_to(seeds, np.broadcast_shapes(seeds.shape, (len(blocks),))).copy()
    for place in range(int(whole.max(initial=0))):
        mixed = h ^ _scrambled(blocks[:, place])
        mixed = _turned(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h = np.where(place < whole, mixed, h)
    # What is left over of a message is one block more; of nothing it is 0, which changes nothing.
    h ^= _scrambled(blocks[np.arange(len(blocks)), whole])
    h ^= lengths.astype(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray(h ^ (h >> np.uint32(16)))


def blocks_of(messages: Sequence[bytes], word: type[_Word]) -> tuple[NDArray[_Word], Ints]:
    """Return messages as rows of little-endian words with zeros behind, and their lengths.

    There is always room for one block more than the longest message fills.
    """
    size = np.dtype(word).itemsize
    lengths = np.array([len(each) for each in messages], dtype=np.int64)
    wide = size * (int(lengths.max(initial=0)) // size + 1)
    joined = b"".join(each.ljust(wide, b"\0") for each in messages)
    little = np.frombuffer(joined, dtype=np.dtype(word).newbyteorder("<"))
    return little.reshape(len(messages), wide // size).astype(word), lengths


def _scrambled(k: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return _turned(k * _C1, 15) * _C2


def _turned(x: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_MASK = (1 << 64) - 1


def siphash(messages: Sequence[bytes], key: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SipHash-2-4.

    Notes
    -----
    Aumasson and Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012).

    Examples
    --------
    The paper's own vector:

    >>> key = int.from_bytes(bytes(range(16)), "little")
    >>> hex(siphash([bytes(range(15))], key)[0])
    '0xa129ca6149be45e5'
    """
    if isinstance(key, int):
        low, high = (
            np.full(1, key & _MASK, dtype=np.uint64),
            np.full(1, key >> 64 & _MASK, dtype=np.uint64),
        )
    else:
        low, high = key.astype(np.uint64), np.zeros(1, dtype=np.uint64)
    blocks, lengths = blocks_of(messages, np.uint64)
    last = lengths // 8
    blocks[np.arange(len(blocks)), last] |= (lengths & 0xFF).astype(np.uint64) << np.uint64(56)
    shape = np.broadcast_shapes(low.shape, last.shape)
    v = [
        np.broadcast_to(np.uint64(start) ^ half, shape).copy()
        for start, half in zip(_START, (low, high, low, high), strict=True)
    ]
    for place in range(int(last.max(initial=0)) + 1):
        before = [part.copy() for part in v]
        v[3] ^= blocks[:, place]
        _rounds(v, 2)
        v[0] ^= blocks[:, place]
        v = [np.where(place <= last, new, old) for new, old in zip(v, before, strict=True)]
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return np.asarray(v[0] ^ v[1] ^ v[2] ^ v[3])


def _rounds(v: list[NDArray[np.uint64]], n: int) -> None:
    for _ in range(n):
        _round(v)


def _round(v: list[NDArray[np.uint64]]) -> None:
    v[0] += v[1]
    v[1] = _rotated(v[1], 13) ^ v[0]
    v[0] = _rotated(v[0], 32)
    v[2] += v[3]
    v[3] = _rotated(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = _rotated(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = _rotated(v[1], 17) ^ v[2]
    v[2] = _rotated(v[2], 32)


def _rotated(x: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


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


_NAME_DIGESTS = (
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "blake2b",
    "blake2s",
    "sha3_256",
)


def salts_given(salts: object, *, parameter: str, owner: str) -> tuple[bytes, ...]:
    """Return salts as a tuple."""
    found = several(salts, parameter=parameter, owner=owner, of="salts", or_none=True)
    if not all(isinstance(salt, bytes) for salt in found):
        raise ParameterError(
            f"Each of the 'salts' of {owner} must be bytes.", hint="Write b'pepper', not 'pepper'."
        )
    return found


def unkeyed(name: str, *, salts: tuple[bytes, ...], seeds: int) -> Iterator[str]:
    """Return what a name becomes by every way that is tried, in lower case.

    The name itself, digests in hexadecimal and base64, with each salt before and behind, CRC-32,
    and MurmurHash3 with each seed, as unsigned, signed and hexadecimal numbers.
    """
    for spelt in dict.fromkeys((name, name.lower(), name.upper(), name.strip())):
        yield spelt.lower()
        data = spelt.encode()
        for salted in dict.fromkeys((data, *(s + data for s in salts), *(data + s for s in salts))):
            for digest in _NAME_DIGESTS:
                digested = hashlib.new(digest, salted, usedforsecurity=False).digest()
                yield digested.hex()
                yield base64.b64encode(digested).decode().rstrip("=").lower()
            crc = zlib.crc32(salted)
            yield from (f"{crc:08x}", str(crc))
        for number in murmur3([data], np.arange(seeds, dtype=np.uint32)).tolist() if seeds else ():
            signed = number - (1 << 32) if number >> 31 else number
            yield from (f"{number:08x}", str(number), str(signed))

"""FF1, format-preserving encryption, over many values at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Fewest values of a format: below, an attacker with a few known pairs recovers the others.
LEAST_DOMAIN: Final = 1_000_000
_BLOCK: Final = 16
_ROUNDS: Final = 10
#: Rows that are encrypted at once: their blocks stay in the cache.
_CHUNK: Final = 1 << 15
#: Largest modulus of a half for limbs of so many bits: remainder and limb fit into 64 bits.
_LIMBS: Final = ((1 << 32, 32), (1 << 48, 16), (1 << 56, 8))


@dataclass(frozen=True, slots=True)
class Ff1:
    """Encrypt numeral strings of one format into numeral strings of the same format.

    Parameters
    ----------
    key
        16, 24 or 32 bytes: a key of AES.
    radices
        The radix of each numeral, 2 to 256. At least two numerals.

    Raises
    ------
    ParameterError
        If the key or a radix is out of range, or the format has less than a million values.

    Notes
    -----
    **Guarantees.** Each key and tweak give a permutation of the format, and `decrypt` undoes it.
    With one radix it is FF1 of NIST SP 800-38G, algorithms 7 and 8. The domain has at least a
    million values, as Rev. 1 of the publication requires.

    **Edge cases.** With several radices the rounds are the same, each half with a modulus of its
    own, and the radix in the first block is 0. NIST has no standard for such formats.

    Sources: NIST SP 800-38G (2016) and its Rev. 1 (drafts of 2019 and 2025); Feistel networks with
    two moduli after Bellare, Ristenpart, Rogaway and Stegers 2009, "Format-Preserving Encryption".

    Examples
    --------
    The first sample of NIST:

    >>> cipher = Ff1(bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C"), [10] * 10)
    >>> cipher.encrypt(np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])).tolist()
    [[2, 4, 3, 3, 4, 7, 7, 4, 8, 4]]
    """

    key: bytes = field(repr=False)
    radices: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.key) not in {16, 24, 32}:
            raise ParameterError(f"A key of FF1 has 16, 24 or 32 bytes. Got {len(self.key)}.")
        if not all(2 <= radix <= 256 for radix in self.radices):  # what a byte holds
            raise ParameterError("A radix of FF1 must be from 2 to 256.")
        if len(self.radices) < 2 or math.prod(self.radices) < LEAST_DOMAIN:  # two halves
            raise ParameterError(
                f"FF1 needs a format of at least two numerals and {LEAST_DOMAIN:,} values. Got "
                f"{len(self.radices)} numerals and {math.prod(self.radices):,} values."
            )

    def encrypt(
        self, numerals: NDArray[Any], tweaks: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return the encrypted numerals.

        Parameters
        ----------
        numerals
            A row for each value, with a numeral in each column.
        tweaks
            Public bytes of each value, a row for each; values of other tweaks have other
            permutations. By default none.
        """
        return self._chunks(numerals, tweaks, range(_ROUNDS))

    def decrypt(
        self, numerals: NDArray[Any], tweaks: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return the numerals that `encrypt` was given, with the same tweaks.

        Parameters
        ----------
        numerals, tweaks
            As of `encrypt`.
        """
        return self._chunks(numerals, tweaks, range(_ROUNDS - 1, -1, -1))

    def _chunks(
        self, numerals: NDArray[Any], tweaks: NDArray[np.uint8] | None, rounds: range
    ) -> NDArray[np.uint8]:
        if tweaks is None:
            tweaks = np.zeros((len(numerals), 0), np.uint8)
        found = np.empty(numerals.shape, np.uint8)
        for start in range(0, len(numerals), _CHUNK):
            rows = slice(start, start + _CHUNK)
            found[rows] = self._rounds(numerals[rows], tweaks[rows], rounds)
        return found

    def _rounds(
        self, numerals: NDArray[Any], tweaks: NDArray[np.uint8], rounds: range
    ) -> NDArray[np.uint8]:
        """Algorithm 7 upwards, algorithm 8 downwards; the names are those of the publication."""
        u = len(self.radices) // 2
        left, right = self.radices[:u], self.radices[u:]
        moduli = math.prod(left), math.prod(right)
        round_function = _RoundFunction.of(self, tweaks, most=max(moduli))
        a = _num(numerals[:, :u], left, round_function.dtype)
        b = _num(numerals[:, u:], right, round_function.dtype)
        forwards = rounds.step > 0
        for i in rounds:
            modulus = moduli[i % 2]
            if forwards:
                a, b = b, (a + round_function(i, b, modulus)) % round_function.dtype(modulus)
            else:
                y = round_function(i, a, modulus)
                a, b = (b + round_function.dtype(modulus) - y) % round_function.dtype(modulus), a
        return np.concatenate([_str(a, left), _str(b, right)], axis=1)


@dataclass(frozen=True, slots=True, repr=False)
class _RoundFunction:
    """Steps 6 i to iv: a number below a modulus, from the number of the round and of a half."""

    encrypt: Any
    first: NDArray[np.uint8]
    blocks: NDArray[np.uint8]
    n_bytes: int
    dtype: Any

    @classmethod
    def of(cls, cipher: Ff1, tweaks: NDArray[np.uint8], *, most: int) -> _RoundFunction:
        """Return the round function of values with their tweaks."""
        from cryptography.hazmat.primitives.ciphers import (  # noqa: PLC0415 # 30 ms
            Cipher,
            algorithms,
            modes,
        )

        # Each block by itself: chaining is below, for all values in step.
        aes = Cipher(algorithms.AES(cipher.key), modes.ECB()).encryptor()  # noqa: S305
        n, t = len(cipher.radices), tweaks.shape[1]
        n_bytes = -(-(most - 1).bit_length() // 8)
        alike = len(set(cipher.radices)) == 1
        first = b"".join(
            (
                bytes([1, 2, 1]),
                (cipher.radices[0] if alike else 0).to_bytes(3, "big"),
                bytes([_ROUNDS, n // 2 % 256]),
                n.to_bytes(4, "big"),
                t.to_bytes(4, "big"),
            )
        )
        length = -(-(t + n_bytes + 1) // _BLOCK) * _BLOCK
        blocks = np.zeros((len(tweaks), length), np.uint8)
        blocks[:, :t] = tweaks
        return cls(
            encrypt=aes.update,
            first=np.frombuffer(aes.update(first), np.uint8),
            blocks=blocks,
            n_bytes=n_bytes,
            dtype=np.uint64 if most <= _LIMBS[-1][0] else int,
        )

    def __call__(self, i: int, half: NDArray[Any], modulus: int) -> NDArray[Any]:
        """Return y modulo the modulus, for each value."""
        self.blocks[:, -self.n_bytes - 1] = i
        self.blocks[:, -self.n_bytes :] = _as_bytes(half, self.n_bytes)
        state = np.broadcast_to(self.first, (len(half), _BLOCK))
        for start in range(0, self.blocks.shape[1], _BLOCK):
            state = self._aes(state ^ self.blocks[:, start : start + _BLOCK])
        d = 4 * -(-self.n_bytes // 4) + 4
        return _remainder(self._stretched(state, d)[:, :d], modulus)

    def _stretched(self, state: NDArray[np.uint8], d: int) -> NDArray[np.uint8]:
        """Return at least d bytes: R, and R with numbers from 1 on, encrypted."""
        parts = [state]
        for j in range(1, -(-d // _BLOCK)):
            number = np.frombuffer(j.to_bytes(_BLOCK, "big"), np.uint8)
            parts.append(self._aes(state ^ number))
        return np.concatenate(parts, axis=1)

    def _aes(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
        sent = np.ascontiguousarray(blocks)
        return np.frombuffer(self.encrypt(sent.data), np.uint8).reshape(-1, _BLOCK)


def _num(numerals: NDArray[Any], radices: Sequence[int], dtype: Any) -> NDArray[Any]:  # noqa: ANN401 # a dtype
    """Return the number that each row of numerals is."""
    whole = np.zeros(len(numerals), object if dtype is int else dtype)
    for column, radix in enumerate(radices):
        whole = whole * dtype(radix) + numerals[:, column].astype(whole.dtype)
    return whole


def _str(whole: NDArray[Any], radices: Sequence[int]) -> NDArray[np.uint8]:
    """Return the numerals of each number."""
    numerals = np.empty((len(whole), len(radices)), np.uint8)
    for column in range(len(radices) - 1, -1, -1):
        radix = whole.dtype.type(radices[column]) if whole.dtype != object else radices[column]
        numerals[:, column] = (whole % radix).astype(np.uint8)
        whole = whole // radix
    return numerals


def _as_bytes(whole: NDArray[Any], n_bytes: int) -> NDArray[np.uint8]:
    """Return the last bytes of each number, the highest first."""
    if whole.dtype == object:
        text = b"".join(int(it).to_bytes(n_bytes, "big") for it in whole)
        return np.frombuffer(text, np.uint8).reshape(-1, n_bytes)
    return whole.astype(">u8").view(np.uint8).reshape(-1, 8)[:, -n_bytes:]


def _remainder(texts: NDArray[np.uint8], modulus: int) -> NDArray[Any]:
    """Return each row of bytes, as a number, modulo the modulus."""
    for most, bits in _LIMBS:
        if modulus <= most:
            limbs = np.ascontiguousarray(texts).view(f">u{bits // 8}").astype(np.uint64)
            found = np.zeros(len(texts), np.uint64)
            for column in range(limbs.shape[1]):
                found = (found << np.uint64(bits) | limbs[:, column]) % np.uint64(modulus)
            return found
    return np.array([int.from_bytes(it.tobytes(), "big") % modulus for it in texts], object)

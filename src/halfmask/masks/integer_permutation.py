"""A keyed permutation of the integers of one width: what is written has the same type."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._random import KEY_BYTES, keyed_order
from halfmask.masks._ff1 import Ff1

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bits of an integer's size, without its sign.
_BITS: Final[dict[type[pl.DataType], int]] = {
    pl.Int8: 7, pl.Int16: 15, pl.Int32: 31, pl.Int64: 63,
    pl.UInt8: 8, pl.UInt16: 16, pl.UInt32: 32, pl.UInt64: 64,
}  # fmt: skip
#: Up to so many bits all values are put into a keyed order: FF1 needs a million of them.
_LISTED_BITS: Final = 16


def integer_bits(dtype: pl.DataType) -> int | None:
    """Return the bits of a type of integers without their sign; None for other types."""
    return _BITS.get(dtype.base_type())


@dataclass(frozen=True, slots=True)
class PermutedIntegers:
    """A plan that writes another integer of the same width and sign for each integer.

    Examples
    --------
    >>> plan = PermutedIntegers.of(pl.Int16(), bytes(32))
    >>> plan.apply(pl.Series("id", [1, None, 2, 1], dtype=pl.Int16), 0).n_unique()
    3
    """

    bits: int
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, dtype: pl.DataType, key: bytes) -> Self:
        """Return the plan for a type of integers."""
        bits = _BITS[dtype.base_type()]
        made = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"halfmask/integer")
        made.update(bits.to_bytes(1, "big"))
        return cls(bits, made.digest())

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        """Return the integers in the place of those of a column; see `MaskPlan`."""
        values = column.drop_nulls().unique()
        numbers = values.to_numpy()
        below = numbers < 0
        sizes = np.where(below, ~numbers, numbers).astype(np.uint64)
        beyond = int((sizes > np.uint64(2**self.bits - 1)).sum())
        if beyond:
            raise DataError(
                f"Column {column.name!r} has {beyond} different integers of more than "
                f"{self.bits} bits, for which its mask has no integer of the same width.",
                hint="Take the mask 'token' without 'integers'.",
            )
        for stream in (0, 1):  # negative integers have a permutation of their own
            rows = below == bool(stream)
            sizes[rows] = self._permuted(sizes[rows], stream)
        found = np.where(below, ~sizes, sizes).astype(numbers.dtype)
        made = pl.Series(found, dtype=column.dtype)
        return column.replace_strict(values, made, default=None, return_dtype=column.dtype)

    def _permuted(self, sizes: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
        if self.bits <= _LISTED_BITS:
            order = keyed_order(2**self.bits, key=self.key, stream=stream)
            return order[sizes.astype(np.intp)].astype(np.uint64)
        n_bytes = -(-self.bits // 8)
        first = 2 ** (self.bits - 8 * (n_bytes - 1))
        cipher = Ff1(self.key, [first, *[256] * (n_bytes - 1)])
        texts = sizes.astype(">u8").view(np.uint8).reshape(-1, 8)
        tweaks = np.full((len(sizes), 1), stream, np.uint8)
        found = np.zeros_like(texts)
        found[:, -n_bytes:] = cipher.encrypt(texts[:, -n_bytes:], tweaks)
        return found.view(">u8").reshape(-1).astype(np.uint64)

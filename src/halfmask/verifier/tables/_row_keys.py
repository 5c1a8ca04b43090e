"""One exact integer for each row: the same if and only if the rows agree in every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Ints: TypeAlias = NDArray[np.int64]

#: Keys stay below this.
KEY_LIMIT: Final = 2**62


def pack(spans: Sequence[int]) -> list[list[int]]:
    """Share columns out to words: the product of the spans in each stays in bounds.

    Examples
    --------
    >>> pack([2**40, 2**20, 2**10])
    [[0, 1], [2]]
    """
    packing: list[list[int]] = [[]]
    room = KEY_LIMIT
    for i, span in enumerate(spans):
        if span > room:
            packing.append([])
            room = KEY_LIMIT
        packing[-1].append(i)
        room //= span
    return packing


@dataclass(frozen=True, slots=True)
class RowKeys:
    """The key of each row, and the way back to the words that it was made from."""

    keys: Ints
    span: int
    steps: tuple[tuple[Ints, Ints | None], ...] = ()

    @classmethod
    def of(cls, words: Sequence[Ints], spans: Sequence[int]) -> Self:
        """Join words, each below its span, into one key."""
        joined = cls(words[0], spans[0])
        for word in words[1:]:
            left, left_of = np.unique(joined.keys, return_inverse=True)
            right, right_of = np.unique(word, return_inverse=True)
            span = len(left) * len(right)  # at most the square of the rows
            keys = left_of * len(right) + right_of
            joined = cls(keys, span, (*joined.steps, (left, right)))
        return joined

    def with_room_for(self, n: int) -> RowKeys:
        """Return keys that may be multiplied by ``n``, numbered again where they are too large."""
        if self.span <= KEY_LIMIT // max(n, 1):
            return self
        distinct, keys = np.unique(self.keys, return_inverse=True)
        return RowKeys(keys, len(distinct), (*self.steps, (distinct, None)))

    def words_of(self, keys: Ints) -> list[Ints]:
        """Return the words that these keys were made from."""
        words: list[Ints] = []
        for left, right in reversed(self.steps):
            if right is None:
                keys = left[keys]
            else:
                words.append(right[keys % len(right)])
                keys = left[keys // len(right)]
        return [keys, *reversed(words)]

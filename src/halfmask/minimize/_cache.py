"""A model that is asked of each row once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class CachedKeys:
    """A 64-bit number for each row's values, by which the model is asked of each row once.

    Sums of random numbers, one for each value of each column (Zobrist, "A new hashing method with
    application for game playing", 1970): changing one column changes the key by a difference.
    """

    def __init__(self, sizes: Sequence[int], random_state: int) -> None:
        rng = np.random.default_rng(random_state)
        self._words = [rng.integers(0, 2**64, size, dtype=np.uint64) for size in sizes]

    def of(self, codes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of rows, (n_columns, n_rows)."""
        keys = np.zeros(codes.shape[1], dtype=np.uint64)
        for words, column in zip(self._words, codes, strict=True):
            keys += words[column]
        return keys

    def moved(
        self, column: int, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return what one column's change adds to the keys."""
        words = self._words[column]
        return words[new] - words[old]


class AnswerCache:
    """A model with the answers that it gave."""

    def __init__(
        self, ask: Callable[[NDArray[np.int64]], NDArray[np.float64]], keys: CachedKeys
    ) -> None:
        self._ask, self.keys, self._cache = ask, keys, _AnswersByKey()

    def __call__(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the answers to rows."""
        return self.by_key(self.keys.of(codes), lambda rows: codes[:, rows])

    def by_key(
        self,
        keys: NDArray[np.uint64],
        codes_of: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.float64]:
        """Return the answers to rows whose keys are known."""
        distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
        known, answers = self._cache.find(distinct)
        if not known.all():
            new = self._ask(codes_of(first[~known]))
            self._cache.add(distinct[~known], new)
            answers[~known] = new
        return answers[place]


class _AnswersByKey:
    """The model's answers by key; emptied when it grows too large.

    Two sorted shelves: new answers go to a small one, which is put into the large one when it is
    full, because inserting into an array copies it.
    """

    SMALL = 1 << 15
    MOST = 1 << 22

    def __init__(self) -> None:
        self._large, self._small = _SortedAnswers(), _SortedAnswers()

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which keys are known, and their answers."""
        known, answers = self._large.find(keys)
        also, others = self._small.find(keys)
        answers[also] = others[also]
        return known | also, answers

    def add(self, keys: NDArray[np.uint64], answers: NDArray[np.float64]) -> None:
        """Remember the answers to keys in order, none of them known."""
        self._small.add(keys, answers)
        if len(self._small.keys) <= self.SMALL:
            return
        if len(self._large.keys) > self.MOST:
            self._large = _SortedAnswers()
        self._large.add(self._small.keys, self._small.answers)
        self._small = _SortedAnswers()


class _SortedAnswers:
    """Sorted keys and their answers."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, dtype=np.uint64)
        self.answers = np.zeros(0)

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which keys are here, and their answers."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[place] == keys, self.answers[place]

    def add(self, keys: NDArray[np.uint64], answers: NDArray[np.float64]) -> None:
        """Put keys in their places."""
        at = np.searchsorted(self.keys, keys)
        self.keys = np.insert(self.keys, at, keys)
        self.answers = np.insert(self.answers, at, answers)

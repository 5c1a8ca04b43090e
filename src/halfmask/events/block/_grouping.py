"""Columns of a block put together by cell: which slots belong together, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.events.block._values import Kind
from halfmask.events.stages._cells import distinct_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.events.block._quantities import Quantities
    from halfmask.events.block._values import Values
    from halfmask.events.stages._cells import Run

#: Which word a value has in common with its equals; None for what isn't counted.
Word: TypeAlias = "Callable[[Kind, bytes], str | None]"

_LOW = 30
_MOST_PRODUCT = 1 << 62


def number_rows(
    columns: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each distinct row of columns of numbers a number."""
    code = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        width = int(column.max(initial=-1)) + 2
        if size * width > _MOST_PRODUCT:
            _, code = np.unique(code, return_inverse=True)
            size = int(code.max(initial=0)) + 1
        code = code * width + column + 1
        size *= width
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return first, number


def number_runs(cells: NDArray[np.int64], numbers: Quantities) -> Iterator[tuple[int, Run]]:
    """Add the numbers of each cell up, exactly, those with the same places together."""
    used = np.flatnonzero(numbers.fits & (cells >= 0))
    if not len(used):
        return
    key = cells[used] * 19 + numbers.places[used]
    order = np.argsort(key, kind="stable")
    key, units = key[order], numbers.units[used][order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    counts = np.diff(starts, append=len(key)).tolist()
    # Two parts, so that a sum of many numbers of 18 digits doesn't run over.
    high = np.add.reduceat(units >> _LOW, starts).tolist()
    low = np.add.reduceat(units & ((1 << _LOW) - 1), starts).tolist()
    least = np.minimum.reduceat(units, starts).tolist()
    most = np.maximum.reduceat(units, starts).tolist()
    for at, (cell, places) in enumerate(divmod(each, 19) for each in key[starts].tolist()):
        total = (high[at] << _LOW) + low[at]
        yield cell, (places, counts[at], total, least[at], most[at])


def words_by_cell(
    cells: NDArray[np.int64], values: Values, *, word: Word = distinct_word
) -> Iterator[tuple[int, str]]:
    """Return each cell's different values, as words; no cell is -1."""
    codes, words = word_codes(values, word=word)
    used = np.flatnonzero((codes >= 0) & (cells >= 0))
    if not len(used):
        return
    pairs = np.unique(cells[used] * len(words) + codes[used])
    for pair in pairs.tolist():
        cell, code = divmod(pair, len(words))
        yield cell, words[code]


def word_codes(
    values: Values, *, word: Word = distinct_word
) -> tuple[NDArray[np.int64], list[str]]:
    """Give each different value, as a word, a number; -1 where there is none."""
    codes, tokens = values.distinct()
    numbers: dict[str, int] = {}
    given = []
    for kind, token in tokens:
        found = word(Kind(kind), token)
        given.append(-1 if found is None else numbers.setdefault(found, len(numbers)))
    return np.array([*given, -1], np.int64)[codes], list(numbers)

"""Sets of columns that single people out, found by counting."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.description.thresholds import SINGLES_OUT

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

LARGEST_SET = 5
MAX_COLUMNS = 40
MAX_ROWS = 250_000
MAX_ROWS_TOGETHER = 50_000
# So many sets grow by one more column: the most singling of those below the threshold.
BEAM = 12
# So many sets of each size are reported, the most singling ones.
MAX_SETS = 8
# At so many sets a column is tried that was left out of the search.
ANCHORS = 3
# Counting by table costs its length; up to so many cells it beats a sort.
TABLE = 4_000_000


@dataclass(frozen=True, slots=True)
class SinglingOut:
    """A set of columns, and the share of rows that are unique on them, 0 to 1.

    Parameters
    ----------
    columns
        The names of the columns.
    share_unique
        The share of rows that no other row equals on them.
    """

    columns: tuple[str, ...]
    share_unique: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Singling:
    """What counting found."""

    sets: tuple[SinglingOut, ...]
    gains: dict[str, float]
    rows: int
    columns: int


def single_out(frame: pl.DataFrame, names: Sequence[str]) -> Singling:
    """Find minimal sets of columns that single rows out.

    All single columns and all pairs are counted, exactly; larger sets grow greedily from the
    pairs that come nearest. So every set that is reported is real, and larger ones may be missed.
    """
    rows = _thin_rows(frame)
    coded = {name: codes_of(rows[name]) for name in names}
    widest = sorted(coded, key=lambda name: -coded[name][1])[:MAX_COLUMNS]
    search = _Search({name: coded[name] for name in names if name in widest}, rows.height)
    search.run()
    gains = {name: search.gain(coded[name]) for name in names if name not in search.codes}
    found: list[tuple[tuple[str, ...], float]] = []
    for size in range(1, LARGEST_SET + 1):
        of_size = [item for item in search.found.items() if len(item[0]) == size]
        found += sorted(of_size, key=lambda item: -item[1])[:MAX_SETS]
    return Singling(
        sets=tuple(SinglingOut(names, share) for names, share in found),
        gains=gains | search.gains,
        rows=rows.height,
        columns=len(search.codes),
    )


def share_unique(frame: pl.DataFrame, names: Sequence[str]) -> float:
    """Return the share of rows that no other row equals on the named columns, in [0, 1]."""
    rows = _thin_rows(frame)
    return _count_share_unique([codes_of(rows[name]) for name in names], rows.height)


def single_out_together(frame: pl.DataFrame, names: Sequence[str]) -> tuple[float, list[str]]:
    """Find the columns to generalize so that the others no longer single rows out together."""
    rows = frame.gather_every(max(-(-frame.height // MAX_ROWS_TOGETHER), 1))
    coded = {name: codes_of(rows[name]) for name in names}
    left = sorted(coded, key=lambda name: _entropy(coded[name][0]))
    first = share = _count_share_unique([coded[name] for name in left], rows.height)
    found = []
    while share >= SINGLES_OUT:
        found.append(left.pop())
        share = _count_share_unique([coded[name] for name in left], rows.height)
    return first, found


def _entropy(codes: NDArray[np.int64]) -> float:
    shares = np.bincount(codes) / len(codes)
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


class _Search:
    """Counts sets of columns, small ones first, and remembers what was found."""

    def __init__(self, codes: dict[str, tuple[NDArray[np.int64], int]], rows: int) -> None:
        self.codes = codes
        self.rows = rows
        self.shares: dict[tuple[str, ...], float] = {(): 0.0}
        self.found: dict[tuple[str, ...], float] = {}
        self.gains = dict.fromkeys(codes, 0.0)
        self.nearest: list[tuple[str, ...]] = [()]

    def run(self) -> None:
        grown: list[tuple[str, ...]] = [(name,) for name in self.codes]
        for size in range(1, LARGEST_SET + 1):
            below = []
            for names in grown:
                if self._has_found_part(names):
                    continue
                share = self._count(names)
                if share >= SINGLES_OUT:
                    self.found[names] = share
                else:
                    below.append(names)
            best = sorted(below, key=self.shares.__getitem__, reverse=True)
            grown = list(self._grow(best if size == 1 else best[:BEAM]))
        below_all = [names for names in self.shares if names not in self.found]
        self.nearest = sorted(below_all, key=self.shares.__getitem__)[-ANCHORS:]

    def gain(self, column: tuple[NDArray[np.int64], int]) -> float:
        """Return by how much a column that was left out raises the best sets' shares, at most."""
        return max(
            _count_share_unique([*(self.codes[name] for name in names), column], self.rows)
            - self.shares[names]
            for names in self.nearest
        )

    def _grow(self, sets: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """Yield each set with each further column, once, columns in their own order."""
        order = {name: i for i, name in enumerate(self.codes)}
        yield from dict.fromkeys(
            tuple(sorted((*names, name), key=order.__getitem__))
            for names in sets
            for name in self.codes
            if name not in names
        )

    def _has_found_part(self, names: tuple[str, ...]) -> bool:
        return any(
            part in self.found
            for size in range(1, len(names))
            for part in itertools.combinations(names, size)
        )

    def _count(self, names: tuple[str, ...]) -> float:
        share = _count_share_unique([self.codes[name] for name in names], self.rows)
        self.shares[names] = share
        for name in names:
            part = tuple(other for other in names if other != name)
            if part in self.shares:
                self.gains[name] = max(self.gains[name], share - self.shares[part])
        return share


def _thin_rows(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.gather_every(max(-(-frame.height // MAX_ROWS), 1))


def codes_of(values: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Return a number for each row's value, missing being one, and how many there are."""
    hashes = values.hash(seed=0).to_numpy()
    different, codes = np.unique(hashes, return_inverse=True)
    return codes.astype(np.int64), len(different)


def _count_share_unique(columns: list[tuple[NDArray[np.int64], int]], rows: int) -> float:
    """Return the share of rows whose combination of codes no other row has."""
    if not rows or not columns:
        return 0.0
    key, size = columns[0]
    for codes, n in columns[1:]:
        if size * n >= 2**62:
            different, key = np.unique(key, return_inverse=True)
            size = len(different)
        key, size = key * n + codes, size * n
    if size <= TABLE:
        return float(np.count_nonzero(np.bincount(key, minlength=1) == 1) / rows)
    key = np.sort(key)
    new = np.concatenate(([True], key[1:] != key[:-1], [True]))
    return float(np.count_nonzero(new[1:] & new[:-1]) / rows)

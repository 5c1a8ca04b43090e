"""Count the rows that few others equal on sets of columns, batch by batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.assess.risk._column_sets import ColumnSetRisk

Keys: TypeAlias = NDArray[np.uint64]

#: Keys of 8 bytes that are held at once, those of all sets together: half a gigabyte.
MAX_KEYS = 1 << 26
#: What a search for the worst sets may sort: rows times pairs of columns.
SEARCH_KEYS = 2_000_000
SEARCH_COLUMNS = 24
#: So many sets of each size are named.
NAMED_SETS = 2
LARGEST_SET = 3
#: A larger set is named if it puts so many more of the rows under k than its parts.
MIN_GAIN = 0.01
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
_SHIFT = np.uint64(29)


class ColumnSetCounter:
    """Counts the rows of classes under k on sets of columns, over batches of a table.

    Rows are compared by hashes of 64 bits. That two of ten million different rows have the same
    hash has a probability of 3 in a million. Where the keys of all rows would take more than half
    a gigabyte, a random part of the classes is counted and the counts are scaled up.

    Parameters
    ----------
    sets
        The sets of columns.
    rows
        How many rows the batches have together.
    k
        The class size that is asked for.

    Examples
    --------
    >>> counter = ColumnSetCounter([("pay",), ("pay", "town")], rows=3, k=2)
    >>> counter.add(pl.DataFrame({"pay": [1, 1, 2], "town": ["a", "b", "b"]}))
    >>> [risk.unique for risk in counter.risks()]
    [1, 3]
    """

    def __init__(self, sets: Sequence[Sequence[str]], *, rows: int, k: int) -> None:
        self.sets = [tuple(names) for names in sets]
        self.rows, self.k = rows, k
        self.parts = -(-rows * len(self.sets) // MAX_KEYS)
        self._keys: list[list[Keys]] = [[] for _ in self.sets]

    @property
    def exact(self) -> bool:
        """Whether all classes are counted."""
        return self.parts <= 1

    def add(self, batch: pl.DataFrame) -> None:
        """Count one batch.

        Parameters
        ----------
        batch
            Some rows, with the counted columns.
        """
        self.hold(self.keys_of(batch))

    def keys_of(self, batch: pl.DataFrame) -> list[Keys]:
        """Return the keys of a batch for each set, which another process may do.

        Parameters
        ----------
        batch
            Some rows, with the counted columns.
        """
        hashes = _hashes(batch, dict.fromkeys(itertools.chain(*self.sets)))
        below = np.uint64((1 << 64) // max(self.parts, 1) - 1)
        found = (_keys(hashes, names) for names in self.sets)
        return [keys if self.exact else keys[keys <= below] for keys in found]

    def hold(self, keys: Sequence[Keys]) -> None:
        """Count the keys of one batch.

        Parameters
        ----------
        keys
            As of `keys_of`.
        """
        for held, found in zip(self._keys, keys, strict=True):
            held.append(found)

    def risks(self) -> list[ColumnSetRisk]:
        """Return what was counted for each set."""
        risks = []
        for held, names in zip(self._keys, self.sets, strict=True):
            keys = np.concatenate(held)
            held[:] = [keys]
            scale = 1.0 if self.exact else self.rows / max(len(keys), 1)
            unique, under = (round(each * scale) for each in _rare(keys, self.k))
            risks.append(ColumnSetRisk(columns=names, rows=self.rows, unique=unique, under_k=under))
        return risks


def worst_sets(sample: pl.DataFrame, *, k: int) -> list[tuple[str, ...]]:
    """Find the sets of one to three columns that put most rows of a sample under k.

    All single columns are counted, and all pairs of the 24 columns with the most rows under k.
    Threes grow from the worst pairs. Two sets of each size are returned, and larger ones only if
    they add to their parts.

    Parameters
    ----------
    sample
        Rows drawn at random, with the columns to search.
    k
        The class size that is asked for.
    """
    names = sample.columns
    searched = min(len(names), SEARCH_COLUMNS)
    pairs = max(searched * (searched - 1) // 2, 1)
    rows = sample.gather_every(max(-(-sample.height * pairs // SEARCH_KEYS), 1))
    hashes = _hashes(rows, names)
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    wanted: Iterable[tuple[str, ...]] = [(name,) for name in names]
    best: list[tuple[str, ...]] = []
    for size in range(1, LARGEST_SET + 1):
        counted = {names: _rare(_keys(hashes, names), k) for names in wanted}
        worst = sorted(counted, key=lambda it: counted[it][::-1], reverse=True)
        best += [it for it in worst if _adds(it, counted[it][1], found, rows.height)][:NAMED_SETS]
        found |= counted
        # If nearly all rows of a set are under k, a larger set adds nothing.
        open_sets = [it for it in worst if counted[it][1] < (1 - MIN_GAIN) * rows.height]
        wanted = _grown(open_sets[: SEARCH_COLUMNS if size == 1 else 2 * NAMED_SETS], names)
    return best


def _adds(
    names: tuple[str, ...], under: int, found: Mapping[tuple[str, ...], tuple[int, int]], rows: int
) -> bool:
    """Return whether a set puts enough rows under k that no part of it that was counted does."""
    parts = [found[part] for part in itertools.combinations(names, len(names) - 1) if part in found]
    most = max((each[1] for each in parts), default=0)
    return under > 0 and (not parts or under - most >= MIN_GAIN * rows)


def _grown(sets: Sequence[tuple[str, ...]], order: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each set with each further column, once; singles with one another."""
    singles = [names[0] for names in sets if len(names) == 1]
    place = {name: i for i, name in enumerate(order)}
    grown = (
        tuple(sorted((*names, name), key=place.__getitem__))
        for names in sets
        for name in singles or order
        if name not in names
    )
    return list(dict.fromkeys(grown))


def _hashes(frame: pl.DataFrame, names: Iterable[str]) -> dict[str, Keys]:
    return {name: _hashable(frame[name]).hash(seed=0).to_numpy() for name in names}


def _hashable(values: pl.Series) -> pl.Series:
    """Return values that hash alike only if they look alike in the file."""
    if values.dtype.is_float():
        # 0.0 and -0.0 stand in the file as two values.
        return values.cast(pl.Float64).reinterpret(dtype=pl.UInt64)
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)  # their codes differ from batch to batch
    return values


def _keys(hashes: Mapping[str, Keys], names: Sequence[str]) -> Keys:
    """Mix the hashes of a row's cells into one (multiply and shift, as SplitMix64 does)."""
    mixed = hashes[names[0]]
    for name in names[1:]:
        mixed = (mixed ^ (mixed >> _SHIFT)) * _FACTORS[0] + hashes[name]
        mixed = (mixed ^ (mixed >> _SHIFT)) * _FACTORS[1]
    return mixed


def _rare(keys: Keys, k: int) -> tuple[int, int]:
    """Return the rows whose key no other row has, and those whose key fewer than k rows have."""
    ordered = np.sort(keys)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(starts, append=len(ordered)) if len(ordered) else starts[:0]
    return int(np.count_nonzero(sizes == 1)), int(sizes[sizes < k].sum())

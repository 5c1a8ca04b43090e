"""Risk over columns that no class covers: rows that few others equal on a set, counted by batch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._facts import Facts
from halfmask._validation import integer_at_least
from halfmask.assess._risk import listed, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Below this share the number of rows is clearer than a percentage.
FEW_SHARE = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSetRisk(Facts):
    """How many rows few others equal on a set of released columns.

    Parameters
    ----------
    columns
        The columns that the attacker knows of a person, as the release holds them.
    rows
        The rows of the release.
    unique
        The rows that no other row equals on these columns.
    under_k
        The rows that fewer than k - 1 others equal, unique ones included.
    """

    facts = ("columns", "unique", "under_k", "share_unique", "share_under_k")

    columns: tuple[str, ...]
    rows: int
    unique: int
    under_k: int

    @property
    def share_unique(self) -> float:
        """The share of rows that are unique, in [0, 1]."""
        return self.unique / self.rows

    @property
    def share_under_k(self) -> float:
        """The share of rows in classes under k, in [0, 1]."""
        return self.under_k / self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumnsRisk(Facts):
    """The risk from an attacker who knows columns that are released unchanged.

    Parameters
    ----------
    k
        The class size that is asked for: that of k-anonymity, 2 where the policy has none.
    exact
        Whether all rows were counted. ``False``: estimated on a random part of the classes.
    every
        The risk over all released columns together.
    unchanged
        The risk over all columns that are released unchanged; ``None`` where there are none.
    few
        The sets of one to three unchanged columns that single out most rows, small sets first.
        Each count is of all rows; that there is no worse set of two or three is a search's result.
    masked
        Whether some of these columns are behind a mask.
    """

    facts = ("k", "exact", "every", "unchanged", "few")

    k: int
    exact: bool
    every: ColumnSetRisk
    unchanged: ColumnSetRisk | None
    few: tuple[ColumnSetRisk, ...]
    masked: bool = False

    def __post_init__(self) -> None:
        integer_at_least(2, owner="ReleasedColumnsRisk", k=self.k)

    @property
    def treatment(self) -> str:
        """How the columns that no class covers are released, in words."""
        return "released unchanged or masked" if self.masked else "released unchanged"

    @property
    def singles_out(self) -> bool:
        """Whether a row is in a class under k on the unchanged columns."""
        return self.unchanged is not None and self.unchanged.under_k > 0

    @property
    def worst(self) -> ColumnSetRisk | None:
        """The small set that singles out most; if several do, the smallest."""
        return max(self.few, key=lambda it: (it.unique, it.under_k, -len(it.columns)), default=None)

    @property
    def warning(self) -> str | None:
        """The worst in one sentence; ``None`` where each row is in a class of k."""
        if self.unchanged is None or not self.singles_out:
            return None
        unique = self.unchanged.unique > 0
        counts = [
            (each.columns, each.unique if unique else each.under_k)
            for each in (self.worst, self.unchanged)
            if each is not None
        ]
        return singling_out_sentence(
            counts,
            total=self.unchanged.rows,
            k=None if unique else self.k,
            exact=self.exact,
            treatment=self.treatment,
        )

    @property
    def advice(self) -> str | None:
        """What to do about columns that single people out; ``None``: nothing."""
        if self.unchanged is None or not self.singles_out:
            return None
        alone = [each.columns[0] for each in self.few if len(each.columns) == 1 and each.under_k]
        guilty = alone or (self.worst or self.unchanged).columns
        them, their = ("it", "its") if len(guilty) == 1 else ("them", "their")
        named = listed([repr(name) for name in guilty])
        verb = "Coarsen" if self.masked else "Round"
        return (
            f"{verb} {named}, merge {their} rare values before protect, generalize {them} "
            f"(role quasi_identifier), or drop {them} (role identifier)."
        )

    @property
    def sets(self) -> tuple[ColumnSetRisk, ...]:
        """All sets that were counted."""
        whole = () if self.unchanged is None else (self.unchanged,)
        return (self.every, *whole, *self.few)


def singling_out_sentence(
    counts: Sequence[tuple[Sequence[str], int]],
    *,
    total: int,
    k: int | None,
    exact: bool = True,
    unit: str = "row",
    treatment: str = "released unchanged",
) -> str:
    """Say how many rows or events unchanged columns single out.

    Examples
    --------
    >>> counts = [(["pay"], 25), (["pay", "town", "job"], 100)]
    >>> print(singling_out_sentence(counts, total=100, k=None))
    25 % of the rows are unique on pay alone, 100 % on all 3 columns that are released unchanged. An
    attacker who knows these values finds the row; the guarantees cover quasi-identifiers only.
    """
    *few, (whole, most) = counts
    parts = [(count, _named(columns)) for columns, count in few if count]
    if not few or tuple(few[0][0]) != tuple(whole):
        parts.append((most, _whole(whole, treatment)))
    alone = "unique" if k is None else f"in classes under k = {k}"
    (count, where), *others = parts
    first = f"{_amount(count, total, unit, exact=exact)} {alone} on {where}"
    rest = [f"{_share(other, total, exact=exact)} on {place}" for other, place in others]
    sentence = ", ".join((first, *rest))
    return (
        f"{sentence[0].upper()}{sentence[1:]}. An attacker who knows these values finds the "
        f"{unit}; the guarantees cover quasi-identifiers only."
    )


def _amount(count: int, total: int, unit: str, *, exact: bool) -> str:
    """Say a share of the units, or how many where they are few."""
    if count < FEW_SHARE * total and exact:
        return f"1 {unit} is" if count == 1 else f"{count:,} {unit}s are"
    return f"{_share(count, total, exact=exact)} of the {unit}s are"


def _share(count: int, total: int, *, exact: bool) -> str:
    if count < FEW_SHARE * total and exact:
        return f"{count:,}"
    return f"{'' if exact else 'about '}{percent(count / total)}"


def _named(columns: Sequence[str]) -> str:
    return f"{columns[0]} alone" if len(columns) == 1 else listed(columns)


def _whole(columns: Sequence[str], treatment: str) -> str:
    if len(columns) == 1:
        return f"{columns[0]}, which is {treatment}"
    return f"all {len(columns)} columns that are {treatment}"


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
        """Count one batch."""
        self.hold(self.keys_of(batch))

    def keys_of(self, batch: pl.DataFrame) -> list[Keys]:
        """Return the keys of a batch for each set, which another process may do."""
        hashes = _hashes(batch, dict.fromkeys(itertools.chain(*self.sets)))
        below = np.uint64((1 << 64) // max(self.parts, 1) - 1)
        found = (_keys(hashes, names) for names in self.sets)
        return [keys if self.exact else keys[keys <= below] for keys in found]

    def hold(self, keys: Sequence[Keys]) -> None:
        """Count the keys of one batch."""
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

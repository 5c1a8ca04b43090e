"""Tables of one, two and three columns: how far those of two samples are apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halfmask._facts import Facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Ints
    from halfmask.assess.masking.pairs import ColumnPair

#: Amounts are cut at quantiles into so many bins; of categories so many are separate.
BINS = 8
#: Of more sets of columns than this, a sample is compared.
MOST_SETS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalDistance(Facts):
    """How far tables of some columns are apart.

    Parameters
    ----------
    columns, tables
        How many columns a table has, and how many tables were compared.
    mean, largest
        The total variation distance, in [0, 1]: the share of rows that would have to move.
    worst
        The columns of the table that is farthest apart.
    by_chance
        The mean distance of rows that weren't learnt from; ``None`` without any.
    """

    columns: int
    tables: int
    mean: float
    largest: float
    worst: tuple[str, ...]
    by_chance: float | None


def marginal_distances(
    pairs: Sequence[ColumnPair], control: Sequence[ColumnPair] | None, *, random_state: int
) -> tuple[MarginalDistance, ...]:
    """Compare all tables of one, two and three columns.

    Parameters
    ----------
    pairs
        The columns of the original and the synthetic table.
    control
        The same columns of the original and of rows that weren't learnt from.
    random_state
        Which tables are compared where there are more than 300.

    Notes
    -----
    Amounts are cut into 8 bins at quantiles of the original; the 7 most frequent categories are
    separate, and all others are one. Missing is a bin of its own. More rows make
    tables agree better by chance: `by_chance` is of as many rows as the control has.
    """
    ours = [binned(pair) for pair in pairs]
    theirs = None if control is None else [binned(pair) for pair in control]
    rng = np.random.default_rng(random_state)
    found = []
    for size in range(1, min(3, len(pairs)) + 1):
        sets = list(combinations(range(len(pairs)), size))
        if len(sets) > MOST_SETS:
            sets = [sets[i] for i in np.sort(rng.choice(len(sets), MOST_SETS, replace=False))]
        apart = np.array([_distance([ours[i] for i in one]) for one in sets])
        chance = None
        if theirs is not None:
            chance = float(np.mean([_distance([theirs[i] for i in one]) for one in sets]))
        found.append(
            MarginalDistance(
                columns=size,
                tables=len(sets),
                mean=float(apart.mean()),
                largest=float(apart.max()),
                worst=tuple(pairs[i].name for i in sets[int(apart.argmax())]),
                by_chance=chance,
            )
        )
    return tuple(found)


def binned(pair: ColumnPair) -> tuple[Ints, Ints]:
    """Return both columns in bins of the original's, 0 for missing."""
    known = pair.original[~np.isnan(pair.original)]
    if not len(known):
        return tuple(np.isnan(each).astype(np.int64) for each in (pair.original, pair.masked))  # type: ignore[return-value] # two
    if pair.is_number:
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
        both = [np.searchsorted(edges, each, side="left") for each in (pair.original, pair.masked)]
    else:
        codes, counts = np.unique(known, return_counts=True)
        common = np.sort(codes[np.argsort(-counts, kind="stable")[: BINS - 1]])
        both = []
        for each in (pair.original, pair.masked):
            places = np.minimum(np.searchsorted(common, each), len(common) - 1)
            both.append(np.where(common[places] == each, places, BINS - 1))
    missing = [np.isnan(each) for each in (pair.original, pair.masked)]
    first, second = (
        np.where(gone, 0, bins + 1).astype(np.int64)
        for gone, bins in zip(missing, both, strict=True)
    )
    return first, second


def _distance(columns: Sequence[tuple[Ints, Ints]]) -> float:
    shares = []
    for side in (0, 1):
        keys = np.zeros(len(columns[0][side]), dtype=np.int64)
        for column in columns:
            keys = keys * (BINS + 1) + column[side]
        counts = np.bincount(keys, minlength=(BINS + 1) ** len(columns))
        shares.append(counts / max(1, counts.sum()))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)

"""How far a release is from its table, cells that stand for several values spread over them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.tables._matching import FOREIGN, match
from halfmask.assess.synthesis.quality import BINS, MarginalDistance

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks.tables._matching import Matched
    from halfmask.data import Hierarchy


def spread_distances(
    original: pl.DataFrame, released: pl.DataFrame, trees: Mapping[str, Hierarchy]
) -> tuple[dict[str, float], MarginalDistance | None]:
    """Return how far each released column is from the table, and each two columns.

    A range or set counts in equal parts for each value of the table that it holds, as in the KL
    divergence of classes: so classes, masks and synthetic rows are measured alike. The bins are
    those of `marginal_distances`; what is missing is a bin of its own.
    """
    names = [name for name in released.columns if name in original.columns]
    both = [_both(match(it, released[it], [original[it]], trees.get(it)), original) for it in names]
    alone = [_apart(*(side.mean(axis=0) for side in each)) for each in both]
    pairs = list(combinations(range(len(names)), 2))
    apart = [_apart(*(a.T @ b / len(a) for a, b in zip(both[i], both[j], strict=True)))
             for i, j in pairs]  # fmt: skip
    found = dict(zip(names, alone, strict=True))
    if not apart:
        return found, None
    worst = int(np.argmax(apart))
    return found, MarginalDistance(
        columns=2,
        tables=len(pairs),
        mean=float(np.mean(apart)),
        largest=apart[worst],
        worst=tuple(names[place] for place in pairs[worst]),
        by_chance=None,
    )


def _apart(before: Floats, after: Floats) -> float:
    return float(np.abs(before - after).sum() / 2)


def _both(column: Matched, original: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return the part of each row in each bin, before and after; the first bin is missing."""
    known = column.known(original[column.name])
    values = np.unique(known[~np.isnan(known)])
    bin_of_value = _bins(known, values, is_number=column.is_number)
    missing = np.isnan(known)
    places = np.searchsorted(values, np.where(missing, 0.0, known))
    before = np.zeros((len(known), BINS + 1))
    if len(values):
        bins = bin_of_value[np.minimum(places, len(values) - 1)]
        before[np.arange(len(known)), np.where(missing, 0, bins)] = 1.0
    else:
        before[:, 0] = 1.0
    return before, _after(column, values, bin_of_value)


def _bins(known: Floats, values: Floats, *, is_number: bool) -> Ints:
    """Return the bin of each value, from 1: by quantiles, or the most frequent ones each alone."""
    there = known[~np.isnan(known)]
    if is_number and len(there):
        edges = np.unique(np.quantile(there, np.arange(1, BINS) / BINS))
        return np.searchsorted(edges, values, side="left") + 1
    counts = np.bincount(np.searchsorted(values, there), minlength=len(values))
    bins = np.full(len(values), BINS, dtype=np.int64)
    common = np.argsort(-counts, kind="stable")[: BINS - 1]
    bins[common] = np.arange(1, len(common) + 1)
    return bins


def _after(column: Matched, values: Floats, bin_of_value: Ints) -> Floats:
    """Return the part of each released row in each bin."""
    cells = column.cells
    one_hot = np.eye(BINS + 1)[bin_of_value]
    if not len(values):
        return np.eye(BINS + 1)[np.zeros(len(cells), dtype=np.int64)]
    if column.is_number:
        first = np.searchsorted(values, cells.low, side="left")
        last = np.searchsorted(values, cells.high, side="right")
        # What lies between values, as noise does, counts for the next one.
        first = np.where(first == last, np.minimum(first, len(values) - 1), first)
        last = np.maximum(last, first + 1)
        summed = np.vstack([np.zeros(BINS + 1), np.cumsum(one_hot, axis=0)])
        found = (summed[last] - summed[first]) / (last - first)[:, None]
    else:
        codes = values.astype(np.int64)
        of_sets = (
            cells.sets[:, codes] @ one_hot / np.maximum(cells.sets[:, codes].sum(1), 1)[:, None]
        )
        foreign = np.eye(BINS + 1)[BINS][None]
        of_label = np.vstack([one_hot, of_sets, foreign, one_hot.mean(axis=0, keepdims=True)])
        place = np.searchsorted(codes, cells.codes)
        place = np.where(cells.codes <= -2, len(codes) - 2 - cells.codes, place)
        place = np.where(cells.codes == FOREIGN, len(codes) + len(of_sets), place)
        found = of_label[np.where(cells.silent, len(of_label) - 1, place)]
    found[cells.null] = np.eye(BINS + 1)[0]
    return np.asarray(found)

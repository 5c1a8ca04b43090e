"""Models fitted to the columns of both tables: separation of rows, and a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask.assess.masking.pairs import (
    ColumnPair,
    propensity_features,
    regression_features,
)
from halfmask.assess.utility import (
    IntervalOverlap,
    PropensityFit,
    interval_overlap,
    propensity_mse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: The most rows of each table that models separate, and that a regression is fitted to.
PROPENSITY_ROWS, REGRESSION_ROWS = 10_000, 100_000
CONFIDENCE = 0.95


def _sampled(
    pairs: Sequence[ColumnPair], owners: NDArray[np.int64], most: int, random_state: int
) -> tuple[ColumnPair, ...]:
    """Return so many rows at most; the same people in both tables where both are complete."""
    rng = np.random.default_rng(random_state)
    n_before, n_after = len(pairs[0].original), len(pairs[0].masked)
    masked = np.sort(rng.permutation(n_after)[:most])
    original = owners[masked]
    if n_after < n_before:
        original = np.sort(rng.permutation(n_before)[:most])
    return tuple(
        ColumnPair(
            name=pair.name,
            is_number=pair.is_number,
            original=pair.original[original],
            masked=pair.masked[masked],
        )
        for pair in pairs
    )


def separation(
    pairs: Sequence[ColumnPair], owners: NDArray[np.int64], random_state: int
) -> tuple[PropensityFit, ...]:
    """Return how well a logistic model and a tree separate the masked rows."""
    some = _sampled(pairs, owners, PROPENSITY_ROWS, random_state)
    return (
        propensity_mse(
            *propensity_features(some, curved=True), model="logistic", random_state=random_state
        ),
        propensity_mse(
            *propensity_features(some, curved=False), model="cart", random_state=random_state
        ),
    )


def regression_target(name: str | None, pairs: Sequence[ColumnPair]) -> ColumnPair | None:
    """Return the target of the regression; None where there is none."""
    if name is None:
        return next((pair for pair in pairs if pair.is_number and pair.varies), None)
    found = [pair for pair in pairs if pair.name == name]
    if not found:
        raise ColumnNotFoundError.of(
            [name], [pair.name for pair in pairs], where="the compared columns"
        )
    return found[0] if found[0].varies else None


def regression_overlap(
    pairs: Sequence[ColumnPair], aim: ColumnPair, owners: NDArray[np.int64], random_state: int
) -> IntervalOverlap | None:
    """Return the overlap of intervals; None where the original can't be fitted."""
    some = _sampled(pairs, owners, REGRESSION_ROWS, random_state)
    target = next(pair for pair in some if pair.name == aim.name)
    others = [pair for pair in some if pair.name != aim.name]
    if not others:
        return None
    x, z = regression_features(others)
    y, w = (target.original, target.masked) if target.is_number else _most_frequent(target)
    try:
        return interval_overlap((x, y), (z, w), confidence=CONFIDENCE)
    except DataError:
        return None


def _most_frequent(pair: ColumnPair) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 1 for the most frequent category and 0 for the others; NaN where missing."""
    codes = pair.original[~np.isnan(pair.original)].astype(np.int64)
    most = int(np.bincount(codes).argmax())
    before, after = (
        np.where(np.isnan(each), np.nan, (each == most).astype(np.float64))
        for each in (pair.original, pair.masked)
    )
    return before, after

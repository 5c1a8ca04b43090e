"""Columns of a table before and after masking as numbers, and models fitted to both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask.assess.attacks.tables._matching import match
from halfmask.assess.utility import (
    IntervalOverlap,
    PropensityFit,
    correlation_change,
    cramers_v_change,
    interval_overlap,
    propensity_mse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints


#: A model sees so many categories of a column, the most frequent ones; the others are one.
PROPENSITY_CATEGORIES, REGRESSION_CATEGORIES = 20, 10
#: Squares and products are made of so many columns of numbers, changed ones first.
MAX_CURVED = 12
#: A column with more missing original cells is no feature of the regression.
MAX_MISSING = 0.5
#: Columns of more categories say nothing by a table of two of them.
MAX_CATEGORIES = 50


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ColumnPair:
    """One column of the original and of the masked table."""

    name: str
    is_number: bool
    original: NDArray[np.float64]
    masked: NDArray[np.float64]

    @property
    def varies(self) -> bool:
        """Whether the original has more than one value."""
        there = self.original[~np.isnan(self.original)]
        return bool(len(there)) and bool((there != there[0]).any())

    def dummies(self, most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a 0 or 1 for each of the most frequent categories but the first, and missing."""
        codes = self.original[~np.isnan(self.original)].astype(np.int64)
        counts = np.bincount(codes)
        common = np.argsort(-counts, kind="stable")[: min(most, int((counts > 0).sum()))]
        return _indicators(self.original, common[1:]), _indicators(self.masked, common[1:])

    def standardised(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return numbers less the original mean, in original standard deviations."""
        there = self.original[~np.isnan(self.original)]
        centre, spread = float(there.mean()), float(there.std())
        return (self.original - centre) / spread, (self.masked - centre) / spread


def column_pairs(
    original: pl.DataFrame, masked: pl.DataFrame, columns: Sequence[str]
) -> tuple[ColumnPair, ...]:
    """Return the columns of both tables, read by the type of the original."""
    pairs = []
    for name in columns:
        column = match(name, masked[name], [original[name]])
        pairs.append(
            ColumnPair(
                name=name,
                is_number=column.is_number,
                original=column.known(original[name]),
                masked=column.as_known(),
            )
        )
    return tuple(pairs)


def has_few_categories(pair: ColumnPair) -> bool:
    """Return whether a column has few enough categories to be compared with another."""
    there = pair.original[~np.isnan(pair.original)]
    return bool(len(there)) and int(there.max()) < MAX_CATEGORIES


def stacked_columns(pairs: Sequence[ColumnPair]) -> tuple[Floats, Floats]:
    """Return columns of both tables as (rows, columns)."""
    if not pairs:
        return np.empty((0, 0)), np.empty((0, 0))
    return (
        np.column_stack([pair.original for pair in pairs]),
        np.column_stack([pair.masked for pair in pairs]),
    )


def propensity_features(
    pairs: Sequence[ColumnPair], *, curved: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features of all rows of both tables for a model that separates them."""
    numbers = [pair for pair in pairs if pair.is_number and pair.varies]
    parts = [_filled(pair) for pair in numbers]
    if curved:
        # An unchanged column can't separate by its own square.
        changed = sorted(numbers, key=lambda pair: np.array_equal(pair.original, pair.masked))
        parts += _products([_filled(pair) for pair in changed[:MAX_CURVED]])
    parts += [_gaps(pair) for pair in numbers]
    parts += [pair.dummies(PROPENSITY_CATEGORIES) for pair in pairs if not pair.is_number]
    return _joined(parts, pairs)


def regression_features(pairs: Sequence[ColumnPair]) -> tuple[Floats, Floats]:
    """Return the features of all rows of both tables for a regression; NaN where missing."""
    kept = [pair for pair in pairs if np.isnan(pair.original).mean() <= MAX_MISSING]
    parts = [
        _as_columns(*pair.standardised()) if pair.is_number else pair.dummies(REGRESSION_CATEGORIES)
        for pair in kept
        if pair.varies
    ]
    return _joined(parts, pairs)


def _indicators(values: Floats, codes: Ints) -> Floats:
    missing = np.isnan(values)[:, None]
    return np.hstack([values[:, None] == codes[None, :], missing]).astype(np.float64)


def _as_columns(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
    return original[:, None], masked[:, None]


def _filled(pair: ColumnPair) -> tuple[Floats, Floats]:
    before, after = pair.standardised()
    return _as_columns(np.nan_to_num(before), np.nan_to_num(after))


def _gaps(pair: ColumnPair) -> tuple[Floats, Floats]:
    return _as_columns(
        np.isnan(pair.original).astype(np.float64), np.isnan(pair.masked).astype(np.float64)
    )


def _products(parts: list[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    return [
        (left[0] * right[0], left[1] * right[1])
        for place, left in enumerate(parts)
        for right in parts[place:]
    ]


def _joined(
    parts: Sequence[tuple[Floats, Floats]], pairs: Sequence[ColumnPair]
) -> tuple[Floats, Floats]:
    empty = (np.empty((len(pairs[0].original), 0)), np.empty((len(pairs[0].masked), 0)))
    before, after = zip(empty, *parts, strict=True)
    return np.hstack(before), np.hstack(after)


#: The most rows of each table that models separate, and that a regression is fitted to.
PROPENSITY_ROWS, REGRESSION_ROWS = 10_000, 100_000
CONFIDENCE = 0.95


def _sampled(
    pairs: Sequence[ColumnPair], owners: Ints, most: int, random_state: int
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


def table_quality(
    pairs: Sequence[ColumnPair],
    owners: Ints,
    target: str | None,
    random_state: int,
    weights: str | None = None,
) -> dict[str, Any]:
    """Return what changed between columns, how well models separate rows, and a regression.

    Of these, only the regression is weighted.
    """
    numbers = stacked_columns([pair for pair in pairs if pair.is_number])
    groups = [pair for pair in pairs if not pair.is_number and has_few_categories(pair)]
    aim = regression_target(target, [each for each in pairs if each.name != weights])
    return {
        "correlations": correlation_change(*numbers),
        "cramers_v": cramers_v_change(*stacked_columns(groups)),
        "propensity": separation(pairs, owners, random_state),
        "overlap": None
        if aim is None
        else regression_overlap(pairs, aim, owners, random_state, weights),
        "target": None if aim is None else aim.name,
    }


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
    pairs: Sequence[ColumnPair],
    aim: ColumnPair,
    owners: Ints,
    random_state: int,
    weights: str | None = None,
) -> IntervalOverlap | None:
    """Return the overlap of intervals; None where the original can't be fitted."""
    some = _sampled(pairs, owners, REGRESSION_ROWS, random_state)
    target = next(pair for pair in some if pair.name == aim.name)
    sizes = next(((it.original, it.masked) for it in some if it.name == weights), None)
    others = [pair for pair in some if pair.name not in {aim.name, weights}]
    if not others:
        return None
    x, z = regression_features(others)
    y, w = (target.original, target.masked) if target.is_number else _most_frequent(target)
    try:
        return interval_overlap((x, y), (z, w), weights=sizes, confidence=CONFIDENCE)
    except DataError:
        return None


def _most_frequent(pair: ColumnPair) -> tuple[Floats, Floats]:
    """Return 1 for the most frequent category and 0 for the others; NaN where missing."""
    codes = pair.original[~np.isnan(pair.original)].astype(np.int64)
    most = int(np.bincount(codes).argmax())
    before, after = (
        np.where(np.isnan(each), np.nan, (each == most).astype(np.float64))
        for each in (pair.original, pair.masked)
    )
    return before, after

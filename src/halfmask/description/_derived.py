"""Columns that follow from others: copies, codes, bands, and what is computed from one or two.

A released column shows what it was computed from, however that is generalized. So it
takes the role of its sources.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.description.singling_out import codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.description.profile import ColumnProfile

MAX_ROWS = 10_000
# Rows in which formulas are tried, and the most columns that they are tried with.
FITTED_ROWS, PROBED_ROWS, MAX_SOURCES = 1_000, 60, 20
# A column follows from others if so much of it does: of pairs of rows, of steps, of rows.
NEARLY = 0.97
# In fewer rows, or with fewer different values, formulas fit by chance.
FEWEST_ROWS, FEWEST_VALUES = 30, 8
# A source has so many rows for each of its values; else every column seems to follow from it.
ROWS_A_VALUE = 10
MILLISECONDS_A_DAY = 86_400_000
# Numbers are the same that differ by so much of the column's range.
TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Derivation:
    """From which columns one follows, and for what share of the rows looked at, in [0, 1]."""

    sources: tuple[str, ...]
    share: float

    @property
    def reason(self) -> str:
        """One sentence that says it."""
        names = " and ".join(f"`{name}`" for name in self.sources)
        return f"It follows from {names} in {self.share:.0%} of the rows, and would reveal them."

    @property
    def brief(self) -> str:
        """The same in a few words."""
        return f"follows from {' and '.join(self.sources)}"


class Derivations:
    """Looks for columns of a table that follow from others."""

    def __init__(self, frame: pl.DataFrame, profiles: Mapping[str, ColumnProfile]) -> None:
        self._frame = frame
        self.profiles = profiles
        self._codes: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]] = {}
        self._numbers: dict[str, NDArray[np.float64] | None] = {}
        self._orders: dict[str, NDArray[np.int64]] = {}

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """The rows looked at, shuffled: in a sorted table, everything seems to rise together."""
        order = np.random.default_rng(0).permutation(self._frame.height)[:MAX_ROWS]
        return self._frame[order]

    def _codes_of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return a number for each row's value, and where a value is."""
        if name not in self._codes:
            values = self._rows[name]
            self._codes[name] = codes_of(values)[0], values.is_not_null().to_numpy()
        return self._codes[name]

    def _numbers_of(self, name: str) -> NDArray[np.float64] | None:
        if name not in self._numbers:
            self._numbers[name] = _numbers(self._rows[name], self.profiles[name])
        return self._numbers[name]

    def _order(self, name: str, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows in the order of a column."""
        if name not in self._orders:
            self._orders[name] = np.argsort(numbers, kind="stable")
        return self._orders[name]

    def of(self, target: str, sources: Sequence[str]) -> Derivation | None:
        """Return from which sources a column follows: from one, else from two, else ``None``."""
        sources = [name for name in sources if name != target]
        if self._frame.height < FEWEST_ROWS or not sources:
            return None
        alone = (Derivation((name,), self._share(name, target)) for name in sources)
        best = max(alone, key=lambda it: it.share, default=None)
        if best is not None and best.share >= NEARLY:
            return best
        return self._computed(target, sources)

    def part_of(self, target: str, sources: Sequence[str]) -> Derivation | None:
        """Return the column whose texts hold this one's, such as a full name a given name."""
        profile = self.profiles[target]
        if profile.dtype != pl.String or profile.mean_length < 2 or profile.rows < FEWEST_ROWS:
            return None
        for name in sources:
            if name == target or self.profiles[name].dtype != pl.String:
                continue
            both = self._rows.select(
                whole=pl.col(name).str.to_lowercase(), part=pl.col(target).str.to_lowercase()
            ).drop_nulls()
            if both.height < FEWEST_ROWS:
                continue
            # Rows are in a random order: the next one's text is that of somebody else.
            others = both["whole"].slice(1).append(both["whole"].head(1))
            held, chance = (_share_held(both["part"], it) for it in (both["whole"], others))
            # One text in nearly all rows, such as a country, may stand in all texts of a column.
            if held >= NEARLY and held - chance >= NEARLY * (1 - chance) and chance < 1:
                return Derivation((name,), held)
        return None

    def _share(self, source: str, target: str) -> float:
        """Return how much of a column follows from one other."""
        share = 0.0
        x, y = self._numbers_of(source), self._numbers_of(target)
        if x is not None and y is not None:
            share = _share_rising(self._order(source, x), x, y)
        if share >= NEARLY or self.profiles[source].distinct * ROWS_A_VALUE > len(self._rows):
            return share
        (of_source, known), (of_target, met) = self._codes_of(source), self._codes_of(target)
        return max(share, _measure_agreement(of_source[known & met], of_target[known & met]))

    def _computed(self, target: str, sources: Sequence[str]) -> Derivation | None:
        """Return the first two columns by whose sum, difference, product or ratio one is given."""
        goal = self._numbers_of(target)
        if goal is None or self.profiles[target].distinct < FEWEST_VALUES:
            return None
        found = {
            name: self._numbers_of(name) for name in sources if self.profiles[name].distinct > 2
        }
        numeric = {name: it[:FITTED_ROWS] for name, it in found.items() if it is not None}
        widest = sorted(numeric, key=lambda name: -self.profiles[name].distinct)[:MAX_SOURCES]
        goal = goal[:FITTED_ROWS]
        for pair in itertools.combinations(widest, 2):
            given = np.column_stack([numeric[name] for name in pair])
            for x, y in _iterate_spaces(given, goal):
                share = _share_fitted(x, y)
                if share >= NEARLY:
                    return Derivation(pair, share)
        return None


def _numbers(values: pl.Series, profile: ColumnProfile) -> NDArray[np.float64] | None:
    """Return a column as numbers, dates as days, with NaN for missing; ``None`` for other texts."""
    is_spelled = profile.date_format is not None or profile.is_number_text
    if profile.form is not None and is_spelled and not values.dtype.is_float():
        values = profile.form.read(values.cast(pl.String))
    if values.dtype == pl.Date:
        values = values.cast(pl.Datetime("ms"))
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.cast_time_unit("ms").to_physical() / MILLISECONDS_A_DAY
    elif not values.dtype.is_numeric():
        return None
    numbers = values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _measure_agreement(source: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """Return how much more often rows agree on the target if they agree on the source.

    1 where each value of the source has one value of the target, 0 where it says nothing: the
    share of pairs of rows, corrected for chance as Cohen's kappa is.
    """
    if len(source) < FEWEST_ROWS:
        return 0.0
    by_both = _count_pairs(source * (int(target.max()) + 1) + target)
    by_source, by_target = _count_pairs(source), _count_pairs(target)
    every = len(source) * (len(source) - 1) / 2
    if by_source < FEWEST_ROWS or by_target >= every:
        return 0.0
    chance = by_target / every
    return (by_both / by_source - chance) / (1 - chance)


def _share_held(parts: pl.Series, wholes: pl.Series) -> float:
    """Return the share of rows whose whole text holds the part."""
    return float(wholes.str.contains(parts, literal=True).mean() or 0.0)  # type: ignore[arg-type] # a float


def _count_pairs(codes: NDArray[np.int64]) -> float:
    counts = np.unique(codes, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1)).sum() / 2)


def _share_rising(
    order: NDArray[np.int64], source: NDArray[np.float64], target: NDArray[np.float64]
) -> float:
    """Return how steadily the target rises, or falls, with the source: 1 is without exception.

    Steps against the direction are counted, as a share of those that a shuffled target has.
    """
    known = ~(np.isnan(source) | np.isnan(target))
    chance = np.diff(target[known])
    by_chance = min((chance > 0).sum(), (chance < 0).sum())
    if by_chance < FEWEST_ROWS:
        return 0.0
    steps = np.diff(target[order[known[order]]])
    return float(1 - min((steps > 0).sum(), (steps < 0).sum()) / by_chance)


def _iterate_spaces(
    given: NDArray[np.float64], goal: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the rows for sums and differences, and their logarithms for products and ratios."""
    known = ~(np.isnan(given).any(axis=1) | np.isnan(goal))
    x, y = given[known], goal[known]
    yield x, y
    positive = (x > 0).all(axis=1) & (y > 0)
    if len(y) and positive.mean() >= NEARLY:
        yield np.log(x[positive]), np.log(y[positive])


def _share_fitted(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the share of rows that a linear formula gives, in [0, 1]; 0 where none is needed."""
    if len(y) < FEWEST_ROWS:
        return 0.0
    # Where most rows have one value, any formula gives it: the others have to show more.
    middle = np.median(y)
    varied = y != middle
    if varied.sum() < FEWEST_ROWS:
        return 0.0
    low, high = np.quantile(y[varied], [0.05, 0.95])
    near = TOLERANCE * (high - low)
    if near <= 0:
        return 0.0
    spread = x.std(axis=0)
    if not (spread > 0).all():
        return 0.0
    design = np.column_stack([(x - x.mean(axis=0)) / spread, np.ones(len(x))])
    # Most formulas miss: a few rows show it.
    few = np.flatnonzero(varied)[:PROBED_ROWS]
    if _find_fitting(design[few], y[few], near).mean() < NEARLY / 2:
        return 0.0
    return float(_find_fitting(design, y, near)[varied].mean())


def _find_fitting(
    design: NDArray[np.float64], y: NDArray[np.float64], near: float
) -> NDArray[np.bool_]:
    """Return which rows a linear formula gives, within a small tolerance."""
    kept, misses = np.ones(len(y), dtype=bool), np.zeros(len(y))
    # Rows that the first fit misses by far may be errors in the table: the second does without.
    for _ in range(2):
        weights = np.linalg.lstsq(design[kept], y[kept], rcond=None)[0]
        misses = np.abs(design @ weights - y)
        kept = misses <= np.quantile(misses, 0.9)
    return misses <= near

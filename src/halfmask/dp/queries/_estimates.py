"""Estimates: what an aggregate is computed from, the error to expect, and values with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import ParameterError
from halfmask.dp.queries._aggregates import (
    Aggregate,
    BoundedAggregate,
    DistinctCount,
    Mean,
    Quantile,
    Variance,
)
from halfmask.dp.queries._measures import DistinctValues, Measure, NumericGrid, QuantileChoice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.dp.queries._question import Question

#: Of every interval.
CONFIDENCE: Final = 0.95
#: Values that a quantile chooses among, unless a grid is declared; and the most.
_CANDIDATES: Final = 1 << 10
_MOST_CANDIDATES: Final = 1 << 16
#: The sum of two noisy numbers has more noise than one. Of more numbers, a share of epsilon more
#: doesn't make up for it.
_MOST_SHARING: Final = 4
Numbers = NDArray[np.float64]
Interval = tuple[Numbers, Numbers, Numbers]
Per: TypeAlias = Literal["answer", "row", "rank"]


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """How far from the exact result an answer lies at most, in 95 % of the draws.

    Parameters
    ----------
    label
        The column of the answer.
    margin
        The distance; of a quantile, in rows of the rank.
    per
        ``"answer"``, ``"row"`` if the distance is ``margin`` divided by the rows of the group, or
        ``"rank"``.
    """

    label: str
    margin: float
    per: Literal["answer", "row", "rank"]

    def sentence(self) -> str:
        """Return the error in words."""
        match self.per:
            case "answer":
                return f"{self.label}: ± {self.margin:.4g}"
            case "row":
                thousand = self.margin / 1000
                return (
                    f"{self.label}: ± {self.margin:.4g} / rows of the group, such as "
                    f"± {thousand:.4g} for 1,000 rows"
                )
        return f"{self.label}: a value whose rank is off by at most {self.margin:,.0f} rows"


@dataclass(frozen=True)
class Estimate:
    """An aggregate as it is computed, by itself a number of rows or values, of at least 0."""

    is_whole: ClassVar[bool] = True
    asked: Aggregate
    measures: tuple[Measure, ...]

    def expected_error(self, margins: Sequence[float]) -> ExpectedError:
        """Return the error to expect by the margins of its measures; no cell changes it."""
        return ExpectedError(self.asked.label, *self._error(*margins))

    def uncovered(self) -> list[str]:
        """Return what its interval doesn't cover, in words."""
        return []

    def columns(self, measured: Sequence[Interval]) -> pl.DataFrame:
        """Return the columns of the answer by its measures, each between its margins."""
        label = self.asked.label
        names = (f"{label}_low", label, f"{label}_high")
        made = pl.DataFrame(
            dict(zip(names, self._interval(*measured), strict=True)),
            schema=dict.fromkeys(names, pl.Float64),
        ).select(label, names[0], names[2])
        if self.is_whole:
            whole = (pl.col(label).round(), pl.nth(1).floor(), pl.nth(2).ceil())
            return made.select(whole).cast(pl.Int64)
        return made.fill_nan(None)

    def _error(self, *margins: float) -> tuple[float, Per]:
        return margins[0], "answer"

    def _interval(self, *measured: Interval) -> Interval:
        low, value, high = measured[0]
        return np.maximum(0.0, low), value, np.maximum(0.0, high)


class RowsEstimate(Estimate):
    """The number of rows, as that of values of a column and that of its missing cells.

    Guarantees
    ----------
    Each row is in one of the two, so that both together have the sensitivity of one count: they
    are one vector, which is charged once, whatever the rows are.
    """

    def _error(self, *margins: float) -> tuple[float, Per]:
        return math.fsum(margins), "answer"

    def _interval(self, *measured: Interval) -> Interval:
        low, value, high = (np.add(*ends) for ends in zip(*measured, strict=True))
        return np.maximum(0.0, low), value, np.maximum(0.0, high)


@dataclass(frozen=True)
class BoundedEstimate(Estimate):
    """What is computed in units of a grid, by itself a sum."""

    is_whole: ClassVar[bool] = False
    grid: NumericGrid
    has_fractions: bool

    def uncovered(self) -> list[str]:
        """Return what values of the column count as, in words."""
        label, grid = self.asked.label, self.grid
        low, high = (f"{grid.value_of(end):.12g}" for end in (grid.low, grid.high))
        sentence = f"{label}: values below {low} count as {low}, and values above {high} as {high}."
        if grid.step == 1 and not self.has_fractions:
            return [sentence]
        return [f"{sentence} Others are rounded to multiples of {float(grid.step):.6g}."]

    def _error(self, *margins: float) -> tuple[float, Per]:
        return margins[0] * float(self.grid.step), "answer"

    def _interval(self, *measured: Interval) -> Interval:
        low, value, high = (end * float(self.grid.step) for end in measured[0])
        return low, value, high


class MeanEstimate(BoundedEstimate):
    """A sum of distances from the middle, divided by the number of values."""

    def _error(self, *margins: float) -> tuple[float, Per]:
        total, rows = margins
        return (total + self.grid.radius * rows) * float(self.grid.step), "row"

    def _interval(self, *measured: Interval) -> Interval:
        grid, distance = self.grid, _ratio(*measured)
        ends = (np.clip(end + grid.middle, grid.low, grid.high) for end in distance)
        low, value, high = (end * float(grid.step) for end in ends)
        return low, value, high


class VarianceEstimate(BoundedEstimate):
    """The mean of squared distances from the middle, less the square of their mean."""

    def _error(self, *margins: float) -> tuple[float, Per]:
        total, squares, rows = margins
        radius = self.grid.radius
        # Of squares / n - (sum / n)**2, where a mean is at most a radius from the middle.
        units = squares + radius**2 * rows + 2 * radius * (total + radius * rows)
        return units * float(self.grid.step) ** 2, "row"

    def _interval(self, *measured: Interval) -> Interval:
        total, squares, rows = measured
        mean, square = _ratio(total, rows), _ratio(squares, rows)
        of_mean = [np.square(end) for end in mean]
        least = np.where((mean[0] <= 0) & (mean[2] >= 0), 0.0, np.minimum(of_mean[0], of_mean[2]))
        ends = (
            square[0] - np.maximum(of_mean[0], of_mean[2]),
            square[1] - of_mean[1],
            square[2] - least,
        )
        most, scale = float(self.grid.radius**2), float(self.grid.step) ** 2
        low, value, high = (np.clip(end + self.grid.shift, 0.0, most) * scale for end in ends)
        return low, value, high


class QuantileEstimate(BoundedEstimate):
    """A value that is chosen by its rank, and both ends of its interval."""

    def _error(self, *margins: float) -> tuple[float, Per]:
        return margins[0], "rank"

    def _interval(self, *measured: Interval) -> Interval:
        places = np.stack([place for _, place, _ in measured])
        units = self.grid.low + np.sort(places, axis=0)
        units[1] = self.grid.low + places[0]
        low, value, high = (
            np.array([self.grid.value_of(int(unit)) for unit in each]) for each in units
        )
        return low, value, high


def estimates_of(question: Question) -> tuple[Estimate, ...]:
    """Return how each aggregate of a question is computed, in the order of the answer."""
    found = tuple(_estimate_of(each, question) for each in question.aggregates)
    measures = dict.fromkeys(measure for each in found for measure in each.measures)
    counted = next((each for each in measures if each.kind == "values"), None)
    rows = Measure("rows")
    if counted is None or rows not in measures or len(measures) > _MOST_SHARING:
        return found
    parts = (counted, Measure("missing", counted.column))
    return tuple(RowsEstimate(it.asked, parts) if it.measures == (rows,) else it for it in found)


def _estimate_of(asked: Aggregate, question: Question) -> Estimate:
    of, dtypes = asked.column, question.dtypes
    if of is None:
        return Estimate(asked, (Measure("rows"),))
    counted = Measure("values", question.counted_by(of))
    if not isinstance(asked, BoundedAggregate):
        distinct = isinstance(asked, DistinctCount)
        return Estimate(asked, (DistinctValues(column=of) if distinct else counted,))
    grid = _grid_of(asked, dtypes)
    how = grid, dtypes[of].is_float() or dtypes[of].is_decimal()
    centred = Measure("centred", of, grid)
    match asked:
        case Mean():
            return MeanEstimate(asked, (centred, counted), *how)
        case Variance():
            return VarianceEstimate(asked, (centred, Measure("squares", of, grid), counted), *how)
        case Quantile():
            at = Fraction(repr(asked.at)).limit_denominator(1_000_000)
            ends: tuple[Literal["low", "high"] | None, ...] = (None, "low", "high")
            choices = (QuantileChoice(column=of, grid=grid, at=at, end=end) for end in ends)
            return QuantileEstimate(asked, tuple(choices), *how)
    return BoundedEstimate(asked, (Measure("sum", of, grid),), *how)


def _grid_of(each: BoundedAggregate, dtypes: Mapping[str, pl.DataType]) -> NumericGrid:
    """Return the grid of an aggregate with bounds."""
    bounds = each.bounds or (0.0, 0.0)
    step, dtype = each.grid, dtypes[each.of]
    if isinstance(each, Quantile):
        width = float(bounds[1]) - float(bounds[0])
        if step is None and 0 < width < math.inf:
            whole = (dtype.is_integer() or dtype == pl.Boolean) and width < _CANDIDATES
            step = 1 if whole else 2.0 ** math.ceil(math.log2(width / _CANDIDATES))
    squared = isinstance(each, Variance)
    grid = NumericGrid.of(each.of, bounds=bounds, step=step, dtype=dtype, squared=squared)
    if isinstance(each, Quantile) and grid.high - grid.low >= _MOST_CANDIDATES:
        raise ParameterError(
            f"A quantile of {each.of!r} would choose among {grid.high - grid.low + 1:,} values; "
            f"at most {_MOST_CANDIDATES:,} are allowed.",
            hint="Declare a coarser grid.",
        )
    return grid


def _ratio(value: Interval, rows: Interval) -> Interval:
    """Return an interval of value / rows, where rows are at least 1."""
    ends = [end / np.maximum(1.0, n) for end in (value[0], value[2]) for n in (rows[0], rows[2])]
    middle = value[1] / np.maximum(1.0, rows[1])
    return np.minimum.reduce(ends), middle, np.maximum.reduce(ends)

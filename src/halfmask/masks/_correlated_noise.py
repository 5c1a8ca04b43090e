"""Correlated noise: its covariance is proportional to that of the columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._numbers import (
    as_column,
    check_decimals,
    check_numeric,
    floats,
    may_overflow,
    rounded_to,
)
from halfmask.masks._row_draws import noise, row_fractions
from halfmask.masks._strata import check_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: What turns a median absolute deviation, or a mean one, into a normal standard deviation.
_MEDIAN_TO_SD: Final = 1.482602218505602
_MEAN_TO_SD: Final = 1.2533141373155001


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatedNoise(CheckedMask):
    """Add normal noise whose covariance is a multiple of the columns' own.

    Parameters
    ----------
    columns
        Columns of numbers.
    variance_ratio
        The variance of the noise, divided by that of the column; above 0, at most 100.
    decimals
        Digits behind the point, 0 to 9. More than the columns had would show the noise.
    keep_covariance
        Whether the result is shrunk to the mean, so that its expected covariance is the original.
    outliers_beyond
        Where given, only cells further than so many robust standard deviations from the median get
        noise.

    Raises
    ------
    ParameterError
        If one of them can't be, or ``keep_covariance`` and ``outliers_beyond`` are given together.

    Notes
    -----
    Noise with the covariance ``variance_ratio * S``, S that of the columns, keeps correlations
    (Kim 1986; Tendick 1991). ``keep_covariance`` is Kim's linear transformation to
    ``mean + (x + noise - mean) / sqrt(1 + variance_ratio)``. The robust standard deviation is the
    median absolute deviation times 1.4826; where that is 0, the mean one times 1.2533 (Iglewicz
    and Hoaglin 1993).

    **Guarantees.** The noise of a row is independent of its numbers and of other rows, and unknown
    without the key. Without ``outliers_beyond``, expected means and correlations are the
    original ones. With ``outliers_beyond``, all other cells are unchanged. It is no
    differential privacy: no budget is kept.

    **Edge cases.** Means and covariances are those of rows without a missing cell. Missing cells
    stay missing. A column whose numbers are all equal gets no noise. Whole numbers stay whole with
    0 decimals. Numbers can become negative. A number that would need more than 53 bits is refused.
    Float32 becomes Float64.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [2000.0, 3000.0, 5000.0, None]})
    >>> mask = CorrelatedNoise(columns=("age", "pay"), variance_ratio=0.1, decimals=0)
    >>> mask.fit(people, bytes(32)).apply(people, 0).null_count().row(0)
    (0, 1)
    """

    name: ClassVar[str] = "correlated-noise"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # roughly
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()

    columns: tuple[str, ...]
    variance_ratio: float = field(metadata={"gt": 0, "le": 100})
    decimals: int
    keep_covariance: bool = False
    outliers_beyond: float | None = field(default=None, metadata={"ge": 0, "le": 100})

    def _check_together(self) -> None:
        check_apart(self.columns, (), mask=self.name, named="reads")
        check_decimals(self.decimals, mask=self.name)
        if self.outliers_beyond is not None and self.keep_covariance:
            raise ParameterError(
                "The mask 'correlated-noise' has both 'keep_covariance' and 'outliers_beyond'.",
                hint="Noise of outliers alone doesn't keep the covariance: leave one out.",
            )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        kept = () if self.outliers_beyond is None else ("values-between-bounds-kept",)
        return ("nulls-visible", "outlier-visible", *kept)

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return Int64 for whole numbers without decimals, else Float64; see `TableMask`."""
        for name in self.columns:
            check_numeric(name, dtypes[name], mask=self.name)
        return {
            name: pl.Int64() if dtypes[name].is_integer() and not self.decimals else pl.Float64()
            for name in self.columns
        }

    def fit(self, table: pl.DataFrame, key: bytes) -> _CorrelatedNoisePlan:
        """Return the plan, which holds means, covariances and the key; see `TableMask`."""
        dtypes = self.written(table.schema)
        numbers = np.column_stack([floats(table[it], mask=self.name) for it in self.columns])
        complete = numbers[np.isfinite(numbers).all(axis=1)]
        if len(complete) < 2:  # of one row there is no covariance
            raise DataError(
                f"The columns of the mask {self.name!r} have {len(complete)} rows without "
                "a missing cell. It needs 2 at least.",
                hint="Give each column the mask 'noise'.",
            )
        with may_overflow():
            mean = complete.mean(axis=0)
            rest = complete - mean
            covariance = self.variance_ratio * (rest.T @ rest) / len(rest)
        if not np.isfinite(covariance).all():
            raise DataError(
                f"The columns of the mask {self.name!r} have numbers whose covariance is too large "
                "for a float.",
                hint="Code the tails first.",
            )
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        bounds = np.array([self._bounds(column[np.isfinite(column)]) for column in numbers.T])
        return _CorrelatedNoisePlan(self, dtypes, mean, root, bounds, key)

    def _bounds(self, numbers: NDArray[np.float64]) -> tuple[float, float]:
        """Return the bounds beyond which a number is an outlier; a number stays between them."""
        if self.outliers_beyond is None:
            return np.inf, -np.inf
        middle = float(np.median(numbers))
        away = np.abs(numbers - middle)
        sd = _MEDIAN_TO_SD * float(np.median(away)) or _MEAN_TO_SD * float(away.mean())
        return middle - self.outliers_beyond * sd, middle + self.outliers_beyond * sd


@dataclass(frozen=True, slots=True)
class _CorrelatedNoisePlan:
    mask: CorrelatedNoise
    dtypes: dict[str, pl.DataType]
    mean: NDArray[np.float64] = field(repr=False)
    root: NDArray[np.float64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)
    key: bytes = field(repr=False)

    def apply(self, batch: pl.DataFrame, first_row: int) -> pl.DataFrame:
        mask = self.mask
        normal = [
            noise(
                row_fractions(batch.height, key=self.key, first_row=first_row, stream=j),
                law="gaussian",
                scale=1.0,
            )
            for j in range(len(mask.columns))
        ]
        added = np.column_stack(normal) @ self.root.T
        shrunk = np.sqrt(1.0 + mask.variance_ratio) if mask.keep_covariance else 1.0
        found = []
        for j, name in enumerate(mask.columns):
            numbers, (low, high) = floats(batch[name], mask=mask.name), self.bounds[j]
            moved = self.mean[j] + (numbers + added[:, j] - self.mean[j]) / shrunk
            rounded = rounded_to(moved, mask.decimals, column=name, mask=mask.name)
            stays = (numbers >= low) & (numbers <= high)
            written = np.where(stays, numbers, rounded)
            found.append(as_column(written, name=name, dtype=self.dtypes[name]))
        return pl.DataFrame(found)

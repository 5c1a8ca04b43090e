"""One numeric or date column or target as a standardised float, and exactly back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._ticks import from_ticks, read_only, to_ticks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.encode._ticks import Numbers


#: How far a float may come back from where it was, relative to itself.
RELATIVE = 1e-12
#: What to do with a column whose cells would not come back.
NOT_BACK = (
    "Round the column to fewer decimals, leave it out, or make the codec with "
    'precision="column", which keeps small floats next to large ones less exactly.'
)
#: The same for whole numbers, dates, times and decimals: fewer decimals don't help there.
_STEPS_NOT_BACK = (
    "Numbers of the same rows are too large to be mixed exactly, in this column or in another one: "
    'scale the largest column, leave it out, or use learner="trees".'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The affine map of one column to standard units, with what is needed to round it back.

    Guarantees
    ----------
    Integers, dates, decimals, 32-bit floats and whole numbers up to 2**53 come back equal, other
    floats to `RELATIVE`: `check` proves it for each batch that is sent, or refuses it. Zero comes
    back without a sign.
    """

    name: str
    dtype: pl.DataType
    center: float
    scale: float
    unit: int
    digits: int
    low: float
    high: float
    missing_at: float
    hidden: bool
    nullable: bool
    out_of_range: str
    precision: str = "cell"

    def standard(self, column: pl.Series) -> NDArray[np.float64]:
        """Return the column in standard units, missing cells in their place."""
        return self.standardized(*to_ticks(column))

    def standardized(self, ticks: Numbers, present: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return ticks in standard units; see `standard`."""
        from halfmask.kernels.encoding import standard as kernel  # noqa: PLC0415 # numba is heavy

        missing = len(present) - int(present.sum())
        if missing and not (self.hidden or self.nullable):
            raise SchemaError(
                f"Column {self.name!r} had no missing cell at the fit and has {missing} now.",
                hint='Fit the codec to rows with missing cells, or make it with missing="hidden".',
            )
        self._check_range(ticks, present)
        standard = np.empty(len(ticks))
        if not self.unit:
            center, scale = float(self.center), self.scale
            kernel.floats_to_standard(ticks, present, center, scale, self.missing_at, standard)
            return standard
        between, far = kernel.steps_to_standard(
            ticks, present, int(self.center), self.unit, self.scale, self.missing_at, standard
        )
        self._refuse(between, why="between the steps of its grid", hint=NOT_BACK)
        self._refuse(far)
        return standard

    def restore(
        self, standard: NDArray[np.float64], missing: NDArray[np.bool_] | None
    ) -> pl.Series:
        """Return the column that these standard units stand for."""
        ticks, present = self._ticks(standard, missing)
        return from_ticks(ticks, present, name=self.name, dtype=self.dtype)

    def check(
        self,
        ticks: Numbers,
        present: NDArray[np.bool_],
        back: NDArray[np.float64],
        missing: NDArray[np.bool_] | None,
    ) -> None:
        """Raise unless ticks come back equal from ``back``."""
        from halfmask.kernels.encoding import standard as kernel  # noqa: PLC0415 # numba is heavy

        restored, there = self._ticks(back, missing)
        if self.unit:
            self._refuse(kernel.count_wrong_steps(ticks, present, restored, there))
        else:
            least, relative = 0.0, RELATIVE
            if self.precision == "column":
                least = self._magnitude
            elif self.dtype == pl.Float32:
                restored = read_only(restored.astype(np.float32).astype(np.float64))
                relative = 0.0
            wrong = kernel.count_wrong_floats(ticks, present, restored, there, relative, least)
            self._refuse(wrong, hint=NOT_BACK)

    def values(self, standard: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers in standard units as numbers of the column, unrounded: predictions."""
        numbers: NDArray[np.float64] = standard * self.scale
        if self.unit:
            numbers = numbers * self.unit
        numbers = numbers + self.center
        return numbers / 10.0**self.dtype.scale if isinstance(self.dtype, pl.Decimal) else numbers

    def _ticks(
        self, standard: NDArray[np.float64], missing: NDArray[np.bool_] | None
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        from halfmask.kernels.encoding import standard as kernel  # noqa: PLC0415 # numba is heavy

        gone = read_only(np.empty(0, dtype=np.bool_) if missing is None else missing)
        standard = read_only(standard)
        present = np.empty(len(standard), dtype=np.bool_)
        if self.unit:
            steps = np.empty(len(standard), dtype=np.int64)
            kernel.steps_back(
                standard, gone, self.hidden, int(self.center), self.unit, self.scale,
                self.missing_at, steps, present,
            )  # fmt: skip
            return steps, present
        values = np.empty(len(standard))
        power = 10.0**self.digits if self.digits >= 0 else 0.0
        kernel.floats_back(
            standard, gone, self.hidden, float(self.center), self.scale, self.missing_at,
            power, self._magnitude, values, present,
        )  # fmt: skip
        return values, present

    @property
    def _magnitude(self) -> float:
        """The fitted column's largest distance from zero; 1 for a column of zeros."""
        return max(abs(self.low), abs(self.high)) or 1.0

    def _check_range(self, ticks: Numbers, present: NDArray[np.bool_]) -> None:
        from halfmask.kernels.encoding import standard as kernel  # noqa: PLC0415 # numba is heavy

        if self.out_of_range == "extrapolate":
            return
        kind = int if self.unit else float
        outside = kernel.count_outside(ticks, present, kind(self.low), kind(self.high))
        if outside:
            raise SchemaError(
                f"Column {self.name!r} has {outside} cells outside of its range at the fit.",
                hint='Check the unit, or make the codec with out_of_range="extrapolate".',
            )

    def _refuse(
        self,
        wrong: int,
        *,
        why: str = "that would not come back exactly",
        hint: str = _STEPS_NOT_BACK,
    ) -> None:
        if wrong:
            raise SchemaError(f"Column {self.name!r} has {wrong} cells {why}.", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWeight:
    """What an ordered column adds to the score: ``weight * (tick - center) / scale``."""

    name: str
    center: float
    scale: float
    weight: float

    def part(self, batch: pl.DataFrame) -> NDArray[np.float64]:
        """Return what the column adds for each row; nothing where it is missing."""
        ticks, present = to_ticks(batch[self.name])
        z = np.clip((ticks.astype(np.float64) - self.center) / self.scale, -4, 4)
        return np.where(present, self.weight * z, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryWeights:
    """What a categorical column adds to the score: a keyed number for each value."""

    name: str
    values: pl.Series
    weights: NDArray[np.float64]

    def part(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the column adds for each row, by the place of its value.

        Nothing for values never seen and for missing ones, whose place is behind all values where
        they are encoded.
        """
        return np.append(self.weights, np.zeros(3))[places]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """A keyed direction in the space of a table's features.

    Rows of one category that lie apart along it get different codes, so that the codes of a
    category differ in what goes with them. An attacker who looks for codes with equal company
    doesn't find the siblings.
    """

    parts: tuple[NumberWeight | CategoryWeights, ...]

    def scores(
        self, batch: pl.DataFrame, places: Mapping[str, NDArray[np.int64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return each column's part of the score, and under the empty name their sum."""
        scores = {
            part.name: part.part(places[part.name])
            if isinstance(part, CategoryWeights)
            else part.part(batch)
            for part in self.parts
        }
        total = np.zeros(batch.height)
        for score in scores.values():
            total += score
        return scores | {"": total}


def score_without(parts: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Return the score by all columns but one: a column can't part its own categories."""
    return parts[""] - parts[name] if name in parts else parts[""]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTarget:
    """``slope * standard + shift``, the slope a power of two of either sign.

    A power of two, so that sums of encoded targets are rounded as sums of plain ones are: what a
    learner of squared loss compares keeps its order.
    """

    scaling: Scaling
    token: str
    slope: float
    shift: float

    @property
    def name(self) -> str:
        """The target's name at home."""
        return self.scaling.name

    @property
    def dtype(self) -> pl.DataType:
        """The target's type at home."""
        return self.scaling.dtype

    def encode(self, column: pl.Series) -> pl.Series:
        """Return the encoded target; a missing one stays missing."""
        ticks, present = to_ticks(column)
        encoded = self.slope * self.scaling.standardized(ticks, present) + self.shift
        back = (encoded - self.shift) / self.slope
        self.scaling.check(ticks, present, back, ~present)
        coded = pl.Series(self.token, encoded)
        return coded if present.all() else coded.set(pl.Series(~present), None)

    def decode(self, encoded: pl.Series) -> pl.Series:
        """Return the target's cells, of their own type."""
        missing = encoded.is_null().to_numpy()
        values = encoded.cast(pl.Float64).fill_null(self.shift).to_numpy()
        wrong = int((~np.isfinite(values)).sum())
        if wrong:
            raise DataError(
                f"Target {self.name!r} has {wrong} encoded cells that are not finite.",
                hint="Decode the encoded rows unchanged.",
            )
        return self.scaling.restore((values - self.shift) / self.slope, missing)

    def predictions(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions in the target's own unit, unrounded."""
        return self.scaling.values((predicted - self.shift) / self.slope)

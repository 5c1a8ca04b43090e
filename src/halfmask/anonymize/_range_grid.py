"""Where ranges may end: multiples of a step, or the starts of units of time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._validation import number_between, one_of
from halfmask.data import Unit, next_unit_start, unit_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNITS: Final[tuple[Unit, ...]] = get_args(Unit)
_OF_DAYS = _UNITS[_UNITS.index("day") :]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeGrid:
    """Half-open pieces of a column's values: ``[0, 5)``, ``[5, 10)``; or months.

    Notes
    -----
    **Guarantees.** Each value lies in exactly one piece: ``start <= value < end``, also where a
    multiple of the step is no number that a computer has.

    Examples
    --------
    >>> import polars as pl
    >>> grid = RangeGrid(step=0.1)
    >>> starts = grid.starts(pl.Series("pay", [0.3, 0.35, -0.01]))
    >>> starts.to_list(), grid.ends(starts).to_list()
    ([0.3, 0.3, -0.1], [0.4, 0.4, 0.0])
    """

    step: float | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        if self.step is not None:
            number_between(0.0, float("inf"), owner="Ranges", low_open=True, step=self.step)
        if self.unit is not None:
            one_of(_UNITS, owner="Ranges", unit=self.unit)

    def fits(self, dtype: pl.DataType) -> bool:
        """Return whether it parts values of a type."""
        if dtype.base_type() in (pl.Date, pl.Datetime):
            return self.unit is not None
        return self.step is not None and dtype.is_numeric()

    def starts(self, values: pl.Series) -> pl.Series:
        """Return the start of the piece of each value."""
        self._check(values)
        if self.unit is not None and values.dtype.is_temporal():
            return unit_start(values, self.unit)
        step = self.step or 1.0
        if values.dtype.is_integer():
            wide = values.cast(pl.Int64)
            return (wide // int(step) * int(step)).alias(values.name)
        numbers = values.cast(pl.Float64).to_numpy()
        place = np.floor(numbers / step)
        # Division rounds: the value decides between the ends that are written.
        place -= self._at(place) > numbers
        place += self._at(place + 1) <= numbers
        return pl.Series(values.name, self._at(place), nan_to_null=True)

    def ends(self, starts: pl.Series) -> pl.Series:
        """Return the end of each piece: the start of the next."""
        if self.unit is not None and starts.dtype.is_temporal():
            return next_unit_start(starts, self.unit)
        step = self.step or 1.0
        if starts.dtype.is_integer():
            return starts + int(step)
        place = np.rint(starts.to_numpy() / step)
        return pl.Series(starts.name, self._at(place + 1), nan_to_null=True)

    def _at(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return multiples of the step, with its decimals and a zero without sign."""
        exponent = Decimal(str(self.step)).as_tuple().exponent
        decimals = max(0, -int(exponent))
        multiples: NDArray[np.float64] = np.round(place * (self.step or 1.0), decimals) + 0.0
        return multiples

    def _check(self, values: pl.Series) -> None:
        if values.dtype == pl.Date and self.unit not in (None, *_OF_DAYS):
            raise SchemaError(
                f"Column {values.name!r} holds dates, and its ranges are to end at a {self.unit}.",
                hint=f"Choose one of {', '.join(_OF_DAYS)}.",
            )
        whole = values.dtype.is_integer() and self.step is not None
        if whole and self.step != int(self.step or 0):
            raise SchemaError(
                f"Column {values.name!r} holds whole numbers, and its ranges are to end at "
                f"multiples of {self.step}.",
                hint="Choose a whole step.",
            )

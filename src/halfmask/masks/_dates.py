"""Coarsened dates: the first day of the year, quarter, month or week, or the hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import polars as pl
from polars.exceptions import PolarsError

from halfmask._errors import DataError, SchemaError
from halfmask.data import unit_start
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim
from halfmask.masks._numbers import DECLARE_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts

#: The unit that a date is coarsened to.
Unit: TypeAlias = Literal["year", "quarter", "month", "week", "day", "hour"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarsenedDates(CheckedMask):
    """Write the start of the year, quarter, month, week, day or hour.

    Parameters
    ----------
    to
        ``"year"``, ``"quarter"``, ``"month"``, ``"week"``, ``"day"`` or ``"hour"``. Weeks start on
        Monday. Dates without a time can be coarsened to a week or more.

    Notes
    -----
    **Guarantees.** What is written is the last start of the unit that isn't after the date. Dates
    of one unit become equal. Types, precision and time zone stay.

    **Edge cases.** Times with a zone are coarsened on the clock of their zone. A unit whose start
    this clock skips, at a change to summer time, starts with its first moment; one whose start the
    clock has twice starts with the first of them. Rare early and late dates stay rare.

    Examples
    --------
    >>> import datetime as dt
    >>> plan = CoarsenedDates(to="month").fit("born", pl.Date(), None, bytes(32))
    >>> plan.apply(pl.Series("born", [dt.date(1980, 5, 17), None]), 0).to_list()
    [datetime.date(1980, 5, 1), None]
    """

    name: ClassVar[str] = "coarsened-dates"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("nulls-visible", "order-leaking", "outlier-visible")

    to: Unit

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that dates start the unit; see `ClaimingMask`."""
        return [counted_claim("truncated-dates", columns, unit=self.to)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return the column's own type; see `Mask`."""
        if isinstance(dtype, pl.Date) and self.to in {"day", "hour"}:
            raise SchemaError(
                f"Column {column!r} has dates without a time, which its mask {self.name!r} to "
                f"{self.to!r} wouldn't change.",
                hint="Choose 'week', 'month', 'quarter' or 'year'.",
            )
        if not isinstance(dtype, pl.Date | pl.Datetime):
            raise SchemaError(
                f"Column {column!r} has the mask {self.name!r}, which is for dates. "
                f"Got the type {dtype.base_type().__name__}.",
                hint=f"{DECLARE_TYPE}.",
            )
        return dtype

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Coarsened:
        """Return the plan, which needs nothing of the column; see `Mask`."""
        self.written(column, dtype)
        return _Coarsened(self.to)


@dataclass(frozen=True, slots=True)
class _Coarsened:
    to: Unit

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        try:
            found = unit_start(column, self.to)
        except PolarsError:
            raise _too_early(column.name, self.to) from None
        if (found > column).any():  # the type had no room for it
            raise _too_early(column.name, self.to)
        return found


def _too_early(column: str, to: Unit) -> DataError:
    return DataError(
        f"Column {column!r} has dates whose {to} starts before the first date of its type.",
        hint="Cast the column to a type of less precision, such as microseconds.",
    )

"""Top and bottom coding of ordered categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import as_text
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits

if TYPE_CHECKING:
    from halfmask.masks._value_counts import ValueCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalTailCoding(CheckedMask):
    """Write the bound for categories beyond it: top and bottom coding by an order.

    Parameters
    ----------
    low, high
        The bounds, which are categories. Below the lower and above the upper one, the bound is
        written.
    order
        All categories, the lowest first. A column with ordered categories (polars ``Enum``) has an
        order of its own.

    Raises
    ------
    ParameterError
        If there is no bound, a bound isn't in the order, the order has a category twice, or nothing
        lies beyond the bounds or between them.

    Notes
    -----
    **Guarantees.** No category beyond a bound is written.

    **Edge cases.** A cell that the order lacks is an error. Types stay, and so do missing cells.
    How many cells lie at a bound is seen. For numbers take `TailCoding`.

    Examples
    --------
    >>> mask = OrdinalTailCoding(high="high", order=("none", "low", "high", "extreme"))
    >>> plan = mask.fit("risk", pl.String(), None, bytes(32))
    >>> plan.apply(pl.Series("risk", ["low", "extreme", None]), 0).to_list()
    ['low', 'high', None]
    """

    name: ClassVar[str] = "ordinal-tails"
    coarsens: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(takes_order=True, unstated=("order",))
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = (
        "heaped-at-bounds",
        "nulls-visible",
        "values-between-bounds-kept",
    )

    low: str | None = None
    high: str | None = None
    order: tuple[str, ...] | None = None

    def _check_together(self) -> None:
        if self.low is None and self.high is None:
            raise ParameterError(
                "The mask 'ordinal-tails' has no bound.", hint="Give low or high, or both."
            )
        if self.order is not None:
            if len(set(self.order)) < len(self.order):
                raise ParameterError(
                    "The 'order' of the mask 'ordinal-tails' has a category twice."
                )
            self._codes(self.order)

    def _codes(self, order: tuple[str, ...]) -> dict[str, str]:
        """Return what is written for each category."""
        for side, bound in (("low", self.low), ("high", self.high)):
            if bound is not None and bound not in order:
                raise ParameterError(
                    f"The {side!r} of the mask 'ordinal-tails' is none of the ordered categories."
                )
        first = 0 if self.low is None else order.index(self.low)
        last = len(order) - 1 if self.high is None else order.index(self.high)
        if first >= last or (first == 0 and last == len(order) - 1):
            raise ParameterError(
                "The bounds of the mask 'ordinal-tails' cross, meet, or are the ends of the order."
            )
        return {it: order[min(max(i, first), last)] for i, it in enumerate(order)}

    def _order_of(self, column: str, dtype: pl.DataType) -> tuple[str, ...]:
        if isinstance(dtype, pl.Enum):
            if self.order is not None:
                raise SchemaError(
                    f"Column {column!r} has ordered categories, and its mask {self.name!r} an "
                    "'order' too.",
                    hint="Leave out the order of the mask.",
                )
            return tuple(dtype.categories)
        if not isinstance(dtype, pl.String | pl.Categorical) or self.order is None:
            raise SchemaError(
                f"Column {column!r} has the mask {self.name!r}, which is for ordered categories, "
                f"or for texts with an 'order'. Got the type {dtype.base_type().__name__}.",
                hint="Give the mask an 'order'."
                if isinstance(dtype, pl.String | pl.Categorical)
                else "Turn the column into texts first; for numbers choose the mask 'tails'.",
            )
        return self.order

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return the type of ordered categories, else String; see `Mask`."""
        self._codes(self._order_of(column, dtype))
        return dtype if isinstance(dtype, pl.Enum) else pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _CodedCategories:
        """Return the plan, which needs the order alone; see `Mask`."""
        codes = self._codes(self._order_of(column, dtype))
        return _CodedCategories(codes, self.written(column, dtype))


@dataclass(frozen=True, slots=True, repr=False)
class _CodedCategories:
    codes: dict[str, str]
    dtype: pl.DataType

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        texts = as_text(column)
        unknown = int((texts.is_not_null() & ~texts.is_in(list(self.codes))).sum())
        if unknown:
            raise DataError(
                f"Column {column.name!r} has {unknown} cells that the order of its mask "
                "'ordinal-tails' lacks.",
                hint="Name all categories in the order, as the table spells them.",
            )
        return texts.replace_strict(self.codes, return_dtype=self.dtype)

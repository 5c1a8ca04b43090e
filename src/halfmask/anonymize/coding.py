"""A column's values as small integers in an order that cuts can use."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._validation import number_between, one_of
from halfmask.data import (
    Column,
    Hierarchy,
    Unit,
    has_order,
    leaf_text,
    natural_order,
    next_unit_start,
    unit_start,
)
from halfmask.data.text_forms import form_of
from halfmask.kernels.partition.records import APART

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


#: Integer columns whose values span less than this are coded by a table instead of a search.
TABLE_SPAN = 1 << 22
_TABLE_TYPES = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """How one column's values become codes: 0, 1, 2, ..., then one for missing.

    Codes that follow the order of values have a place for a value that was never seen.

    Guarantees
    ----------
    A plan holds these values: it isn't publishable.
    """

    column: Column
    values: pl.Series
    ordered: bool
    missing: bool
    hierarchy: Hierarchy | None = None
    grid: RangeGrid | None = None

    def __repr__(self) -> str:
        return f"Coding({self.column.name!r}, {self.n_codes} codes)"

    @property
    def n_values(self) -> int:
        """How many distinct values were seen."""
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """How many codes there are, the one for missing cells included."""
        return len(self.values) + int(self.missing)

    @property
    def boundaries(self) -> NDArray[np.uint8]:
        """The hierarchy level at which each code and the next merge, (n_codes - 1,)."""
        if self.hierarchy is None:
            return np.zeros(max(0, self.n_codes - 1), dtype=np.uint8)
        edges = np.asarray(self.hierarchy.boundaries, dtype=np.uint8)
        return np.append(edges, np.uint8(APART)) if self.missing else edges

    def codes(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the code of each cell; -1 for a category, or a missing cell, never seen.

        A number that was never seen takes the code of the next smaller one that was, or the first.
        """
        codes = self._codes_of_values(series)
        if series.null_count():
            codes[series.is_null().to_numpy()] = self.n_values if self.missing else -1
        return codes

    def _codes_of_values(self, series: pl.Series) -> NDArray[np.int64]:
        if not self.n_values:
            return np.full(len(series), -1, dtype=np.int64)
        if not self.ordered:
            # As hierarchies spell them: a column of whole numbers may come back as floats.
            texts = pl.Enum(leaf_text(self.values))
            found = leaf_text(series).cast(texts, strict=False)
            places: NDArray[np.int64] = (
                found.to_physical().cast(pl.Int64).fill_null(-1).to_numpy(writable=True)
            )
            return places
        physical, known = self.alike(series).to_physical(), self.values.to_physical()
        if physical.dtype in _TABLE_TYPES and known.dtype in _TABLE_TYPES:
            low, high = int(known[0]), int(known[-1])
            if high - low < TABLE_SPAN:
                return _by_table(physical, known.to_numpy(), low, high)
        found = known.search_sorted(physical.fill_null(known[0]), side="right")
        places = found.cast(pl.Int64).to_numpy().astype(np.int64)
        return np.maximum(places - 1, 0, out=places)

    def alike(self, series: pl.Series) -> pl.Series:
        """Return the cells in the type of the values, or in one that compares with it."""
        here, there = series.dtype, self.values.dtype
        if here == there or (_is_plain_number(here) and _is_plain_number(there)):
            return series
        alike = (here.is_numeric() and there.is_numeric()) or here.base_type() in (
            [pl.Date, pl.Datetime]
            if there.base_type() in (pl.Date, pl.Datetime)
            else [there.base_type()]
        )
        if series.null_count() == len(series):
            return pl.Series(series.name, [None], dtype=there).new_from_index(0, len(series))
        if not alike or _zoned(here) != _zoned(there):
            raise SchemaError(
                f"Column {self.column.name!r} held {there} at the fit. Got {here}.",
                hint="Read the new table with the same column types.",
            )
        try:
            return series.cast(there)
        except pl.exceptions.PolarsError:
            raise SchemaError(
                f"Column {self.column.name!r} held {there} at the fit; {here} can't be turned "
                "into it.",
                hint="Read the new table with the same column types.",
            ) from None


def code_column(column: Column, values: pl.Series, *, missing: bool) -> Coding:
    """Make the coding of a column from its distinct values."""
    _check_kind(column, values)
    ordered = _is_ordered(values.dtype) and column.kind not in ("categorical", "text")
    values = _sorted(values)
    if column.hierarchy is None or not len(values):
        if column.order and values.dtype == pl.String:
            places = values.cast(pl.Enum(column.order)).to_physical()
            values = values.gather(places.arg_sort())
        return Coding(column=column, values=values, ordered=ordered, missing=missing)
    given = column.hierarchy
    hierarchy = given if isinstance(given, Hierarchy) else given.build(values, column=column.name)
    places = hierarchy.codes(values, column=column.name)
    by_tree = places.arg_sort()
    values = values.gather(by_tree)
    return Coding(
        column=column,
        values=values,
        ordered=ordered and values.is_sorted(),
        missing=missing,
        # Levels that no row needs must not travel on, nor count as something that was covered.
        hierarchy=Hierarchy.from_levels(
            hierarchy.levels[places.gather(by_tree)], column=column.name
        ),
    )


def _is_ordered(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype.is_temporal()


def _zoned(dtype: pl.DataType) -> bool:
    """Return whether it is a time with a zone, which isn't the same without one."""
    return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None


def _is_plain_number(dtype: pl.DataType) -> bool:
    """Return whether the type's physical numbers are its values; decimals are scaled."""
    return dtype.is_integer() or dtype.is_float()


def _check_kind(column: Column, values: pl.Series) -> None:
    if column.kind in ("numeric", "datetime") and len(values) and not _is_ordered(values.dtype):
        raise _no_numbers(column, values)
    has_order = column.hierarchy is not None or column.order
    if column.kind == "ordinal" and not has_order and values.dtype == pl.String and len(values):
        _check_order(column.name, values)
    if values.dtype == pl.Duration:
        raise SchemaError(
            f"Column {column.name!r} holds spans of time, which have no text to write.",
            hint="Turn them into numbers, such as hours.",
        )
    if values.dtype.is_float() and values.is_infinite().any():
        raise SchemaError(
            f"Column {column.name!r} holds infinite numbers; no range can hold them.",
            hint="Replace them, or mark them as missing.",
        )


def _no_numbers(column: Column, values: pl.Series) -> SchemaError:
    """Return the error of a column that holds texts, with what is to be declared if that shows."""
    form = form_of(values) if values.dtype == pl.String else None
    if form is None or form.is_number != (column.kind == "numeric"):
        return SchemaError(
            f"Column {column.name!r} has kind {column.kind}, but holds {values.dtype}.",
            hint="Declare how it is written by date_formats or number_formats[[| under [input]]], "
            "or make it categorical.",
        )
    others = f" {form.unread:,} aren't." if form.unread else ""
    return SchemaError(
        f"Column {column.name!r} has kind {column.kind}, but holds texts: {form.fits:,} of "
        f"{len(values):,} different texts are written as {form.spelling}.{others}",
        hint=f"Declare {form.declared} [[in ReadOptions|under [input]]]"
        f"{', and list the column under coerce to make the others missing' * bool(others)}.",
    )


def _check_order(name: str, values: pl.Series) -> None:
    if not has_order(values) and values.cast(pl.Int64, strict=False).null_count():
        raise SchemaError(
            f"Column {name!r} has kind ordinal, but its texts have no order.",
            hint="Give it a hierarchy with the order, such as hierarchy = { order = [[...]] } in a "
            "policy, or make it categorical.",
        )


def _sorted(values: pl.Series) -> pl.Series:
    """Return the values in order; texts that are numbers or labels of ranges by their numbers."""
    if values.dtype == pl.String:
        numbers = values.cast(pl.Int64, strict=False)
        if numbers.null_count() == 0:
            # "1" and "01" are two texts: the text decides, whatever order they came in.
            both = pl.DataFrame({"number": numbers, "text": values}).sort("number", "text")
            return both["text"].alias(values.name)
        return natural_order(values)
    return values.sort()


def _by_table(
    physical: pl.Series, known: NDArray[np.int64], low: int, high: int
) -> NDArray[np.int64]:
    table = np.zeros(high - low + 1, dtype=np.int64)
    table[known[1:].astype(np.int64) - low] = 1
    np.cumsum(table, out=table)
    shifted = physical.fill_null(low).to_numpy().astype(np.int64) - low
    codes: NDArray[np.int64] = table[np.clip(shifted, 0, high - low)]
    return codes


def relative_weights(weights: Iterable[float]) -> NDArray[np.float64]:
    """Return weights scaled so that their mean is 1.

    Notes
    -----
    **Guarantees.** Equal weights are exactly 1 each, whatever they are.

    Examples
    --------
    >>> relative_weights([3, 1]), relative_weights([0.1, 0.1, 0.1])
    (array([1.5, 0.5]), array([1., 1., 1.]))
    """
    given = np.array(list(weights), dtype=np.float64)
    if (given == given[:1]).all():
        return np.ones_like(given)
    given /= given.max()  # so that no sum of large weights overflows
    relative: NDArray[np.float64] = given * (len(given) / given.sum())
    return relative


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

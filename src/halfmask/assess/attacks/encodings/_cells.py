"""Cells as arrays: numbers and dates as floats, everything as codes, missing ones marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A column of fewer values isn't taken for one of numbers that were mixed.
_FEWEST_VALUES = 8
# Types whose order is a matter of the file, and those that polars doesn't rank.
_WORDS = (pl.Categorical, pl.Enum, pl.Boolean)


def is_number(dtype: pl.DataType) -> bool:
    """Return whether cells have an order and a distance: numbers, dates, times."""
    return dtype.is_numeric() or dtype.is_temporal()


def numbers(column: pl.Series) -> NDArray[np.float64]:
    """Return an ordered column as floats, NaN where a cell is missing or infinite."""
    ticks = column.to_physical() if column.dtype.is_temporal() else column
    values = ticks.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def number_columns(frame: pl.DataFrame) -> list[str]:
    """Return the ordered columns that vary, in the table's order."""
    found = []
    for name, dtype in frame.schema.items():
        if is_number(dtype):
            present = numbers(frame[name])
            present = present[np.isfinite(present)]
            if len(present) and present.min() < present.max():
                found.append(name)
    return found


def mixed_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns that may be coordinates of mixed numbers.

    Those that aren't whole numbers; where there are none, numbers of many different values.
    """
    ordered = number_columns(frame)
    broken = [name for name in ordered if not _whole(numbers(frame[name]))]
    return broken or [name for name in ordered if frame[name].n_unique() >= _FEWEST_VALUES]


def _whole(values: NDArray[np.float64]) -> bool:
    present = values[np.isfinite(values)]
    return bool((present == np.rint(present)).all())


def filled(frame: pl.DataFrame, names: list[str]) -> NDArray[np.float64]:
    """Return ordered columns as a matrix, the mean in place of what is missing; 0 without any."""
    matrix = np.column_stack([numbers(frame[name]) for name in names])
    present = np.isfinite(matrix)
    means = np.where(present, matrix, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.where(present, matrix, means)


def codes(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Return a number for each different cell, missing ones alike, and how many there are."""
    plain = column.cast(pl.String) if isinstance(column.dtype, _WORDS) else column
    ranked = plain.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    _, dense = np.unique(ranked, return_inverse=True)
    dense = dense.ravel().astype(np.int64)
    return dense, int(dense.max()) + 1 if len(dense) else 0


def table_codes(first: pl.Series, second: pl.Series) -> tuple[NDArray[np.int64], ...]:
    """Return numbers of the cells of two columns, equal where the cells are equal."""
    if first.dtype != second.dtype:
        first, second = first.cast(pl.String), second.cast(pl.String)
    both, _ = codes(pl.concat([first, second.alias(first.name)]))
    return both[: len(first)], both[len(first) :]


def some_rows(n: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return at most so many rows, drawn without repetition, ascending."""
    if n <= most:
        return np.arange(n, dtype=np.int64)
    return np.sort(rng.choice(n, most, replace=False)).astype(np.int64)

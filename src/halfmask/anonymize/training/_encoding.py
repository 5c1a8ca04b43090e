"""Encoding: the space that a model sees, and which of its columns tell of quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import clone

from halfmask._errors import DataError
from halfmask.data import to_polars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Encoding", "Standard", "as_table"]


def as_table(rows: Any) -> pl.DataFrame:  # noqa: ANN401 # any table
    """Return rows as polars: a frame's columns by their names, an array's as x0, x1, ..."""
    if isinstance(rows, np.ndarray) or not hasattr(rows, "columns"):
        array = np.asarray(rows)
        if array.ndim != 2:
            raise DataError(f"Rows must be a table (rows, columns). Got shape {array.shape}.")
        columns = [
            pl.Series(
                f"x{i}",
                array[:, i].tolist() if array.dtype.kind == "O" else array[:, i],
                strict=False,
            )
            for i in range(array.shape[1])
        ]
        return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))
    return to_polars(rows).with_columns(pl.selectors.float().fill_nan(None))


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    """Return a column of numbers, dates or truths as floats; missing is NaN."""
    physical = column.to_physical() if column.dtype.is_temporal() else column
    numbers: NDArray[np.float64] = physical.cast(pl.Float64).to_numpy()
    return numbers


class Standard:
    """Numbers to mean 0 and deviation 1, a column of 0 and 1 for each category.

    Missing numbers become the mean, missing categories and those never seen zeros in all columns.
    The means, deviations and names of categories are those of the fitted rows.
    """

    def __repr__(self) -> str:
        return "Standard()"

    def fit(self, table: pl.DataFrame) -> Standard:
        """Learn means, deviations and categories."""
        self.numbers_: dict[str, tuple[float, float]] = {}
        self.categories_: dict[str, pl.Series] = {}
        for name in table.columns:
            column = table[name]
            if (
                column.dtype.is_numeric()
                or column.dtype.is_temporal()
                or column.dtype == pl.Boolean
            ):
                numbers = _numbers(column)
                known = numbers[np.isfinite(numbers)]
                mean = float(known.mean()) if len(known) else 0.0
                deviation = float(known.std()) if len(known) else 0.0
                self.numbers_[name] = (mean, deviation if deviation > 0 else 1.0)
            else:
                texts = column.cast(pl.String)
                self.categories_[name] = texts.drop_nulls().unique().sort()
        return self

    def transform(self, table: pl.DataFrame) -> NDArray[np.float64]:
        """Return the rows as numbers."""
        parts = []
        for name, (mean, deviation) in self.numbers_.items():
            scaled = (_numbers(table[name]) - mean) / deviation
            parts.append(np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0)[:, None])
        for name, categories in self.categories_.items():
            codes = (
                table[name]
                .cast(pl.String)
                .replace_strict(
                    categories,
                    pl.int_range(len(categories), eager=True),
                    default=None,
                    return_dtype=pl.Int64,
                )
                .fill_null(-1)
                .to_numpy()
                if len(categories)
                else np.full(table.height, -1)
            )
            parts.append(np.equal(codes[:, None], np.arange(len(categories))).astype(np.float64))
        return np.hstack(parts)


class Encoding:
    """An encoder fitted to rows, and which of its columns depend on the quasi-identifiers.

    Parameters
    ----------
    encoder
        Anything with ``fit`` and ``transform`` that makes numbers of the rows as they were given;
        ``None``: :class:`Standard`.
    quasi_identifiers
        Their names in the table.

    Notes
    -----
    Which columns depend on quasi-identifiers is found by trying: the quasi-identifiers of each row
    are given to its neighbour, in several orders, and a column that changes depends on them.
    """

    def __init__(self, encoder: Any, quasi_identifiers: Sequence[str]) -> None:  # noqa: ANN401
        self.encoder = encoder
        self.quasi_identifiers = tuple(quasi_identifiers)

    def fit(self, rows: Any) -> Encoding:  # noqa: ANN401 # any table
        """Fit the encoder, and find the columns that depend on quasi-identifiers."""
        table = as_table(rows)
        self.fitted_ = (
            Standard().fit(table) if self.encoder is None else clone(self.encoder).fit(rows)
        )
        encoded = self.encode(rows)
        shifts = (1, max(1, table.height // 2), max(1, table.height // 3))
        self.depends_ = np.zeros(encoded.shape[1], dtype=np.bool_)
        for shift in shifts:
            swapped = self.encode(self._swapped(rows, table, self.quasi_identifiers, shift))
            self.depends_ |= ~np.equal(swapped, encoded).all(axis=0)
        places = np.cumsum(self.depends_) - 1
        self.parts_ = []
        for name in self.quasi_identifiers:
            swapped = self.encode(self._swapped(rows, table, (name,), 1))
            changed = self.depends_ & ~np.equal(swapped, encoded).all(axis=0)
            self.parts_.append(places[changed].astype(np.int64))
        return self

    def encode(self, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model sees them.

        Raises
        ------
        DataError
            If the encoder's numbers aren't finite, or not one row for each.
        """
        given = as_table(rows) if self.encoder is None else rows
        encoded = self.fitted_.transform(given)
        dense = np.asarray(
            encoded.toarray() if hasattr(encoded, "toarray") else encoded, dtype=np.float64
        )
        if dense.ndim != 2 or len(dense) != len(rows):
            raise DataError(f"The encoder must return a row for each. Got shape {dense.shape}.")
        if not np.isfinite(dense).all():
            raise DataError(
                f"The encoder returns missing or infinite numbers in "
                f"{int((~np.isfinite(dense)).any(axis=0).sum())} of its columns.",
                hint="Let it fill in what is missing.",
            )
        return dense

    @staticmethod
    def _swapped(
        rows: Any,  # noqa: ANN401 # any table
        table: pl.DataFrame,
        names: Sequence[str],
        shift: int,
    ) -> Any:  # noqa: ANN401 # the same
        """Return the rows, each with another's values of some columns."""
        order = np.roll(np.arange(table.height), shift)
        if isinstance(rows, np.ndarray) or not hasattr(rows, "columns"):
            array = np.asarray(rows).copy()
            places = [table.columns.index(name) for name in names]
            array[:, places] = array[order][:, places]
            return array
        if hasattr(rows, "iloc"):
            frame = rows.copy()
            for name in names:
                frame[name] = rows[name].to_numpy()[order]
            return frame
        return table.with_columns(table.select(list(names))[order])

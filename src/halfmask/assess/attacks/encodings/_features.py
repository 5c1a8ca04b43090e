"""Features: all columns but an encoded one, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.encodings._cells import codes, number_columns, numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_MAX_CODES = 250


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Features:
    """Encoded rows as centred numbers, with the products of all pairs of them.

    Ordered columns are taken as they are and as their ranks; those of few different cells also cell
    by cell, since they may be codes.
    """

    rows: NDArray[np.float32]
    products: NDArray[np.float64]
    column: NDArray[np.int64]

    @classmethod
    def of(cls, encoded: pl.DataFrame) -> Features:
        """Return the numbers of an encoded table."""
        ordered = set(number_columns(encoded))
        parts: list[NDArray[np.float32]] = []
        column: list[int] = []
        for place, name in enumerate(encoded.columns):
            encodings = _cell_by_cell(encoded[name])
            if name in ordered:
                values = numbers(encoded[name])
                values = np.where(np.isfinite(values), values, np.nanmean(values))
                ranks = np.argsort(np.argsort(values)).astype(np.float64)
                encodings += [_standard(values), _standard(ranks)]
            parts += encodings
            column += [place] * sum(part.shape[1] for part in encodings)
        rows = np.concatenate(parts, axis=1) if parts else np.zeros((encoded.height, 0), np.float32)
        products = (rows.T @ rows).astype(np.float64) / max(1, len(rows))
        return cls(rows=rows, products=products, column=np.array(column, dtype=np.int64))

    def without(self, place: int) -> Features:
        """Return them without those of one encoded column."""
        kept = np.flatnonzero(self.column != place)
        return Features(
            rows=self.rows[:, kept],
            products=self.products[np.ix_(kept, kept)],
            column=self.column[kept],
        )


def _cell_by_cell(column: pl.Series) -> list[NDArray[np.float32]]:
    of_row, n = codes(column)
    if not 1 < n <= _MAX_CODES:
        return []
    one_hot = np.zeros((len(of_row), n), dtype=np.float32)
    one_hot[np.arange(len(of_row)), of_row] = 1.0
    return [one_hot - one_hot.mean(axis=0)]


def _standard(values: NDArray[np.float64]) -> NDArray[np.float32]:
    scaled = (values - values.mean()) / max(float(values.std()), 1e-12)
    return np.asarray(scaled.astype(np.float32)[:, None])

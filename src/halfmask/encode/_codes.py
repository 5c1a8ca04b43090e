"""A column of categories as keyed codes, frequent ones split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Codes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """A keyed map of a column's values to codes, one or more for each value.

    Parameters
    ----------
    name, token
        The column's name at home, and what it is called elsewhere.
    values
        The fitted values, each once. Where missing cells are hidden, one of them is missing.
    value_of
        For each code, the number of its value; -1 for the code of values never seen.
    weights
        For each code, its share of its value's fitted rows; the codes of a value sum to 1.
    cuts
        For each value, where its rows part into its codes by their score, ascending; empty for a
        value with one code.
    unseen
        ``"error"``, or ``"reserve"`` for one code that stands for all values never seen.
    hidden
        Whether a missing cell has a code as values do.

    Guarantees
    ----------
    The codes are those of a permutation that is uniform for whoever doesn't know the key. Every
    code but the reserved one decodes to its value, bit-equal.
    """

    name: str
    token: str
    values: pl.Series
    value_of: NDArray[np.int64]
    weights: NDArray[np.float64]
    cuts: tuple[NDArray[np.float64], ...]
    unseen: str
    hidden: bool

    @property
    def is_split(self) -> bool:
        """Whether any value has more than one code."""
        return any(len(cut) for cut in self.cuts)

    @property
    def dtype(self) -> pl.DataType:
        """The column's type at home."""
        return self.values.dtype

    def siblings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all codes grouped by their value, and where each value's codes begin."""
        kept = np.flatnonzero(self.value_of >= 0)
        grouped = kept[np.argsort(self.value_of[kept], kind="stable")]
        return grouped, np.searchsorted(self.value_of[grouped], np.arange(len(self.values) + 1))

    def places(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the number of each cell's value; -1 if never seen, -2 if missing and not coded."""
        known = pl.DataFrame({"value": self.values, "place": np.arange(len(self.values))})
        cells = pl.DataFrame({"value": column})
        joined = cells.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
        places = joined["place"].fill_null(-1).to_numpy().astype(np.int64)
        if not self.hidden:
            places[column.is_null().to_numpy()] = -2
        return places

    def encode(self, places: NDArray[np.int64], score: NDArray[np.float64] | None) -> pl.Series:
        """Return the codes of cells, by the numbers of their values and their rows' scores.

        Raises
        ------
        SchemaError
            If values were never seen and no code is reserved for them, with their number.
        """
        unseen = places == -1
        if unseen.any() and self.unseen == "error":
            raise SchemaError(
                f"Column {self.name!r} has {int(unseen.sum())} cells whose values were not there "
                "at the fit.",
                hint='Fit the codec to all categories, or make it with unseen="reserve".',
            )
        grouped, starts = self.siblings()
        if not len(self.values):  # a column that was all missing at the fit
            starts = np.zeros(1, dtype=np.int64)
        within = np.zeros(len(places), dtype=np.int64)
        if score is not None:
            for value, cut in enumerate(self.cuts):
                if len(cut):
                    rows = np.flatnonzero(places == value)
                    within[rows] = np.searchsorted(cut, score[rows], side="right")
        codes = np.full(len(places), self._reserved, dtype=np.int64)
        seen = places >= 0
        codes[seen] = grouped[starts[places[seen]] + within[seen]]
        return pl.Series(self.token, codes).set(pl.Series(places == -2), None)

    def decode(self, coded: pl.Series) -> pl.Series:
        """Return the values of codes.

        Raises
        ------
        DataError
            If a cell holds the reserved code, or none of this column's codes.
        """
        codes = coded.cast(pl.Int64).fill_null(-1).to_numpy()
        present = coded.is_not_null().to_numpy()
        places = self.places_of(codes, present)
        taken = pl.Series(places).set(pl.Series(~present), None)
        return self.values.gather(taken).alias(self.name)

    def places_of(self, codes: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the numbers of the values of codes; see `decode`."""
        wrong = present & ((codes < 0) | (codes >= len(self.value_of)))
        places = np.full(len(codes), -1, dtype=np.int64)
        right = present & ~wrong
        places[right] = self.value_of[codes[right]]
        lost = int((present & (places < 0)).sum())
        if lost:
            raise DataError(
                f"Column {self.name!r} has {lost} codes that stand for no value of the fit.",
                hint="They were made by another codec, or from values that it never saw.",
            )
        return places

    @property
    def _reserved(self) -> int:
        reserved = np.flatnonzero(self.value_of < 0)
        return int(reserved[0]) if len(reserved) else -1

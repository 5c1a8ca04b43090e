"""Rows and cells as integers: sensitive values, persons, and what is written for a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from halfmask.guarantees import value_codes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveCodes:
    """One sensitive column of the rows that were fitted, and the order of all its values."""

    name: str
    order: tuple[str, ...]
    n_values: int
    codes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"SensitiveCodes({self.name!r}, {self.n_values} values)"

    @classmethod
    def of(cls, series: pl.Series, *, order: tuple[str, ...], missing: bool) -> Self:
        """Code the rows of a fit."""
        codes, _ = value_codes(series, order=order)
        return cls(name=series.name, order=order, n_values=len(order) + missing, codes=codes)

    def of_batch(self, series: pl.Series) -> NDArray[np.int64]:
        """Code the rows of another batch in the same way."""
        return value_codes(series, order=self.order)[0]


def narrow(codes: NDArray[np.integer[Any]], n_codes: int) -> NDArray[np.unsignedinteger[Any]]:
    """Return codes from 0 in the narrowest type that holds them: a large table has many."""
    return codes.astype(np.min_scalar_type(max(0, n_codes - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCodes:
    """The person of each row that was fitted, and all persons of the table."""

    known: pl.DataFrame
    codes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"PersonCodes({self.n_persons} persons)"

    @classmethod
    def of(cls, series: pl.Series, values: pl.Series) -> Self:
        """Return the persons of a fit as numbers."""
        known = pl.DataFrame(
            {"value": values, "person": np.arange(len(values), dtype=np.int64)},
        )
        return cls(known=known, codes=_person_numbers(series, known))

    @property
    def n_persons(self) -> int:
        """How many persons the table has."""
        return self.known.height

    def of_batch(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the persons of other rows by the same numbers."""
        return _person_numbers(series, self.known)

    def as_lane(self, name: str) -> SensitiveCodes:
        """Return the persons as a column whose different values the engine can count."""
        return SensitiveCodes(name=name, order=(), n_values=self.n_persons, codes=self.codes)


def _person_numbers(series: pl.Series, known: pl.DataFrame) -> NDArray[np.int64]:
    """Return the number of each person; texts are compared as texts."""
    dtype = known["value"].dtype
    if isinstance(dtype, pl.Categorical | pl.Enum) or isinstance(
        series.dtype, pl.Categorical | pl.Enum
    ):
        known = known.with_columns(pl.col("value").cast(pl.String))
        series = series.cast(pl.String)
    asked = pl.DataFrame({"value": series})
    found = asked.join(known, on="value", how="left", maintain_order="left", nulls_equal=True)
    return found["person"].to_numpy().astype(np.int64)


def written_codes(
    columns: Iterable[tuple[NDArray[np.integer], NDArray[np.integer], int]], n_cells: int
) -> NDArray[np.int64]:
    """Return the number of what is written for each cell in each column, (cells, columns).

    Notes
    -----
    **Guarantees.** Cells of one number have one text, by the recodings `Ranges` and `Level`: their
    texts depend on the least and the greatest value of a cell, and on whether cells are missing.
    """
    return np.column_stack([_written_numbers(*column, n_cells) for column in columns])


def _written_numbers(
    cells: NDArray[np.integer], codes: NDArray[np.integer], n_values: int, n_cells: int
) -> NDArray[np.int64]:
    low = np.full(n_cells, n_values, dtype=np.int64)
    high = np.full(n_cells, -1, dtype=np.int64)
    missing = np.zeros(n_cells, dtype=np.int64)
    held = codes < n_values
    np.minimum.at(low, cells[held], codes[held].astype(np.int64))
    np.maximum.at(high, cells[held], codes[held].astype(np.int64))
    missing[cells[~held]] = 1
    keys = (low * (n_values + 1) + high + 1) * 2 + missing
    numbers: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return numbers

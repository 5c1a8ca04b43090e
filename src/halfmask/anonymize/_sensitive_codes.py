"""A sensitive column's values as small integers in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask.guarantees import value_codes

if TYPE_CHECKING:
    import polars as pl
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

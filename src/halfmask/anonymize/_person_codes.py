"""The persons of a table as integers: rows of one person have one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from halfmask.anonymize._sensitive_codes import SensitiveCodes

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCodes:
    """The person of each row that was fitted, and all persons of the table.

    Parameters
    ----------
    known
        Each person and their number from 0: ``value``, ``person``.
    codes
        The person of each row.
    """

    known: pl.DataFrame
    codes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"PersonCodes({self.n_persons} persons)"

    @classmethod
    def of(cls, series: pl.Series, values: pl.Series) -> Self:
        """Return the persons of a fit as numbers.

        Parameters
        ----------
        series
            The person of each row; none is missing.
        values
            Every person of the table once.
        """
        known = pl.DataFrame(
            {"value": values, "person": np.arange(len(values), dtype=np.int64)},
        )
        return cls(known=known, codes=_numbers(series, known))

    @property
    def n_persons(self) -> int:
        """How many persons the table has."""
        return self.known.height

    def of_batch(self, series: pl.Series) -> NDArray[np.int64]:
        """Return the persons of other rows by the same numbers.

        Parameters
        ----------
        series
            The person of each row.
        """
        return _numbers(series, self.known)

    def as_lane(self, name: str) -> SensitiveCodes:
        """Return the persons as a column whose different values the engine can count.

        Parameters
        ----------
        name
            The name of the column.
        """
        return SensitiveCodes(name=name, order=(), n_values=self.n_persons, codes=self.codes)


def _numbers(series: pl.Series, known: pl.DataFrame) -> NDArray[np.int64]:
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

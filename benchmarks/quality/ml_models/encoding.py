"""What the models see: scaled numbers and one column a category.

Fitted once for each (data set, seed), on the raw training rows: their means, deviations and
categories. The same encoding is used for the raw table, every anonymized one and the test rows, so
that models differ in their rows only. A category that the training rows lack becomes zeros, the
rarest of a column with more than `MOST_CATEGORIES` share one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CATEGORIES = 64

Matrix: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Scales numbers to mean 0 and deviation 1, and gives each category a column of 0 and 1.

    Parameters
    ----------
    numeric, categorical
        The attributes, in the order of their columns: numbers first.
    means, deviations
        Of the numbers in the training rows.
    categories
        For each categorical attribute the categories with a column of their own; the last column of
        an attribute with more than `MOST_CATEGORIES` is for all others.
    """

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    categories: dict[str, tuple[str, ...]]
    shares_last: dict[str, bool]

    @classmethod
    def fitted(
        cls, frame: pl.DataFrame, numeric: Sequence[str], categorical: Sequence[str]
    ) -> Encoder:
        """Learn the means, deviations and categories of the training rows."""
        numbers = frame.select(numeric).to_numpy() if numeric else np.zeros((frame.height, 0))
        deviations = numbers.std(axis=0)
        categories, shares_last = {}, {}
        for name in categorical:
            counts = frame[name].value_counts().sort(["count", name], descending=[True, False])
            shares_last[name] = counts.height > MOST_CATEGORIES
            kept = counts[name].to_list()[: MOST_CATEGORIES - 1 if shares_last[name] else None]
            categories[name] = tuple(sorted(kept))
        return cls(
            numeric=tuple(numeric),
            categorical=tuple(categorical),
            means=numbers.mean(axis=0),
            deviations=np.where(deviations > 0, deviations, 1.0),
            categories=categories,
            shares_last=shares_last,
        )

    @property
    def width(self) -> int:
        """How many columns the models see."""
        return sum(len(self.columns_of(name)) for name in (*self.numeric, *self.categorical))

    def columns_of(self, attribute: str) -> range:
        """Return the columns of an attribute."""
        if attribute in self.numeric:
            place = self.numeric.index(attribute)
            return range(place, place + 1)
        start = len(self.numeric)
        for name in self.categorical:
            stop = start + len(self.categories[name]) + self.shares_last[name]
            if name == attribute:
                return range(start, stop)
            start = stop
        message = f"no attribute {attribute!r}"
        raise KeyError(message)

    def encode(self, frame: pl.DataFrame) -> Matrix:
        """Return the rows as the models see them."""
        encoded = np.zeros((frame.height, self.width), dtype=np.float32)
        if self.numeric:
            numbers = frame.select(self.numeric).to_numpy().astype(np.float64)
            encoded[:, : len(self.numeric)] = (numbers - self.means) / self.deviations
        for name in self.categorical:
            columns = self.columns_of(name)
            known = self.categories[name]
            codes = frame[name].replace_strict(
                known, range(len(known)), default=-1, return_dtype=pl.Int32
            )
            rows = np.flatnonzero(codes.to_numpy() >= 0)
            encoded[rows, columns[0] + codes.to_numpy()[rows]] = 1.0
            if self.shares_last[name]:
                encoded[:, columns[-1]] = 1.0 - encoded[:, columns[0] : columns[-1]].sum(axis=1)
        return encoded


class FittedEncoding(TransformerMixin, BaseEstimator):  # type: ignore[misc] # has no types
    """The encoder as scikit-learn knows them; it is fitted already, and stays so."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, rows: object, labels: object = None) -> Self:  # noqa: ARG002 # fitted before
        return self

    def transform(self, rows: pl.DataFrame) -> Matrix:
        return self.encoder.encode(rows)

"""Coded columns as points whose distances say how much rows differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask._errors import ParameterError
from halfmask.anonymize.coding import relative_weights
from halfmask.kernels.partition.mdav import MEAN, MEDIAN, MISSING, MODE, PointColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.coding import Coding

#: How many standard deviations a missing cell is away from all values of its column.
MISSING_GAP = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Where each code of each column lies."""

    places: tuple[NDArray[np.float64], ...]
    averages: tuple[int, ...]
    capped: bool

    def __repr__(self) -> str:
        return f"Axes({len(self.places)} columns)"

    @classmethod
    def of(cls, codings: Sequence[Coding], codes: Sequence[NDArray[np.integer]]) -> Self:
        """Return the axes of columns: standardized if all are numbers or dates, else Gower's."""
        weights = relative_weights(coding.column.weight for coding in codings)
        if all(coding.ordered for coding in codings):
            # Squared gaps are added: a root makes each count by its weight.
            several = zip(codings, codes, np.sqrt(weights), strict=True)
            places = tuple(root * _standardized(coding, column) for coding, column, root in several)
            return cls(places=places, averages=(MEAN,) * len(places), capped=False)
        if (weights != 1).any():
            raise ParameterError(
                "Mdav weighs columns only where all quasi-identifiers are numbers or dates.",
                hint="Leave the weights out, or use another method, such as "
                "[[Mondrian()|mondrian]].",
            )
        averages = tuple(
            MEAN if it.ordered else MEDIAN if it.column.kind == "ordinal" else MODE
            for it in codings
        )
        places = tuple(map(_within_one, codings, averages))
        return cls(places=places, averages=averages, capped=True)

    def points(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
        """Return rows of codes as points, (rows, dimensions)."""
        found = [places[column] for places, column in zip(self.places, codes, strict=True)]
        return np.ascontiguousarray(np.concatenate(found, axis=1))

    def columns(self, codes: Sequence[NDArray[np.integer]]) -> PointColumns:
        """Return how the points of these rows are compared and averaged."""
        if not self.capped:
            return PointColumns.means(sum(places.shape[1] for places in self.places))
        levels = [
            np.zeros(0) if average == MEAN else places[:, 0]
            for places, average in zip(self.places, self.averages, strict=True)
        ]
        return PointColumns(
            capped=True,
            averages=np.array(self.averages, dtype=np.int64),
            codes=np.stack(codes, axis=1).astype(np.int32),
            levels=np.concatenate(levels),
            offsets=np.cumsum([0, *(len(each) for each in levels)]).astype(np.int64),
        )


def _standardized(coding: Coding, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return a mean of 0 and a deviation of 1 over the rows; missing on an axis of its own."""
    values, counts = _place_numbers(coding), np.bincount(codes, minlength=coding.n_codes)
    weights = counts[: coding.n_values]
    n = max(1, int(weights.sum()))
    centred = values - (weights @ values) / n
    spread = float(np.sqrt(weights @ centred**2 / n))
    places = (centred / spread if spread else np.zeros(len(values)))[:, None]
    if not coding.missing:
        return places
    known = np.concatenate([places, np.zeros_like(places)], axis=1)
    return np.concatenate([known, [[0.0, MISSING_GAP]]])


def _within_one(coding: Coding, average: int) -> NDArray[np.float64]:
    """Return places from 0 to 1, or a category's code; missing is 1 or more from all of them."""
    n = coding.n_values
    if average == MODE:
        return np.arange(float(coding.n_codes))[:, None]
    if average == MEDIAN or n == 0:
        places = np.arange(n) / max(1, n - 1)
    else:
        values = _place_numbers(coding)
        width = float(values[-1] - values[0])
        places = (values - values[0]) / width if width else np.zeros(n)
    return (np.append(places, MISSING) if coding.missing else places)[:, None]


def _place_numbers(coding: Coding) -> NDArray[np.float64]:
    """Return the values as numbers of at most 1, so that their squares are finite."""
    values = coding.values
    plain = values.to_physical() if values.dtype.is_temporal() else values
    numbers: NDArray[np.float64] = plain.cast(float).to_numpy()
    greatest = float(np.abs(numbers).max(initial=0.0))
    return numbers / greatest if greatest else numbers

"""Least squares over any number of rows, and whether what is left is white."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Rows that are looked at together.
CHUNK = 16_384
# Numbers of a design that are kept; a larger one is made again for every fit.
_MAX_KEPT = 2**25
# Added to the diagonal, as a share of it: columns that say the same share their weight.
_RIDGE = 1e-7


def gram(
    design: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    target: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``X'X`` and ``X'y`` over these rows."""
    width = design(rows[:1]).shape[1]
    square, cross = np.zeros((width, width)), np.zeros(width)
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        matrix = design(chunk)
        square += matrix.T @ matrix
        cross += matrix.T @ target[chunk]
    return square, cross


def solve(square: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients, slightly shrunk so that they always exist."""
    if not len(cross):
        return cross
    return np.asarray(np.linalg.solve(_shrunk(square), cross), dtype=np.float64)


def _shrunk(square: NDArray[np.float64]) -> NDArray[np.float64]:
    shrunk = square.copy()
    diagonal = np.diagonal(square)
    shrunk[np.diag_indices_from(shrunk)] += _RIDGE * np.maximum(
        diagonal, diagonal.max() * 1e-6 or 1.0
    )
    return shrunk


class Regression:
    """Fits many targets by one design, over the same rows."""

    def __init__(
        self,
        design: Callable[[NDArray[np.int64]], NDArray[np.float64]],
        rows: NDArray[np.int64],
        n: int,
    ) -> None:
        from scipy.linalg import lu_factor  # noqa: PLC0415 # scipy loads late

        self._rows, self._n, self._design = rows, n, design
        self._kept: dict[int, NDArray[np.float64]] = {}
        everything = np.arange(n, dtype=np.int64)
        self._chunks = [everything[start : start + CHUNK] for start in range(0, n, CHUNK)]
        self.width = design(everything[:1]).shape[1]
        self._keeps = self.width * n <= _MAX_KEPT
        self._fits = np.zeros(n, dtype=np.bool_)
        self._fits[rows] = True
        self._square = np.zeros((self.width, self.width))
        for place, chunk in enumerate(self._chunks):
            matrix = self._matrix(place)[self._fits[chunk]]
            self._square += matrix.T @ matrix
        self._factor = lu_factor(_shrunk(self._square))

    def weights(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights that say most of a target over the rows."""
        from scipy.linalg import lu_solve  # noqa: PLC0415 # scipy loads late

        cross = np.zeros(self.width)
        for place, chunk in enumerate(self._chunks):
            cross += self._matrix(place).T @ np.where(self._fits[chunk], target[chunk], 0.0)
        return np.asarray(lu_solve(self._factor, cross), dtype=np.float64)

    def along(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what weights say of every row, fitted or not."""
        fitted = [self._matrix(place) @ weights for place in range(len(self._chunks))]
        return np.concatenate(fitted)

    def _matrix(self, place: int) -> NDArray[np.float64]:
        if place in self._kept:
            return self._kept[place]
        matrix = self._design(self._chunks[place])
        if self._keeps:
            self._kept[place] = matrix
        return matrix


#: A series of a smaller p-value still remembers itself.
WHITE = 0.05


def autocorrelations(series: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return the autocorrelations of lags 1 to ``most``; none of a series that never changes."""
    there = np.isfinite(series)
    if not there.any():
        return np.empty(0)
    centred = np.where(there, series - series[there].mean(), 0.0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2
    products = np.fft.irfft(spectrum)[: most + 1]
    return products[1:] / products[0] if products[0] > 0 else np.empty(0)


def ljung_box(series: NDArray[np.float64], lags: tuple[int, ...]) -> tuple[tuple[int, float], ...]:
    """Return the p-value of no autocorrelation up to each of these lags.

    Notes
    -----
    ``Q = n (n + 2) sum of r_k ** 2 / (n - k)`` against chi-squared with as many degrees of freedom
    as lags (Ljung and Box 1978, Biometrika 65). Without the model of a series
    no parameters can be subtracted, so we don't.
    """
    from scipy.special import gammaincc  # noqa: PLC0415 # scipy loads late

    n = int(np.isfinite(series).sum())
    if not lags or n < 3:
        return ()
    found = autocorrelations(series, lags[-1])
    if not len(found):
        return ()
    squares = found**2 / (n - np.arange(1, lags[-1] + 1))
    statistic = n * (n + 2) * np.cumsum(squares)
    return tuple((lag, float(gammaincc(lag / 2, statistic[lag - 1] / 2))) for lag in lags)


def tested_lags(n: int, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lags up to which a series of n steps with cycles of these lengths is tested."""
    wanted = {5, 10, 20, 30, *lengths}
    wanted |= {length // 2 for length in lengths} | {2 * length for length in lengths}
    return tuple(sorted(lag for lag in wanted if 3 <= lag < n // 4))

"""Whether a series remembers itself: the portmanteau test of Ljung and Box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

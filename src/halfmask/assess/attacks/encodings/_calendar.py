"""Series of encoded numbers, and where in a calendar a stretch lies, by what is known of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.encodings._cells import numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

#: The views: an encoding that masks a level may show it in changes, or in their size.
VIEWS = ("level", "change", "size of level", "size of change")


def carried(column: pl.Series) -> NDArray[np.float64]:
    """Return a column as numbers, the one before in place of each that is missing."""
    values = numbers(column)
    present = np.isfinite(values)
    last = np.maximum.accumulate(np.where(present, np.arange(len(values)), 0))
    found = values[last]
    return np.where(np.isfinite(found), found, np.nanmean(values))


def _view(series: NDArray[np.float64], which: str) -> NDArray[np.float64]:
    changes = which.endswith("change")
    seen = np.diff(series, prepend=series[0]) if changes else series - series.mean()
    return np.abs(seen) if which.startswith("size") else seen


def profile(series: NDArray[np.float64], period: int, which: str) -> NDArray[np.float64]:
    """Return what is usual at each place of a cycle, smoothed over a fiftieth of it."""
    seen = _view(series, which)
    at = np.arange(len(seen)) % period
    counts = np.maximum(np.bincount(at, minlength=period), 1)
    usual = np.bincount(at, weights=seen, minlength=period) / counts
    width = max(1, period // 50) | 1
    kernel = np.ones(width) / width
    around = np.concatenate([usual[-width:], usual, usual[:width]])
    return np.convolve(around, kernel, mode="same")[width:-width]


def phases(
    windows: NDArray[np.float64], usual: NDArray[np.float64], which: str
) -> NDArray[np.int64]:
    """Return for each window at which place of the cycle it seems to begin.

    Notes
    -----
    The place where the correlation is highest, upwards or downwards: who encodes may have turned
    the series around.
    """
    period, length = len(usual), windows.shape[1]
    starts = (np.arange(period)[:, None] + np.arange(length)) % period
    known = usual[starts]
    known = known - known.mean(axis=1, keepdims=True)
    known /= np.maximum(np.linalg.norm(known, axis=1, keepdims=True), 1e-12)
    seen = np.stack([_view(window, which) for window in windows])
    seen = seen - seen.mean(axis=1, keepdims=True)
    fits = seen @ known.T
    if not which.startswith("size"):
        fits = np.abs(fits) if _symmetric(fits) else fits
    return np.asarray(fits.argmax(axis=1), dtype=np.int64)


def _symmetric(fits: NDArray[np.float64]) -> bool:
    """Return whether windows fit the profile upside down better than as it is."""
    return bool(-fits.min(axis=1).mean() > fits.max(axis=1).mean())

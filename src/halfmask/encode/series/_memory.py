"""What the past says of a series that has gaps: only what was known by then is looked back at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._filter import Filter, fits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 3


def carried(series: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the series with the last value in place of each missing one."""
    places = np.where(present, np.arange(len(series)), -1)
    last = np.maximum.accumulate(places)
    return series[np.where(last < 0, int(present.argmax()), last)]


def past_of(
    series: NDArray[np.float64],
    present: NDArray[np.bool_],
    rows: NDArray[np.int64],
    sets: tuple[tuple[int, ...], ...],
) -> tuple[Filter, NDArray[np.float64]]:
    """Return the filter that says most of the next value, and the series as it looks back at it.

    A missing value is its forecast by the filter. A line drawn through a gap would end in a value
    that is unknown, and a filter that is fitted to it is wrong behind every gap.
    """
    filled = carried(series, present)
    found = [(float(np.mean(series[rows] ** 2)), Filter.none(), filled)]
    whole = bool(present.all())
    for _ in range(1 if whole else _ROUNDS):
        tried = fits(filled, rows, sets) + fits(filled, rows, sets, differenced=True)
        if not tried:
            break
        best = min(tried, key=lambda fit: fit.aicc).filter
        if whole:
            return best, filled
        filled = _filled(best, filled, present)
        missed = float(np.mean(rest_of(best, filled, present)[rows] ** 2))
        if not np.isfinite(missed):
            break
        found.append((missed, best, filled))
    _, past, filled = min(found, key=lambda one: one[0])
    return past, filled


def rest_of(
    past: Filter, series: NDArray[np.float64], present: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what a filter misses of each value, its own words in place of missing ones."""
    filled = series if present.all() else _filled(past, series, present)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(filled - past.along(filled), -1e100, 1e100)


def _filled(
    past: Filter, series: NDArray[np.float64], present: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the series with what a filter says in place of each missing value."""
    from halfmask.kernels.encoding.series import SEND, walk  # noqa: PLC0415 # loads the compiler

    n, reach, none = len(series), max(past.reach, 1), Filter.none()
    histories = np.zeros((3, reach + n))
    around = np.zeros((5, n))
    around[1] = 1.0
    line = np.array([-1.0, 1.0])
    walk(
        SEND, series.copy(), np.zeros(n), (~present).astype(np.int8), around,
        np.array([1.0, 1.0, 0.0, past.constant, 0.0, 1.0]), past.lags, past.weights,
        none.lags, none.weights, none.lags, none.weights, line, line, histories, np.empty((3, n)),
    )  # fmt: skip
    return histories[0, reach:]

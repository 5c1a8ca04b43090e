"""Residuals of later rows under a model of earlier ones: measured on the rows of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._seasons import Seasons
from halfmask.encode.series._whiteness import autocorrelations

if TYPE_CHECKING:
    from halfmask.encode.series._fitting import Fitting
    from halfmask.encode.series._seasons import Period

# Halves of fewer values say nothing; longer series are judged by their last rows.
_FEWEST = 80
_MAX_ROWS = 20_000


def remembered(
    fitting: Fitting, periods: tuple[Period, ...] | None
) -> tuple[tuple[int, float], ...]:
    """Return autocorrelations, by lag, of the second half's residuals under a fit to the first."""
    from halfmask.kernels.encoding.series import SEND  # noqa: PLC0415 # loads the compiler

    rows = slice(max(0, len(fitting.steps) - _MAX_ROWS), None)
    positions, steps = fitting.positions[rows], fitting.steps[rows]
    present = fitting.present[rows]
    n = len(steps) // 2
    if min(present[:n].sum(), present[n:].sum()) < _FEWEST:
        return ()
    clock, lengths = fitting.clock, fitting.seasons.lengths
    first, last = int(positions[0]), int(positions[n - 1])
    channel = replace(
        fitting,
        seasons=Seasons.of(clock, periods, first=first, last=last),
        positions=positions[:n],
        steps=steps[:n],
        present=present[:n],
        noise=fitting.noise[rows][:n],
    ).channel()
    filtered = channel.walk(
        SEND, values=steps, sent=np.zeros(len(steps)),
        lost=~present | np.isin(positions, channel.sealed),
        around=channel.around(clock, positions, np.zeros(len(steps))), history=channel.before,
    )  # fmt: skip
    left = np.where(present, filtered.sent, np.nan)[n:]
    lags = tuple(sorted({1, *(lag for lag in lengths if lag < len(left) // 2)}))
    found = autocorrelations(left, lags[-1])
    return tuple((lag, float(found[lag - 1])) for lag in lags) if len(found) else ()

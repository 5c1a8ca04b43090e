"""Join neighbouring runs of rows so that every rule holds: one dimension, dynamic programming.

After G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis, "Fast data anonymization with low information
loss", VLDB 2007, section 4.1: a run that could be cut into two that keep the rules is never better
than these two, so only short runs have to be looked at. The loss of a run is its rows times the
summed normalized widths of their box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.kernels.compiling import njit, njit_no_nrt
from halfmask.kernels.partition.criteria import Int, Rules, rules_hold

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["join_runs"]


@njit()
def join_runs(
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    starts: NDArray[np.int64],
    sensitive: NDArray[np.signedinteger[Any]],
    scale: NDArray[np.float64],
    k: Int,
    rules: Rules,
    reach: Int,
    origin: NDArray[np.int64],
) -> None:
    """Join neighbouring runs so that every rule holds, at little loss.

    Parameters
    ----------
    lows, highs
        The box of each run, (runs, columns).
    starts
        How many rows lie before each run, and in all, (runs + 1,).
    sensitive
        The sensitive codes of the rows in their order, (sensitive columns, rows).
    scale, k, rules
        As everywhere; all rows as one run keep every rule.
    reach
        How many runs are joined at most where fewer do.
    origin
        Written: where the last of the best joins of the runs before each place starts, (runs + 1,).

    Notes
    -----
    From each run the shortest join that keeps the rules is looked for, and longer ones as long as
    what they add is shorter than that (of k alone, this is k to 2k - 1 again). The best of these is
    the best of all that are looked at, not of all: a rule can take more runs than ``reach``. So the
    plain joins from left to right, each as short as it can be and the last one lengthened to the
    left, are always among the choices.
    """
    n_runs = lows.shape[0]
    least = np.full(n_runs + 1, np.inf)
    least[0] = 0.0
    low, high = np.empty_like(lows[0]), np.empty_like(highs[0])
    counts = np.zeros((1, rules.offsets[-1] + 1), dtype=np.int64)
    scratch = np.zeros((4, rules.offsets[-1]), dtype=np.float64)
    plain, n_plain = np.zeros(n_runs + 1, dtype=np.int64), 1
    for start in range(n_runs):
        if least[start] == np.inf:
            continue
        _open(lows, start, low, high)
        counts[:] = 0
        enough, on_plain = -1, start == plain[n_plain - 1]
        for stop in range(start + 1, n_runs + 1):
            if stop - start > reach and (enough >= 0 or not on_plain):
                break
            if enough >= 0 and starts[stop] - starts[enough] >= starts[enough] - starts[start]:
                break
            width = _widened(lows, highs, stop - 1, scale, low, high)
            size = starts[stop] - starts[start]
            _count(sensitive, starts[stop - 1], starts[stop], rules, counts)
            if size < k or not rules_hold(counts, 0, size, rules, scratch, False):
                continue
            if enough < 0:
                enough = stop
                if on_plain:
                    plain[n_plain] = stop
                    n_plain += 1
            loss = least[start] + width * size
            if loss < least[stop]:
                least[stop], origin[stop] = loss, start
    if plain[n_plain - 1] < n_runs:
        counts[:] = 0
        last = (lows, highs, starts, sensitive, scale, k, rules)
        _lengthen(last, plain[:n_plain], least, (low, high), counts, scratch, origin)


@njit()
def _lengthen(
    runs: tuple[Any, ...],
    plain: NDArray[np.int64],
    least: NDArray[np.float64],
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    counts: NDArray[np.int64],
    scratch: NDArray[np.float64],
    origin: NDArray[np.int64],
) -> None:
    """Lengthen the last of the plain joins, which misses a rule, to the left until none is missed.

    Where rounding denies even all rows as one run, ``origin`` says that run as it did before.
    """
    lows, highs, starts, sensitive, scale, k, rules = runs
    stop = lows.shape[0]
    n_runs, width = stop, 0.0
    _open(lows, stop - 1, box[0], box[1])
    for place in range(plain.shape[0] - 1, -1, -1):
        start = plain[place]
        for run in range(start, stop):
            width = _widened(lows, highs, run, scale, box[0], box[1])
        _count(sensitive, starts[start], starts[stop], rules, counts)
        stop, size = start, starts[n_runs] - starts[start]
        if size >= k and rules_hold(counts, 0, size, rules, scratch, False):
            loss = least[start] + width * size
            if loss < least[n_runs]:
                least[n_runs], origin[n_runs] = loss, start
            return


@njit_no_nrt
def _open(
    lows: NDArray[np.int32], run: Int, low: NDArray[np.int32], high: NDArray[np.int32]
) -> None:
    for j in range(low.shape[0]):
        low[j] = lows[run, j]
        high[j] = lows[run, j]


@njit_no_nrt
def _widened(
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    run: Int,
    scale: NDArray[np.float64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> float:
    """Widen a box by a run's; return its summed normalized widths."""
    width = 0.0
    for j in range(low.shape[0]):
        low[j] = min(low[j], lows[run, j])
        high[j] = max(high[j], highs[run, j])
        width += np.float64(high[j] - low[j]) * scale[j]
    return width


@njit_no_nrt
def _count(
    sensitive: NDArray[np.signedinteger[Any]],
    first: Int,
    last: Int,
    rules: Rules,
    counts: NDArray[np.int64],
) -> None:
    for s in range(sensitive.shape[0]):
        for i in range(first, last):
            counts[0, rules.offsets[s] + sensitive[s, i]] += 1

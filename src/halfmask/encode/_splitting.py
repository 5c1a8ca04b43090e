"""Where frequent categories part into siblings, so that frequencies become flat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Siblings are between 0.75 and 1.25 of a mean one: equal parts would be found again by counting
# their rows, since hardly any other category has codes of the same number.
_MIN_PART, _VARYING = 0.75, 0.5
# A learner has to see each code often enough, so there are at most so many for one value.
_MAX_SIBLINGS = 64
# An attacker who takes the rarest code for a rare category gains at most a code's share of the
# rows. The gain over guessing shall be 0.02 at most.
_LARGEST_SHARE = 0.012


def split(
    place: NDArray[np.int64],
    score: NDArray[np.float64],
    *,
    counts: NDArray[np.int64],
    min_rows: int,
    uneven: Callable[[int], NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Return for each value where its rows part by their score, and the siblings' shares of rows.

    Notes
    -----
    A value with ``n`` rows gets about ``n / m`` siblings, where m is the rows of the rarest value
    that has ``min_rows`` or more, or a small share of all rows if that is less: where there are two
    categories, each has to have many codes. Rarer values stay unchanged: nothing makes them more
    frequent.
    They are not quite equal, and by a key. Rows with equal scores stay together, so siblings are
    only as equal as scores are distinct.
    """
    common = counts[counts >= min_rows]
    size = min_rows
    if len(common):
        size = int(min(common.min(), _LARGEST_SHARE * counts.sum()))
        # the most frequent value's siblings are never larger than others': they'd be known by that
        size = max(size, -(-int(counts.max()) // _MAX_SIBLINGS))
    cuts, shares = [], []
    for value, count in enumerate(counts):
        own = np.sort(score[place == value])
        n_siblings = min(_MAX_SIBLINGS, round(int(count) / max(size, min_rows)), len(own))
        least = min_rows * len(own) / max(1, int(count))
        cut = _cuts(own, uneven(n_siblings), least=least) if n_siblings > 1 else np.empty(0)
        cuts.append(cut)
        within = np.searchsorted(cut, own, side="right")
        n_each = np.bincount(within, minlength=len(cut) + 1).astype(np.float64)
        shares.append(n_each / max(1.0, n_each.sum()) if len(own) else np.ones(1))
    return cuts, shares


def _cuts(
    own: NDArray[np.float64], uneven: NDArray[np.float64], *, least: float
) -> NDArray[np.float64]:
    """Return the scores at which the siblings of one value begin, without the first."""
    parts = np.cumsum(_MIN_PART + _VARYING * uneven)
    starts = (parts[:-1] / parts[-1] * len(own)).astype(np.int64)
    wanted = np.unique(own[starts])
    kept: list[float] = []
    begin = 0
    for cut in wanted:
        at = int(np.searchsorted(own, cut))
        if at - begin >= least and len(own) - at >= least:
            kept.append(float(cut))
            begin = at
    return np.array(kept, dtype=np.float64)

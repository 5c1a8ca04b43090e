"""Pictures of a column before and after: shares by bin, coarse enough to leave with the release.

A report is released with the data, so a picture must not disclose more than the release. Three
rules, kept by both functions here:

- a bin or category is drawn only where at least ``min_count`` raw rows are in it: sparse numeric
  bins are joined with their neighbours, sparse categories go into "other";
- a category is named only if the release names it; the ends of numeric bins lie between the lowest
  and highest number that the release holds, rounded;
- counts are rounded to a multiple of ``min_count`` before they become shares, so that the
  difference of two pictures doesn't count single rows.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

import numpy as np

from halfmask._facts import Facts
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats
    from halfmask.assess.utility._extents import ColumnExtents

MAX_BINS = 24
MAX_CATEGORIES = 12
OTHER = "other"
_GRID = 512
#: What is narrower can't be cut into bins in floating point.
NARROWEST = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(Facts):
    """The shares of a column's rows, bin by bin, in the raw table and in the release.

    Parameters
    ----------
    kind, labels
        Whether the bins are ranges of numbers, in order, or categories; and what is in each.
    before, after
        Shares of the raw and of the released rows in each bin, in [0, 1]; a row whose cell spans
        several bins is spread over them.
    distance
        Total variation distance of the two: the share of rows that would have to change bins, in
        [0, 1].
    min_count
        The least number of raw rows that a bin shows.
    """

    kind: Literal["numeric", "categorical"]
    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    distance: float
    min_count: int

    @property
    def sentence(self) -> str:
        """The picture in one sentence."""
        return (
            f"{self.distance:.1%} of the rows would have to change bars to turn the released "
            f"picture into the raw one. No bar shows fewer than {self.min_count:,} raw rows."
        )


def numeric_distribution(
    raw: Floats,
    released: ColumnExtents,
    sizes: NDArray[np.int64],
    *,
    min_count: int,
    label: Callable[[float], str] | None = None,
    spans_both: bool = False,
) -> Distribution | None:
    """Picture a numeric column before and after.

    Numbers outside of what is released are counted in the first and last bin, unless bins are to
    span both. Missing ones aren't drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.assess.utility import ColumnExtents
    >>> raw = np.array([20.0, 25, 30, 35, 40, 45])
    >>> released = ColumnExtents(
    ...     low=np.array([20.0, 35.0]), high=np.array([30.0, 45.0]),
    ...     domain_low=20, domain_high=45, categorical=False,
    ... )
    >>> numeric_distribution(raw, released, np.array([3, 3]), min_count=3).labels
    ('20 to 32', '32 to 45')
    """
    integer_at_least(1, owner="numeric_distribution", min_count=min_count)
    stated = np.isfinite(released.low) & np.isfinite(released.high) & (sizes > 0)
    raw = raw[np.isfinite(raw)]
    if not stated.any() or not raw.size:
        return None
    low, high, weight = released.low[stated], released.high[stated], sizes[stated]
    least, greatest = float(low.min()), float(high.max())
    if spans_both:
        least, greatest = min(least, float(raw.min())), max(greatest, float(raw.max()))
    spread = greatest - least
    if not math.isfinite(spread) or 0 < spread < NARROWEST:
        return None
    whole = bool(np.all(low == np.floor(low)) and np.all(high == np.floor(high)))
    edges = _nice_edges(least, greatest, whole=whole)
    if (np.diff(edges) <= 0).any():  # whole numbers beyond 2**53, nearer than floats are
        return None
    before = np.histogram(np.clip(raw, edges[0], edges[-1]), edges)[0].astype(np.float64)
    starts = _joined(before, min_count)
    if len(starts) < 2:
        return None
    after = _spread(low, high, weight.astype(np.float64), edges)
    ends = np.append(starts[1:], len(before))
    write = label or _number
    labels = tuple(
        f"{write(edges[a])} to {write(edges[b])}" for a, b in zip(starts, ends, strict=True)
    )
    return _distribution(
        "numeric",
        labels,
        np.add.reduceat(before, starts),
        np.add.reduceat(after, starts),
        min_count,
    )


def date_label(days: float, zone: str | None = None) -> Callable[[float], str]:
    """Return a function that writes days since 1970 as a date, with the time in short spans.

    Examples
    --------
    >>> date_label(300)(19_723.0), date_label(2)(19_723.25)
    ('2024-01-01', '2024-01-01 06:00')
    """
    pattern = "%Y-%m-%d" if days >= MAX_BINS else "%Y-%m-%d %H:%M"
    where = ZoneInfo(zone) if zone else dt.UTC

    def write(day: float) -> str:
        try:
            instant = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=day)
            return f"{instant.astimezone(where):{pattern}}"
        except OverflowError:  # a year beyond 9999
            return _number(day)

    return write


def categorical_distribution(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    in_release: Collection[str],
    min_count: int,
) -> Distribution | None:
    """Picture a categorical column before and after.

    A value of fewer than ``min_count`` raw rows is never named, and "other" is left out where
    it has fewer.

    Examples
    --------
    >>> picture = categorical_distribution(
    ...     {"a": 30, "b": 20, "rare": 1}, {"a": 28, "b": 22}, in_release={"a", "b"}, min_count=10
    ... )
    >>> picture.labels, picture.before
    (('a', 'b'), (0.6, 0.4))
    """
    integer_at_least(1, owner="categorical_distribution", min_count=min_count)
    may = [label for label in before if label in in_release and before[label] >= min_count]
    named = sorted(may, key=lambda label: (-before[label], label))[:MAX_CATEGORIES]
    if not named:
        return None
    counts = [[table.get(label, 0.0) for label in named] for table in (before, after)]
    rests = [
        max(sum(table.values()) - sum(shown), 0.0)
        for table, shown in zip((before, after), counts, strict=True)
    ]
    labels = tuple(named)
    if rests[0] >= min_count:
        labels = (*labels, OTHER)
        counts = [[*shown, rest] for shown, rest in zip(counts, rests, strict=True)]
    return _distribution("categorical", labels, np.array(counts[0]), np.array(counts[1]), min_count)


def _distribution(
    kind: Literal["numeric", "categorical"],
    labels: tuple[str, ...],
    before: Floats,
    after: Floats,
    min_count: int,
) -> Distribution:
    first, second = _shares(before, min_count), _shares(after, min_count)
    return Distribution(
        kind=kind,
        labels=labels,
        before=tuple(first.tolist()),
        after=tuple(second.tolist()),
        distance=float(np.abs(first - second).sum() / 2),
        min_count=min_count,
    )


def _shares(counts: Floats, base: int) -> Floats:
    """Return the shares of counts that were rounded to multiples of ``base``."""
    rounded = np.round(counts / base) * base
    total = rounded.sum()
    return rounded / total if total else rounded


def _nice_edges(low: float, high: float, *, whole: bool) -> Floats:
    """Return at most 25 edges on round numbers (1, 2 or 5 times a power of ten) that span both."""
    if high == low:
        return np.array([low, low + 1.0])
    rough = max((high - low) / (MAX_BINS - 2), 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    edges: Floats = np.arange(first, max(last, first + 1) + 1, dtype=np.float64) * step
    # The ends are those of the release, not the round number below: no age of 15 in 17 to 90.
    edges[0], edges[-1] = low, high
    return edges


def _joined(counts: Floats, least: int) -> NDArray[np.intp]:
    """Return where bins begin once each has ``least`` rows, joining from the left."""
    starts, filled = [0], 0.0
    for place, count in enumerate(counts):
        if filled >= least:
            starts.append(place)
            filled = 0.0
        filled += count
    if filled < least and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.intp)


def _spread(low: Floats, high: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return how many rows fall in each bin if every range is spread evenly over its width."""
    point = high == low
    counts = np.histogram(low[point], edges, weights=weight[point])[0].astype(np.float64)
    low, high, weight = low[~point], high[~point], weight[~point]
    for start in range(0, len(low), _GRID):
        part = slice(start, start + _GRID)
        reach = np.clip(edges[:, None], low[part], high[part]) - low[part]
        counts += np.diff(reach / (high[part] - low[part]), axis=0) @ weight[part]
    return counts


def _number(value: float) -> str:
    if abs(value) < 1e4:  # years have no comma
        return f"{value:.6g}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.3g}"

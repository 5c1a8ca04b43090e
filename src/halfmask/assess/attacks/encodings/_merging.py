"""Which codes are siblings: by equal company, and by chaining neighbouring slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.encodings._features import Features

_DIRECTIONS = 6
_PENALTY = 1e-3
_ENDS = (0.02, 0.98)
_NEVER = 1e6


def by_context(
    code: NDArray[np.int64], n_codes: int, features: Features, n_groups: int
) -> NDArray[np.int64]:
    """Return a group for each code: those with the most similar mean company are merged (Ward)."""
    if n_codes <= n_groups or not features.rows.shape[1]:
        return np.arange(n_codes, dtype=np.int64)
    return _ward(_means(code, n_codes, features.rows), n_groups)


def by_chains(
    code: NDArray[np.int64], n_codes: int, features: Features, n_groups: int
) -> NDArray[np.int64]:
    """Return a group for each code: slices along one direction that continue each other are one.

    Siblings of a keyed split are slices of their category along a direction through the other
    columns, the same for all categories. Rows of a slice hardly differ along it, and differ as
    ever in all else: so the direction shows as the one along which rows of a code vary least, of
    all their variance. Each code then has an interval of it, and siblings follow each other
    without a gap. Of all ways to tie them into so many chains, the one is taken whose links have
    the smallest gaps and join codes of the most similar company besides the direction (Kuhn 1955).

    Notes
    -----
    The direction is a generalized eigenvector, Fisher's (1936). Several are tried, and that one is
    taken along which intervals are shortest.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 # scipy loads late

    if n_codes <= n_groups or not features.rows.shape[1]:
        return np.arange(n_codes, dtype=np.int64)
    means = _means(code, n_codes, features.rows)
    score, along = cut_direction(code, means, features)
    low, high, middle = _intervals(code, n_codes, score)
    # What of their company the score doesn't account for.
    apart = _distances(means - np.outer(_means(code, n_codes, score[:, None]), along))
    gap = np.abs(high[:, None] - low[None, :]) / max(float(np.std(score)), 1e-12)
    cost = gap / max(float(np.median(gap)), 1e-12) + apart / max(float(np.median(apart)), 1e-12)
    # A slice is followed by one further up, so that no chain bites its own tail.
    cost[middle[:, None] >= middle[None, :]] = _NEVER
    ends = np.zeros((n_codes, n_groups))
    first, second = linear_sum_assignment(np.hstack([cost, ends]))
    linked = [(i, j) for i, j in zip(first, second, strict=True) if j < n_codes]
    return _chained({int(i): int(j) for i, j in linked if cost[i, j] < _NEVER}, n_codes)


def by_counts(
    code: NDArray[np.int64], n_codes: int, features: Features, n_groups: int
) -> NDArray[np.int64]:
    """Return a group for each code: those of about the same number of rows are merged.

    A category that is cut into equal parts has codes of the same frequency to a row, and another
    category hardly ever has the same. The widest gaps between counts part the groups.
    """
    del features
    counts = np.bincount(code, minlength=n_codes)
    if n_codes <= n_groups:
        return np.arange(n_codes, dtype=np.int64)
    order = np.argsort(counts, kind="stable")
    gaps = np.diff(np.log(np.maximum(counts[order], 1)))
    parted = np.zeros(n_codes, dtype=np.int64)
    parted[1 + np.argsort(-gaps, kind="stable")[: n_groups - 1]] = 1
    groups = np.empty(n_codes, dtype=np.int64)
    groups[order] = np.cumsum(parted)
    return groups


def cut_direction(
    code: NDArray[np.int64], means: NDArray[np.float64], features: Features
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where each row lies along the direction that codes cut most sharply.

    And how much each feature goes with it, over all rows.
    """
    from scipy.linalg import eigh  # noqa: PLC0415 # scipy loads late

    total, size = features.products, len(features.products)
    share = np.bincount(code, minlength=len(means)) / len(code)
    within = total - (means * share[:, None]).T @ means
    floor = _PENALTY * max(float(np.trace(total)) / size, 1e-12) * np.eye(size)
    _, axes = eigh(within + floor, total + floor, subset_by_index=[0, min(_DIRECTIONS, size) - 1])
    scores = (features.rows @ axes.astype(np.float32)).astype(np.float64)
    best = min(range(axes.shape[1]), key=lambda i: _overlap(code, len(means), scores[:, i]))
    along = total @ axes[:, best] / max(float(axes[:, best] @ total @ axes[:, best]), 1e-12)
    return scores[:, best], along


def agreement(groups: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Return the adjusted Rand index of two ways to group: 1 for the same, 0 for chance.

    Hubert and Arabie, "Comparing partitions" (1985).

    Examples
    --------
    >>> agreement(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    table = np.zeros((int(groups.max()) + 1, int(truth.max()) + 1))
    np.add.at(table, (groups, truth), 1)
    return agreement_of(table)


def agreement_of(table: NDArray[np.float64]) -> float:
    """Return the same of a table of counts."""

    def pairs(counts: NDArray[np.float64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, first, second = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = first * second / max(pairs(table.sum(keepdims=True)), 1.0)
    most = (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _overlap(code: NDArray[np.int64], n_codes: int, score: NDArray[np.float64]) -> float:
    """Return how long the intervals of codes are, of all the length that there is."""
    low, high, _ = _intervals(code, n_codes, score)
    whole = np.quantile(score, _ENDS)
    return float((high - low).mean() / max(whole[1] - whole[0], 1e-12))


def _intervals(
    code: NDArray[np.int64], n_codes: int, score: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    order = np.lexsort((score, code))
    ordered, starts = score[order], np.searchsorted(code[order], np.arange(n_codes + 1))
    counts = np.diff(starts)
    at = [
        ordered[np.minimum(starts[:-1] + (share * counts).astype(np.int64), len(ordered) - 1)]
        for share in (*_ENDS, 0.5)
    ]
    return at[0], at[1], at[2]


def _means(
    code: NDArray[np.int64], n_codes: int, rows: NDArray[np.float32] | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean company of each code."""
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(n_codes))
    sums = np.add.reduceat(rows[order], np.minimum(starts, len(order) - 1), axis=0)
    counts = np.maximum(np.bincount(code, minlength=n_codes), 1)
    return np.asarray(sums.astype(np.float64) / counts[:, None])


def _ward(profiles: NDArray[np.float64], n_groups: int) -> NDArray[np.int64]:
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415 # sklearn loads late

    model = AgglomerativeClustering(n_clusters=n_groups)
    return np.asarray(model.fit_predict(profiles), dtype=np.int64)


def _distances(profiles: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = (profiles**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * profiles @ profiles.T
    return np.asarray(np.sqrt(np.maximum(apart, 0.0)))


def _chained(follows: dict[int, int], n_codes: int) -> NDArray[np.int64]:
    group = np.full(n_codes, -1, dtype=np.int64)
    heads = [code for code in range(n_codes) if code not in set(follows.values())]
    for number, head in enumerate(heads):
        code: int | None = head
        while code is not None and group[code] < 0:
            group[code] = number
            code = follows.get(code)
    return group

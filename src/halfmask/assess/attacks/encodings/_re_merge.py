"""Re-merging: the codes of a split category are found again by their company, and named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Resampled
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks.encodings._categories import (
    category_columns,
    lacking_categories,
    named_outcome,
)
from halfmask.assess.attacks.encodings._cells import codes, number_columns, numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks.encodings._categories import CategoryColumn


_MAX_CODES = 250


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Features:
    """Encoded rows as centred numbers, with the products of all pairs of them.

    Ordered columns are taken as they are and as their ranks; those of few different cells also cell
    by cell, since they may be codes.
    """

    rows: NDArray[np.float32]
    products: Floats
    column: Ints

    @classmethod
    def of(cls, encoded: pl.DataFrame) -> Features:
        """Return the numbers of an encoded table."""
        ordered = set(number_columns(encoded))
        parts: list[NDArray[np.float32]] = []
        column: list[int] = []
        for place, name in enumerate(encoded.columns):
            encodings = _cell_by_cell(encoded[name])
            if name in ordered:
                values = numbers(encoded[name])
                values = np.where(np.isfinite(values), values, np.nanmean(values))
                ranks = np.argsort(np.argsort(values)).astype(np.float64)
                encodings += [_standard(values), _standard(ranks)]
            parts += encodings
            column += [place] * sum(part.shape[1] for part in encodings)
        rows = np.concatenate(parts, axis=1) if parts else np.zeros((encoded.height, 0), np.float32)
        products = (rows.T @ rows).astype(np.float64) / max(1, len(rows))
        return cls(rows=rows, products=products, column=np.array(column, dtype=np.int64))

    def without(self, place: int) -> Features:
        """Return them without those of one encoded column."""
        kept = np.flatnonzero(self.column != place)
        return Features(
            rows=self.rows[:, kept],
            products=self.products[np.ix_(kept, kept)],
            column=self.column[kept],
        )


def _cell_by_cell(column: pl.Series) -> list[NDArray[np.float32]]:
    of_row, n = codes(column)
    if not 1 < n <= _MAX_CODES:
        return []
    one_hot = np.zeros((len(of_row), n), dtype=np.float32)
    one_hot[np.arange(len(of_row)), of_row] = 1.0
    return [one_hot - one_hot.mean(axis=0)]


def _standard(values: Floats) -> NDArray[np.float32]:
    scaled = (values - values.mean()) / max(float(values.std()), 1e-12)
    return np.asarray(scaled.astype(np.float32)[:, None])


_DIRECTIONS = 6
_PENALTY = 1e-3
_ENDS = (0.02, 0.98)
_NEVER = 1e6


def by_context(code: Ints, n_codes: int, features: Features, n_groups: int) -> Ints:
    """Return a group for each code: those with the most similar mean company are merged (Ward)."""
    if n_codes <= n_groups or not features.rows.shape[1]:
        return np.arange(n_codes, dtype=np.int64)
    return _ward(_means(code, n_codes, features.rows), n_groups)


def by_chains(code: Ints, n_codes: int, features: Features, n_groups: int) -> Ints:
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


def by_counts(code: Ints, n_codes: int, features: Features, n_groups: int) -> Ints:
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


def cut_direction(code: Ints, means: Floats, features: Features) -> tuple[Floats, Floats]:
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


def agreement(groups: Ints, truth: Ints) -> float:
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


def agreement_of(table: Floats) -> float:
    """Return the same of a table of counts."""

    def pairs(counts: Floats) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, first, second = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = first * second / max(pairs(table.sum(keepdims=True)), 1.0)
    most = (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _overlap(code: Ints, n_codes: int, score: Floats) -> float:
    """Return how long the intervals of codes are, of all the length that there is."""
    low, high, _ = _intervals(code, n_codes, score)
    whole = np.quantile(score, _ENDS)
    return float((high - low).mean() / max(whole[1] - whole[0], 1e-12))


def _intervals(code: Ints, n_codes: int, score: Floats) -> tuple[Floats, Floats, Floats]:
    order = np.lexsort((score, code))
    ordered, starts = score[order], np.searchsorted(code[order], np.arange(n_codes + 1))
    counts = np.diff(starts)
    at = [
        ordered[np.minimum(starts[:-1] + (share * counts).astype(np.int64), len(ordered) - 1)]
        for share in (*_ENDS, 0.5)
    ]
    return at[0], at[1], at[2]


def _means(code: Ints, n_codes: int, rows: NDArray[np.float32] | Floats) -> Floats:
    """Return the mean company of each code."""
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(n_codes))
    sums = np.add.reduceat(rows[order], np.minimum(starts, len(order) - 1), axis=0)
    counts = np.maximum(np.bincount(code, minlength=n_codes), 1)
    return np.asarray(sums.astype(np.float64) / counts[:, None])


def _ward(profiles: Floats, n_groups: int) -> Ints:
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415 # sklearn loads late

    model = AgglomerativeClustering(n_clusters=n_groups)
    return np.asarray(model.fit_predict(profiles), dtype=np.int64)


def _distances(profiles: Floats) -> Floats:
    squares = (profiles**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * profiles @ profiles.T
    return np.asarray(np.sqrt(np.maximum(apart, 0.0)))


def _chained(follows: dict[int, int], n_codes: int) -> Ints:
    group = np.full(n_codes, -1, dtype=np.int64)
    heads = [code for code in range(n_codes) if code not in set(follows.values())]
    for number, head in enumerate(heads):
        code: int | None = head
        while code is not None and group[code] < 0:
            group[code] = number
            code = follows.get(code)
    return group


_REPLICATES = 200
# An attacker sees that a column is split, and how many categories there are, in the population.
_WAYS = {"context": by_context, "chains": by_chains, "counts": by_counts}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReMerge(
    DeclaredAttack, name="encodings/re-merge", target=EncodingTarget, needs=(lacking_categories,)
):
    """Merge codes that seem to be one category, and name it by its frequency.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are used at most.

    Notes
    -----
    Three ways, and the best for the attacker is reported:

    - ``context``: codes whose rows have similar other columns (Ward 1963). It finds the siblings of
      a split that was drawn at random;
    - ``chains``: codes that are neighbouring slices along one direction, which is found first. It
      is made for the split of :class:`halfmask.encode.Codec`;
    - ``counts``: codes of about as many rows, as equal parts of a category have.

    The attacker knows from the population how many categories there are. Agreement is the adjusted
    Rand index of merged codes and true categories, over rows; over codes, each one counting alike,
    it is among the details as ``context, codes of`` and ``chains, codes of`` a column. Then what
    was merged is named by rank. The worst column is reported for both.

    **Edge cases.** Where nothing is split there is nothing to merge, and each code is a category.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        rows, _, columns = category_columns(target, self.n_rows, rng)
        whole = Features.of(target.encoded[rows])
        details: dict[str, float] = {}
        merged = []
        for column in columns:
            features = whole.without(target.encoded.columns.index(column.holder))
            ways = {
                way: merge(column.code, column.n_codes, features, column.n_known)
                for way, merge in _WAYS.items()
            }
            owner = _owners(column)
            reached = {way: agreement(g[column.code], column.truth) for way, g in ways.items()}
            for way, groups in ways.items():
                details[f"{way}, rows of {column.name}"] = reached[way]
                details[f"{way}, codes of {column.name}"] = agreement(groups, owner)
            merged.append(ways[max(reached, key=lambda way: reached[way])])
        arms = [_arm(c, groups, rng) for c, groups in zip(columns, merged, strict=True)]
        named = [column.named(groups) for column, groups in zip(columns, merged, strict=True)]
        agreeing = self._make_outcome(
            "agreement of merged codes of a column (ARI)",
            max(arms, key=lambda arm: arm.value),
            needed=(100, "rows"),
            details=details,
        )
        naming = named_outcome(self.name, "cells of a column named after merging", columns, named)
        return agreeing, naming


def _owners(column: CategoryColumn) -> Ints:
    """Return the category that most rows of each code have."""
    counts = np.zeros((column.n_codes, column.n_values))
    np.add.at(counts, (column.code, column.truth), 1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)


def _arm(column: CategoryColumn, groups: Ints, rng: np.random.Generator) -> Resampled:
    table = np.zeros((int(groups.max()) + 1, column.n_values))
    np.add.at(table, (groups[column.code], column.truth), 1)
    n = len(column.truth)
    drawn = rng.multinomial(n, table.ravel() / n, _REPLICATES).reshape(-1, *table.shape)
    replicates = [max(0.0, agreement_of(each.astype(np.float64))) for each in drawn]
    return Resampled.of(max(0.0, agreement_of(table)), replicates, n)

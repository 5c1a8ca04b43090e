"""Whether a side of a cut keeps every guarantee, from the counts of its sensitive values.

These are the engine's own judges, for cuts; what a release claims is judged by
:mod:`halfmask.guarantees` and counted again, from the file, by the verifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rules", "rules_hold"]

Int: TypeAlias = int | np.signedinteger[Any]

DISTINCT_L, ENTROPY_L, RECURSIVE_CL, T_EQUAL, T_ORDERED, T_HIERARCHICAL = 1, 2, 3, 4, 5, 6
#: A cut must keep a real-valued guarantee by this much, so that no rounding can turn a kept
#: guarantee into a missed one when it is judged again in another order of summation.
SLACK = 1e-9


class Rules(NamedTuple):
    """The guarantees besides the size of a class, as arrays.

    Attributes
    ----------
    kinds
        One of the kinds above for each rule, (rules,).
    columns
        The sensitive column (an index) that each rule judges, (rules,).
    thresholds
        l, or t, (rules,).
    factors
        c of recursive (c,l)-diversity, (rules,).
    offsets
        Where each sensitive column's values start in counts and shares, (columns + 1,).
    shares
        The share of each value in the whole table, (values,).
    parents
        For hierarchical distance: the node of each value at each level from 1 to the top, level
        after level, each numbered from 0; the rules' trees one after the other.
    trees
        Where the tree of each rule starts in ``parents``, (rules + 1,).
    """

    kinds: NDArray[np.int64]
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    factors: NDArray[np.float64]
    offsets: NDArray[np.int64]
    shares: NDArray[np.float64]
    parents: NDArray[np.int64]
    trees: NDArray[np.int64]


@njit(nogil=True, cache=True)
def rules_hold(counts: NDArray[np.int64], size: Int, rules: Rules) -> bool:
    """Return whether a class of ``size`` rows with these counts keeps every rule."""
    for i in range(rules.kinds.shape[0]):
        column = rules.columns[i]
        first, last = rules.offsets[column], rules.offsets[column + 1]
        own = counts[first:last]
        kind, threshold = rules.kinds[i], rules.thresholds[i]
        if kind == DISTINCT_L:
            kept = _distinct(own) >= threshold
        elif kind == ENTROPY_L:
            kept = _entropy(own, size) >= np.log(threshold) + SLACK
        elif kind == RECURSIVE_CL:
            kept = _recursive(own, size, int(threshold), rules.factors[i])
        elif kind == T_EQUAL:
            kept = _equal_distance(own, size, rules.shares[first:last]) <= threshold - SLACK
        elif kind == T_ORDERED:
            kept = _ordered_distance(own, size, rules.shares[first:last]) <= threshold - SLACK
        else:
            tree = rules.parents[rules.trees[i] : rules.trees[i + 1]]
            distance = _hierarchical_distance(own, size, rules.shares[first:last], tree)
            kept = distance <= threshold - SLACK
        if not kept:
            return False
    return True


@njit(nogil=True, cache=True)
def _distinct(counts: NDArray[np.int64]) -> int:
    distinct = 0
    for count in counts:
        if count > 0:
            distinct += 1
    return distinct


@njit(nogil=True, cache=True)
def _entropy(counts: NDArray[np.int64], size: Int) -> float:
    total = 0.0
    for count in counts:
        if count > 0:
            total += count * np.log(count)
    return np.log(size) - total / size  # type: ignore[no-any-return] # numpy types it as Any


@njit(nogil=True, cache=True)
def _recursive(counts: NDArray[np.int64], size: Int, l: int, c: float) -> bool:
    """r_1 < c * (r_l + r_l+1 + ... + r_m), counts in falling order."""
    ordered = np.sort(counts)[::-1]
    if ordered.shape[0] < l:
        return False
    head = 0
    for i in range(l - 1):
        head += ordered[i]
    # A share of the product, not an amount: products of many rows are rounded by more.
    return bool(ordered[0] < c * (size - head) * (1 - SLACK))


@njit(nogil=True, cache=True)
def _equal_distance(counts: NDArray[np.int64], size: Int, shares: NDArray[np.float64]) -> float:
    total = 0.0
    for i in range(counts.shape[0]):
        total += abs(counts[i] / size - shares[i])
    return total / 2


@njit(nogil=True, cache=True)
def _ordered_distance(counts: NDArray[np.int64], size: Int, shares: NDArray[np.float64]) -> float:
    """Values that nobody has are no steps: one that only a hierarchy knows brings none nearer."""
    total, carried, steps = 0.0, 0.0, -1
    for i in range(counts.shape[0]):
        if shares[i] > 0:
            carried += counts[i] / size - shares[i]
            total += abs(carried)
            steps += 1
    return float(total / max(1, steps))


@njit(nogil=True, cache=True)
def _hierarchical_distance(
    counts: NDArray[np.int64], size: Int, shares: NDArray[np.float64], parents: NDArray[np.int64]
) -> float:
    """Li, Li, Venkatasubramanian 2007, section 4.2: what must move, by the height it must climb."""
    n = counts.shape[0]
    levels = parents.shape[0] // n
    extra = np.empty(n)
    for i in range(n):
        extra[i] = counts[i] / size - shares[i]
    total = 0.0
    node = np.arange(n)
    for level in range(levels):
        surplus, shortage = np.zeros(n), np.zeros(n)
        done = np.zeros(n, dtype=np.bool_)
        upper = parents[level * n : (level + 1) * n]
        for i in range(n):
            # One child is many leaves: it is counted at the first of them.
            if not done[node[i]]:
                done[node[i]] = True
                if extra[node[i]] > 0:
                    surplus[upper[i]] += extra[node[i]]
                else:
                    shortage[upper[i]] -= extra[node[i]]
        for i in range(n):
            total += (level + 1) / levels * min(surplus[i], shortage[i])
            extra[i] = surplus[i] - shortage[i]
        node = upper
    return total

"""Whether a side of a cut keeps every guarantee, from the counts of its sensitive values.

These are the engine's own judges, for cuts; what a release claims is judged by
:mod:`halfmask.guarantees` and counted again, from the file, by the verifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from halfmask.kernels.compiling import njit_no_nrt

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RULES", "Rules", "rules_hold"]

Int: TypeAlias = int | np.signedinteger[Any]

DISTINCT_L, ENTROPY_L, RECURSIVE_CL, T_EQUAL, T_ORDERED, T_HIERARCHICAL = range(6)
LARGEST_SHARE, DELTA_DISCLOSURE, BASIC_BETA, ENHANCED_BETA = range(6, 10)
#: The rules by the names that guarantees call them.
RULES = {
    "distinct-l": DISTINCT_L,
    "entropy-l": ENTROPY_L,
    "recursive-cl": RECURSIVE_CL,
    "t-equal": T_EQUAL,
    "t-ordered": T_ORDERED,
    "t-hierarchical": T_HIERARCHICAL,
    "largest-share": LARGEST_SHARE,
    "delta-disclosure": DELTA_DISCLOSURE,
    "basic-beta": BASIC_BETA,
    "enhanced-beta": ENHANCED_BETA,
}
#: A cut must keep a real-valued guarantee by this much, so that no rounding can turn a kept
#: guarantee into a missed one when it is judged again in another order of summation.
SLACK = 1e-9


class Rules(NamedTuple):
    """The guarantees besides the size of a class, as arrays.

    Attributes
    ----------
    kinds
        One of the numbers above for each rule, (rules,).
    columns
        The sensitive column (an index) that each rule judges, (rules,).
    thresholds
        The parameters of each rule, (rules, most that one has): l; l and c; t; the
        numerator and denominator of alpha; delta; beta.
    offsets
        Where each sensitive column's values start in counts and shares, (columns + 1,).
    shares
        The share of each value in the whole table, (values,); None where no rule but distinct
        l-diversity is asked for: the others then aren't compiled.
    parents
        For hierarchical distance: the node of each value at each level from 1 to the top, level
        after level, each numbered from 0; the rules' trees one after the other.
    trees
        Where the tree of each rule starts in ``parents``, (rules + 1,).
    """

    kinds: NDArray[np.int64]
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    offsets: NDArray[np.int64]
    shares: NDArray[np.float64] | None
    parents: NDArray[np.int64]
    trees: NDArray[np.int64]


@njit_no_nrt
def rules_hold(
    counts: NDArray[np.int64],
    side: Int,
    size: Int,
    rules: Rules,
    scratch: NDArray[np.float64],
    differs: bool,  # noqa: FBT001 # compiled functions take no keywords
) -> bool:
    """Return whether a class of ``size`` rows keeps every rule.

    Parameters
    ----------
    counts
        How many rows of each side have each sensitive value, (sides, values).
    side
        The side that is the class.
    size
        Its rows.
    rules
        What must hold.
    scratch
        Room for four numbers a value, (4, values).
    differs
        Whether the rules of distinct l-diversity are known to hold: their columns then needn't be
        counted.
    """
    for i in range(rules.kinds.shape[0]):
        if rules.kinds[i] != DISTINCT_L:
            kept = _shares_hold(counts, side, size, rules, i, rules.shares, scratch)
        else:
            first, last = rules.offsets[rules.columns[i]], rules.offsets[rules.columns[i] + 1]
            kept = differs or _distinct(counts, side, first, last) >= rules.thresholds[i, 0]
        if not kept:
            return False
    return True


@njit_no_nrt
def _shares_hold(
    counts: NDArray[np.int64],
    side: Int,
    size: Int,
    rules: Rules,
    i: Int,
    shares: NDArray[np.float64] | None,
    scratch: NDArray[np.float64],
) -> bool:
    """Judge a class by rule ``i``, any but distinct l-diversity; without shares there is none."""
    if shares is None:  # and what follows isn't compiled
        return True
    first, last = rules.offsets[rules.columns[i]], rules.offsets[rules.columns[i] + 1]
    kind, threshold = rules.kinds[i], rules.thresholds[i, 0]
    if kind == ENTROPY_L:
        kept = _entropy(counts, side, first, last, size) >= np.log(threshold) + SLACK
    elif kind == RECURSIVE_CL:
        kept = _recursive(counts, side, first, last, size, threshold, rules.thresholds[i, 1])
    elif kind == LARGEST_SHARE:
        largest = _largest(counts, side, first, last)
        kept = largest * int(rules.thresholds[i, 1]) <= size * int(threshold)
    elif kind == DELTA_DISCLOSURE:
        kept = _shares_differ_less(counts, side, first, last, size, shares, threshold)
    elif kind in (BASIC_BETA, ENHANCED_BETA):
        kept = _gains_hold(counts, side, first, last, size, shares, threshold, kind)
    else:
        if kind == T_EQUAL:
            distance = _equal_distance(counts, side, first, last, size, shares)
        elif kind == T_ORDERED:
            distance = _ordered_distance(counts, side, first, last, size, shares)
        else:
            start, stop = rules.trees[i], rules.trees[i + 1]
            distance = _hierarchical_distance(
                counts, side, first, last, size, shares, rules.parents, start, stop, scratch
            )
        kept = distance <= threshold - SLACK
    return bool(kept)


@njit_no_nrt
def _distinct(counts: NDArray[np.int64], side: Int, first: Int, last: Int) -> Int:
    distinct: Int = 0
    for value in range(first, last):
        distinct += np.int64(counts[side, value] > 0)
    return distinct


@njit_no_nrt
def _entropy(counts: NDArray[np.int64], side: Int, first: Int, last: Int, size: Int) -> float:
    total = 0.0
    for value in range(first, last):
        count = counts[side, value]
        if count > 0:
            total += count * np.log(count)
    return float(np.log(size) - total / size)


@njit_no_nrt
def _recursive(
    counts: NDArray[np.int64], side: Int, first: Int, last: Int, size: Int, l: float, c: float
) -> bool:
    """r_1 < c * (r_l + r_l+1 + ... + r_m), counts in falling order."""
    left, head, largest, bound = int(l) - 1, 0, -1, size + 1
    while left > 0:
        # The next largest count, and how many values have it: cheaper than to sort for a small l.
        value, times = 0, 0
        for i in range(first, last):
            count = counts[side, i]
            if value < count < bound:
                value, times = count, 1
            elif count == value:
                times += 1
        if value == 0:
            break
        head += value * min(times, left)
        left -= times
        bound = value
        largest = max(largest, value)
    if largest < 0:
        for i in range(first, last):
            largest = max(largest, counts[side, i])
    # A share of the product, not an amount: products of many rows are rounded by more.
    return bool(largest < c * (size - head) * (1 - SLACK))


@njit_no_nrt
def _largest(counts: NDArray[np.int64], side: Int, first: Int, last: Int) -> Int:
    largest: Int = 0
    for value in range(first, last):
        largest = max(largest, counts[side, value])
    return largest


@njit_no_nrt
def _shares_differ_less(
    counts: NDArray[np.int64],
    side: Int,
    first: Int,
    last: Int,
    size: Int,
    shares: NDArray[np.float64],
    delta: float,
) -> bool:
    """|log(share of the class / share of the table)| < delta, of every value of the table."""
    for value in range(first, last):
        if shares[value] > 0:
            count = counts[side, value]
            if count == 0 or abs(np.log(count / size / shares[value])) > delta - SLACK:
                return False
    return True


@njit_no_nrt
def _gains_hold(
    counts: NDArray[np.int64],
    side: Int,
    first: Int,
    last: Int,
    size: Int,
    shares: NDArray[np.float64],
    beta: float,
    kind: Int,
) -> bool:
    """(q - p) / p <= beta, enhanced <= -log(p) too; what isn't more frequent always passes."""
    for value in range(first, last):
        share, part = shares[value], counts[side, value] / size
        if part > share:
            most = min(beta, -np.log(share)) if kind == ENHANCED_BETA else beta
            if part / share - 1 > most - SLACK:
                return False
    return True


@njit_no_nrt
def _equal_distance(
    counts: NDArray[np.int64],
    side: Int,
    first: Int,
    last: Int,
    size: Int,
    shares: NDArray[np.float64],
) -> float:
    total = 0.0
    for value in range(first, last):
        total += abs(counts[side, value] / size - shares[value])
    return float(total / 2)


@njit_no_nrt
def _ordered_distance(
    counts: NDArray[np.int64],
    side: Int,
    first: Int,
    last: Int,
    size: Int,
    shares: NDArray[np.float64],
) -> float:
    """Values that nobody has are no steps: one that only a hierarchy knows brings none nearer."""
    total, carried, steps = 0.0, 0.0, -1
    for value in range(first, last):
        if shares[value] > 0:
            carried += counts[side, value] / size - shares[value]
            total += abs(carried)
            steps += 1
    return float(total / max(1, steps))


@njit_no_nrt
def _hierarchical_distance(
    counts: NDArray[np.int64],
    side: Int,
    first: Int,
    last: Int,
    size: Int,
    shares: NDArray[np.float64],
    parents: NDArray[np.int64],
    start: Int,
    stop: Int,
    scratch: NDArray[np.float64],
) -> float:
    """Li, Li, Venkatasubramanian 2007, section 4.2: what must move, by the height it must climb."""
    n = last - first
    levels = (stop - start) // n
    extra, surplus, shortage, done = 0, 1, 2, 3
    for i in range(n):
        scratch[extra, i] = counts[side, first + i] / size - shares[first + i]
        scratch[done, i] = -1.0
    total = 0.0
    for level in range(levels):
        upper = start + level * n
        for i in range(n):
            scratch[surplus, i] = 0.0
            scratch[shortage, i] = 0.0
        for i in range(n):
            child = i if level == 0 else parents[upper - n + i]
            # One child is many leaves: it is counted at the first of them.
            if scratch[done, child] < level:
                scratch[done, child] = level
                rest = scratch[extra, child]
                if rest > 0:
                    scratch[surplus, parents[upper + i]] += rest
                else:
                    scratch[shortage, parents[upper + i]] -= rest
        for i in range(n):
            moved = min(scratch[surplus, i], scratch[shortage, i])
            total += (level + 1) / levels * moved
            scratch[extra, i] = scratch[surplus, i] - scratch[shortage, i]
    return float(total)

"""The unique people of a population, estimated again from the classes of a release.

Definitions: Zayatz 1991, SRD 91/08; Hoshino 2001, JOS 17(4); Chen and Keller-McNulty 1998, JOS
14(1); Dankar et al. 2012, BMC MIDM 12:66, for the rule. Notation: n rows of N people in u classes,
s_j of them of size j. With missing cells as wildcards a row counts as 1 / j of a class of the j
rows that are compatible with it, so s_j and u needn't be whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask.verifier.tables._rules import Unjudgeable

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: Terms of a long sum that are added up at once.
BLOCK: Final = 1 << 20
#: How far from its ends, 0 and 1, Pitman's alpha must lie.
EDGE: Final = 1e-3
#: How near to 0 the equations of an estimate must come, relative to their terms.
CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class _Sizes:
    """s_j for each size j that there is, ascending; n, u and N."""

    j: Ints
    s: Floats
    n: int
    u: float
    population: int

    @property
    def one(self) -> float:
        return float(self.s[self.j == 1].sum())


def unique_share(rows: Ints, compatible: Ints, *, population: int, estimator: str) -> float:
    """Return the share of the population that is unique, by an estimator."""
    j, group = np.unique(compatible, return_inverse=True)
    s = np.bincount(group, weights=rows / compatible).astype(np.float64)
    sizes = _Sizes(j, s, int(rows.sum()), float(s.sum()), population)
    if population < sizes.n:
        raise Unjudgeable("the population that it states has fewer people than there are rows")
    if not sizes.one or population == sizes.n:
        return sizes.one / population
    if estimator == "dankar":
        return _decided(sizes) / population
    found = ESTIMATORS[estimator](sizes)
    if found is None:
        raise Unjudgeable("its estimator has no solution for the classes that were counted")
    return found / population


def _decided(sizes: _Sizes) -> float:
    """Take Pitman up to a tenth of the population, else the smaller of SNB and Zayatz."""
    few = 10 * sizes.n <= sizes.population
    found = _pitman(sizes) if few else _snb(sizes)
    zayatz = _zayatz(sizes)
    if found is None:
        return zayatz
    return found if few else min(found, zayatz)


def _zayatz(sizes: _Sizes) -> float:
    """Return s_1 P(F = 1 | f = 1) N / n, each chance from that of the size before."""
    n, people = sizes.n, sizes.population
    j = np.arange(1.0, float(sizes.j[-1]))
    steps = (j + 1) / j * np.maximum(people - n - j + 1, 0) / (people - j)
    chance = n / people * np.concatenate(([1.0], np.cumprod(steps)))
    drawn_once = float(sizes.s @ chance[sizes.j - 1])
    return sizes.one * (sizes.one / drawn_once)  # the chance of size 1 is n / N


def _pitman(sizes: _Sizes) -> float | None:
    """Return (theta + alpha) rising to theta + 1, by N^alpha, where the likelihood is highest.

    The two equations are solved together, from several starts; their sums are added up term by
    term.
    """
    from scipy.special import poch  # noqa: PLC0415 # scipy loads late

    larger = _larger(sizes)
    for start_alpha in (0.5, 0.15, 0.85):
        for start in (1.0, 1e2, 1e4):
            x = _solved(
                lambda x: _pitman_equations(x, sizes, larger),
                (math.log(start_alpha / (1 - start_alpha)), math.log(start)),
            )
            if x is None:
                continue
            alpha = 1 / (1 + math.exp(-x[0]))
            theta = math.exp(x[1]) - alpha
            if EDGE < alpha < 1 - EDGE:
                found = float(poch(theta + alpha, 1 - alpha)) * sizes.population**alpha
                return found if found <= sizes.population else None
    return None  # so the likelihood has no maximum inside


def _pitman_equations(x: Floats, sizes: _Sizes, larger: Floats) -> Floats:
    """Return the derivatives by theta and alpha, each over its positive part.

    The logit of alpha and the logarithm of theta + alpha can be any numbers.
    """
    alpha = 1 / (1 + math.exp(-float(np.clip(x[0], -60, 60))))
    theta = math.exp(float(np.clip(x[1], -60, 60))) - alpha
    new = _total(lambda i: 1 / (theta + i * alpha), sizes.u)
    new_by_alpha = _total(lambda i: i / (theta + i * alpha), sizes.u)
    old = _total(lambda i: 1 / (theta + i), float(sizes.n))
    joined = float(np.sum(larger / (np.arange(1.0, len(larger) + 1) - alpha)))
    return np.array([new / old - 1, joined / new_by_alpha - 1])


def _larger(sizes: _Sizes) -> Floats:
    """Return how many classes are larger than 1, 2, ..., up to the largest but one."""
    of_size = np.zeros(int(sizes.j[-1]) + 1)
    of_size[sizes.j] = sizes.s
    return np.asarray(np.cumsum(of_size[::-1])[::-1][2:], dtype=np.float64)


def _total(term: Callable[[Floats], Floats], end: float) -> float:
    """Return the sum of a term over 1, 2, ... below the end, a last broken step in proportion."""
    whole = math.ceil(end) - 1
    total = sum(
        float(np.sum(term(np.arange(first, min(first + BLOCK, whole + 1), dtype=np.float64))))
        for first in range(1, whole + 1, BLOCK)
    )
    broken = whole + 1 - end
    return total - broken * float(term(np.array([float(whole)]))[0]) if whole else total


def _snb(sizes: _Sizes) -> float | None:
    """Return K beta^alpha where the expected s_1 and s_2 are those counted; the largest one."""
    two = float(sizes.s[sizes.j == 2].sum())
    if not two:
        return None
    f = sizes.n / sizes.population
    unseen = float(sizes.s @ (1 - f) ** sizes.j)
    once = float(sizes.s @ (sizes.j * f * (1 - f) ** (sizes.j - 1.0)))
    classes = sizes.u + sizes.one * unseen / once  # Shlosser 1981

    def equations(x: Floats) -> Floats:
        alpha, logit = math.exp(float(np.clip(x[0], -60, 60))), float(np.clip(x[1], -60, 60))
        beta = 1 / (1 + math.exp(-logit))
        q = (1 - f) * (1 - beta)
        none_else = alpha * (math.log(beta) - math.log1p(-q))
        first = classes * f * (1 + alpha * q / (1 - q))
        second = classes * f * f * alpha * (1 - beta) * (2 - (1 - alpha) * q) / (2 * (1 - q) ** 2)
        return np.array(
            [none_else + math.log(first / sizes.one), none_else + math.log(second / two)]
        )

    found = []
    for alpha in range(-6, 7, 3):
        for logit in range(-9, 10, 3):
            x = _solved(equations, (float(alpha), float(logit)))
            if x is not None and abs(x[1]) < 40:
                found.append(classes * math.exp(-math.exp(x[0]) * math.log1p(math.exp(-x[1]))))
    found = [each for each in found if each <= sizes.population]
    return max(found, default=None)


def _solved(
    equations: Callable[[Floats], Floats], start: tuple[float, float]
) -> tuple[float, float] | None:
    """Return where both equations are 0, or None if the search doesn't get there."""
    from scipy.optimize import root  # noqa: PLC0415 # scipy loads late

    try:
        with np.errstate(all="ignore"):
            found = root(equations, np.array(start), method="hybr", options={"xtol": 1e-14})
            off = np.abs(equations(found.x))
    except (ValueError, OverflowError, ZeroDivisionError):  # it ran out of the numbers
        return None
    if not bool(np.all(off < CLOSE)):
        return None
    return float(found.x[0]), float(found.x[1])


#: The estimators by the names that claims call them.
ESTIMATORS: Final[Mapping[str, Callable[[_Sizes], float | None]]] = {
    "pitman": _pitman,
    "snb": _snb,
    "zayatz": _zayatz,
}

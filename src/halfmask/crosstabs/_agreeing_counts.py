"""Whole numbers that add up, in and between tables, made of counts with noise alone."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from halfmask._errors import PolicyError
from halfmask.crosstabs._arrays import along, covers_of, largest_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halfmask.crosstabs._arrays import Axes, Floats, Ints
    from halfmask.crosstabs._dimension import Dimension

_STEPS: Final = 300
_NODES: Final = 2_000


def sums_by(counts: Floats, axes: Axes) -> Floats:
    """Return the sums by some of the dimensions."""
    dropped = tuple(at for at in range(counts.ndim) if at not in axes)
    return np.asarray(counts.sum(axis=dropped, keepdims=True))


def agreeing_counts(
    dimensions: Sequence[Dimension], crossed: Sequence[Axes], noisy: Sequence[Floats]
) -> list[Floats]:
    """Return whole numbers from 0 for the finest cells of each table, near the noisy ones."""
    agreed = _agreed(crossed, noisy)
    total = max(0, round(float(agreed[0].sum())))
    largest = largest_sets(crossed)
    fitted = {}
    for each in largest:
        step = 1 / prod(dimensions[axis].depth for axis in each)
        covers = covers_of(dimensions, each)
        fitted[each] = _fitted(covers, agreed[crossed.index(each)], total, step)
    again = _agreed(largest, list(fitted.values()))
    whole = _whole(dict(zip(largest, again, strict=True)), total)
    holders = [next(it for it in largest if each <= it) for each in crossed]
    return [sums_by(whole[it], each) for each, it in zip(crossed, holders, strict=True)]


def _shared(sets: Iterable[Axes]) -> list[Axes]:
    """Return sets and what any of them have in common, the smallest first."""
    found = {frozenset[int](), *sets}
    while more := {a & b for a, b in combinations(found, 2)} - found:
        found |= more
    return sorted(found, key=lambda it: (len(it), sorted(it)))


def _agreed(crossed: Sequence[Axes], counts: Sequence[Floats]) -> list[Floats]:
    """Return counts of which all tables show the same sums: means by exactness (PriView, 2014)."""
    made = list(counts)
    for axes in _shared(crossed):
        having = [at for at, own in enumerate(crossed) if axes <= own]
        sums = [sums_by(made[at], axes) for at in having]
        parts = np.array([made[at].size / sums[0].size for at in having])
        mean = sum(own / n for own, n in zip(sums, parts, strict=True)) / (1 / parts).sum()
        for at, own, n in zip(having, sums, parts, strict=True):
            made[at] = made[at] + (mean - own) / n
    return made


def _fitted(covers: list[csr_array], agreed: Floats, total: int, step: float) -> Floats:
    """Return counts from 0 with the total, whose sums fit best: projected gradients, Nesterov's."""
    turned = [csr_array(each.T) for each in covers]
    sizes = along(covers, np.ones(agreed.shape))

    def allowed(counts: Floats) -> Floats:
        return _with_sums(counts.reshape(1, -1), np.array([total])).reshape(counts.shape)

    now = ahead = allowed(agreed)
    pace = 1.0
    for _ in range(_STEPS):
        after = allowed(ahead - step * along(turned, along(covers, ahead - agreed) / sizes))
        further = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = after + (pace - 1) / further * (after - now)
        is_near = np.abs(after - now).max() < 1e-5 * (1 + np.abs(after).max())
        now, pace = after, further
        if is_near:
            break
    return now


def _with_sums(groups: Floats, wanted: Floats) -> Floats:
    """Return the nearest counts from 0 that have a sum, for each row."""
    falling = -np.sort(-groups, axis=1)
    excess = (np.cumsum(falling, axis=1) - wanted[:, None]) / np.arange(1, groups.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(groups - excess[np.arange(len(last)), last][:, None], 0.0))


def rounding_steps(largest: Iterable[Axes]) -> list[tuple[Axes, list[Axes]]]:
    """Return what is made whole one after the other, and the sums that hold each.

    Sums by two sets of dimensions are a network, which has a solution in whole numbers; more sets
    that have nothing in common are joined one by one.
    """
    sets = _shared(largest)
    steps: list[tuple[Axes, list[Axes]]] = []
    for own in sets[1:]:
        held = largest_sets([it for it in sets if it < own])
        if len(held) > 2 and any(a & b for a, b in combinations(held, 2)):
            raise PolicyError(
                "The policy has tables that overlap in a circle: their counts can't always be "
                "whole numbers that add up.",
                hint="Replace them by one table with all their dimensions, or leave one out.",
            )
        while len(held) > 2:
            steps.append((held[0] | held[1], held[:2]))
            held = [held[0] | held[1], *held[2:]]
        steps.append((own, held))
    return steps


def _whole(fitted: dict[Axes, Floats], total: int) -> dict[Axes, Floats]:
    """Return whole numbers near the fitted ones, in the order of `rounding_steps`."""
    some = next(iter(fitted.values()))
    done = {frozenset[int](): np.full((1,) * some.ndim, float(total))}
    for own, held in rounding_steps(fitted):
        near = sums_by(next(it for axes, it in fitted.items() if own <= axes), own)
        make = _remainders if len(held) == 1 else _by_program
        done[own] = make(near, [done[it] for it in held])
    return done


def _groups(shape: tuple[int, ...], sums: Floats) -> Ints:
    """Return for each cell of an array the number of the sum that it is part of."""
    return np.broadcast_to(np.arange(sums.size).reshape(sums.shape), shape).ravel()


def _remainders(near: Floats, held: list[Floats]) -> Floats:
    """Return whole numbers with given sums over groups: the largest remainders are rounded up."""
    order = np.argsort(_groups(near.shape, held[0]), kind="stable")
    wanted = held[0].ravel()
    moved = _with_sums(near.ravel()[order].reshape(len(wanted), -1), wanted)
    base = np.floor(moved + 1e-9)
    rank = np.argsort(np.argsort(base - moved, axis=1, kind="stable"), axis=1)
    made = np.empty(near.size)
    made[order] = (base + (rank < np.rint(wanted - base.sum(axis=1))[:, None])).ravel()
    return made.reshape(near.shape)


def _by_program(near: Floats, held: list[Floats]) -> Floats:
    """Return whole numbers with given sums, nearest in total: a network, so a linear program."""
    every = np.arange(near.size)
    sums = csr_array(
        vstack([csr_array((np.ones(near.size), (_groups(near.shape, it), every))) for it in held])
    )
    wanted = np.concatenate([each.ravel() for each in held])
    base = np.floor(near.ravel() + 1e-9).clip(0)
    bounds = np.full(near.size, np.inf), base
    moved, _ = least_steps(sums, wanted - sums @ base, near.ravel() - base, *bounds, whole=False)
    if moved is None or (sums @ (base + moved) != wanted).any():
        raise AssertionError("A network has a solution in whole numbers.")
    return (base + moved).reshape(near.shape)


def least_steps(
    equations: csr_array, missing: Floats, residue: Floats, up: Floats, down: Floats, *, whole: bool
) -> tuple[Floats | None, bool]:
    """Return steps that add up to what is missing, the nearest to the residues in total.

    Else None, and whether there are proven to be none. Without ``whole`` it is a linear program.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 # 50 ms

    # A step up, further steps up, steps down: each costs what it adds to the distance.
    size = np.concatenate([residue > 0, up, down]).astype(np.float64)
    price = np.concatenate([1 - 2 * residue, np.ones(2 * len(residue))])
    matrix = csr_array(hstack([equations, equations, -equations]))
    used, found = np.flatnonzero(size > 0), np.zeros(len(size))
    if len(used) and equations.shape[0]:
        solved = milp(
            price[used],
            integrality=np.full(len(used), int(whole)),
            bounds=Bounds(0, size[used]),
            constraints=LinearConstraint(matrix[:, used], missing, missing),
            options={"mip_rel_gap": 0.0, "node_limit": _NODES},
        )
        if solved.x is None:
            return None, solved.status == 2
        found[used] = np.rint(solved.x)
    else:
        found[: len(residue)] = residue > 0.5
    once, more, less = found.reshape(3, -1)
    return once + more - less, False

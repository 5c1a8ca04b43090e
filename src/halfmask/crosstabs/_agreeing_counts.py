"""Whole numbers that add up, in and between tables, made of counts with noise alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, hstack, kron, vstack

from halfmask._errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._dimension import Dimension

Counts: TypeAlias = "NDArray[np.float64]"
#: Whether each dimension is one of a table.
Crossed: TypeAlias = tuple[bool, ...]
_STEPS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableShape:
    """The cells of one table, all combinations of declared codes, and the finest among them."""

    name: str
    dimensions: tuple[Dimension, ...]
    #: Whether the table crosses each dimension.
    has: Crossed

    @classmethod
    def of(cls, name: str, dimensions: tuple[Dimension, ...], crossed: Sequence[str]) -> TableShape:
        return cls(
            name=name, dimensions=dimensions, has=tuple(it.name in crossed for it in dimensions)
        )

    @property
    def own(self) -> list[Dimension]:
        return [it for it, has in zip(self.dimensions, self.has, strict=True) if has]

    @property
    def n_cells(self) -> int:
        return prod(len(each.codes) for each in self.own)

    @property
    def n_leaves(self) -> int:
        return prod(len(each.leaves) for each in self.own)

    def codes(self, *, leaves: bool = False) -> NDArray[np.int32]:
        """Return the codes of all cells, or of the finest, in the order of a table."""
        axes = [
            [it.position[code] for code in (it.leaves if leaves else it.codes)]
            if has
            else [it.position[it.total]]
            for it, has in zip(self.dimensions, self.has, strict=True)
        ]
        grids = np.meshgrid(*[np.array(each, dtype=np.int32) for each in axes], indexing="ij")
        return np.stack([each.ravel() for each in grids], axis=1)

    def counts(self, cells: CellSystem) -> NDArray[np.int64]:
        """Return the true counts of the finest cells."""
        known = dict(zip(map(tuple, cells.codes.tolist()), cells.value.tolist(), strict=True))
        found = [known.get(tuple(codes), 0.0) for codes in self.codes(leaves=True).tolist()]
        return np.rint(found).astype(np.int64)

    def sums(self) -> csr_array:
        """Return the matrix that adds up finest cells to all cells."""
        return _product([_coverage(each) for each in self.own])

    def onto(self, kept: Crossed) -> csr_array:
        """Return the matrix that adds up finest cells to those of some of its dimensions."""
        return _product(
            [
                eye_array(len(it.leaves)) if stays else csr_array(np.ones((1, len(it.leaves))))
                for it, has, stays in zip(self.dimensions, self.has, kept, strict=True)
                if has
            ]
        )


def _coverage(dimension: Dimension) -> csr_array:
    """Return which leaves each code covers."""
    place = {leaf: number for number, leaf in enumerate(dimension.leaves)}
    covered = [sorted(place[leaf] for leaf in dimension.covers[it]) for it in dimension.codes]
    starts = np.cumsum([0, *map(len, covered)])
    columns = np.array([leaf for each in covered for leaf in each], dtype=np.int64)
    shape = len(covered), len(place)
    return csr_array((np.ones(len(columns)), columns, starts), shape=shape)


def _product(matrices: list[csr_array]) -> csr_array:
    one = csr_array(np.ones((1, 1)))
    return csr_array(reduce(lambda a, b: kron(a, b, format="csr"), matrices, one))


def agreeing_counts(shapes: list[TableShape], noisy: Sequence[NDArray[np.float64]]) -> list[Counts]:
    """Return whole numbers from 0 for the finest cells of each table, near the noisy ones."""
    agreed = _parted(shapes, _consistent(shapes, np.concatenate(noisy)))
    total = max(0, round(float(agreed[0].sum())))
    holders = largest_tables(shapes)
    largest = [at for at, holder in enumerate(holders) if at == holder]
    of = [shapes[at] for at in largest]
    fitted = _parted(of, _fitted(of, np.concatenate([agreed[at] for at in largest]), total))
    whole = dict(zip(largest, _whole(of, fitted, total), strict=True))
    return [
        shapes[holder].onto(it.has) @ whole[holder]
        for it, holder in zip(shapes, holders, strict=True)
    ]


def _parted(shapes: list[TableShape], counts: Counts) -> list[Counts]:
    return np.split(counts, np.cumsum([each.n_leaves for each in shapes])[:-1])


def largest_tables(shapes: list[TableShape]) -> list[int]:
    """Return for each table one with all its dimensions that no other has more of."""
    order = sorted(range(len(shapes)), key=lambda at: (-sum(shapes[at].has), at))
    return [
        next(at for at in order if all(np.greater_equal(shapes[at].has, each.has)))
        for each in shapes
    ]


def _links(shapes: list[TableShape]) -> csr_array:
    """Return equations between the finest cells of tables: what two show is the same."""
    n = [each.n_leaves for each in shapes]
    rows = [csr_array((0, sum(n)))]
    for a, b in combinations(range(len(shapes)), 2):
        both = _both(shapes[a].has, shapes[b].has)
        left, right = shapes[a].onto(both), shapes[b].onto(both)
        parts = [csr_array((left.shape[0], size)) for size in n]
        parts[a], parts[b] = left, -right
        rows.append(hstack(parts, format="csr"))
    return csr_array(vstack(rows, format="csr"))


def _both(left: Crossed, right: Crossed) -> Crossed:
    return tuple(a and b for a, b in zip(left, right, strict=True))


def _consistent(shapes: list[TableShape], noisy: Counts) -> Counts:
    """Return the nearest numbers of which all tables show the same sums."""
    from scipy.sparse.linalg import lsmr  # noqa: PLC0415 # scipy loads late

    links = _links(shapes)
    if not links.shape[0]:
        return noisy
    moved = lsmr(links.T, noisy, atol=1e-12, btol=1e-12, maxiter=10_000)[0]
    return np.asarray(noisy - links.T @ moved)


def _fitted(shapes: list[TableShape], agreed: Counts, total: int) -> Counts:
    """Return counts from 0 with the total, whose sums fit best: projected gradients, Nesterov's."""
    stacked = vstack([block_diag([each.sums() for each in shapes]), _links(shapes)], format="csr")
    sizes = np.maximum(np.abs(stacked).sum(axis=1), 1.0)
    weighted = csr_array(diags_array(1 / np.sqrt(sizes)) @ stacked)
    wanted = weighted @ agreed
    # Each row of a leaf adds 1 at most to the norm.
    step = 1.0 / np.diff(weighted.tocsc().indptr).max()
    turned = csr_array(weighted.T)

    def allowed(counts: Counts) -> Counts:
        return np.concatenate([_with_total(own, total) for own in _parted(shapes, counts)])

    now = ahead = allowed(agreed)
    pace = 1.0
    for _ in range(_STEPS):
        after = allowed(ahead - step * (turned @ (weighted @ ahead - wanted)))
        further = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = after + (pace - 1) / further * (after - now)
        is_near = np.abs(after - now).max() < 1e-5 * (1 + np.abs(after).max())
        now, pace = after, further
        if is_near:
            break
    return now


def _with_total(counts: Counts, total: float) -> Counts:
    """Return the nearest counts from 0 that have a total."""
    falling = -np.sort(-counts)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = max(0, int(np.count_nonzero(falling > excess)) - 1)
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def rounding_steps(shapes: list[TableShape]) -> list[tuple[Crossed, list[Crossed]]]:
    """Return what is made whole one after the other, and the sums that hold each.

    First what tables share, then the tables. Sums by two sets of dimensions are a network, which
    has a solution in whole numbers; more sets that have nothing in common are joined one by one.
    """
    sets = {each.has for each in shapes} | {(False,) * len(shapes[0].has)}
    while True:
        more = {_both(a, b) for a, b in combinations(sorted(sets), 2)} - sets
        if not more:
            break
        sets |= more
    steps: list[tuple[Crossed, list[Crossed]]] = []
    for own in sorted(sets, key=lambda has: (sum(has), has))[1:]:
        below = [it for it in sets if it != own and _both(it, own) == it]
        held = [it for it in below if not any(it != b and _both(it, b) == it for b in below)]
        if len(held) > 2 and any(any(_both(a, b)) for a, b in combinations(held, 2)):
            raise PolicyError(
                "The policy has tables that overlap in a circle: their counts can't always be "
                "whole numbers that add up.",
                hint="Replace them by one table with all their dimensions, or leave one out.",
            )
        held.sort()
        while len(held) > 2:
            union = tuple(a or b for a, b in zip(held[0], held[1], strict=True))
            steps.append((union, held[:2]))
            held = [union, *held[2:]]
        steps.append((own, held))
    return steps


def _whole(shapes: list[TableShape], fitted: list[Counts], total: int) -> list[Counts]:
    """Return whole numbers near the fitted ones, in the order of `rounding_steps`."""
    done = {(False,) * len(shapes[0].has): np.array([float(total)])}
    for own, held in rounding_steps(shapes):
        shape, near = next(
            (it, near) for it, near in zip(shapes, fitted, strict=True) if _both(it.has, own) == own
        )
        here = replace(shape, has=own)
        near = shape.onto(own) @ near
        sums, wanted = [here.onto(it) for it in held], [done[it] for it in held]
        done[own] = (
            _remainders(near, sums[0], wanted[0])
            if len(held) == 1
            else _by_program(near, csr_array(vstack(sums, format="csr")), np.concatenate(wanted))
        )
    return [done[each.has] for each in shapes]


def _remainders(near: Counts, sums: csr_array, wanted: Counts) -> Counts:
    """Return whole numbers with given sums over groups: the largest remainders are rounded up."""
    made = np.empty(len(near))
    for row, of in enumerate(wanted):
        group = sums.indices[sums.indptr[row] : sums.indptr[row + 1]]
        moved = _with_total(near[group], of)
        base = np.floor(moved + 1e-9)
        up = round(of - base.sum())
        base[np.argsort(base - moved, kind="stable")[:up]] += 1
        made[group] = base
    return made


def _by_program(near: Counts, sums: csr_array, wanted: Counts) -> Counts:
    """Return whole numbers with given sums, nearest in total: a network, so a linear program."""
    from scipy.optimize import linprog  # noqa: PLC0415 # scipy loads late

    base = np.floor(near + 1e-9)
    ones = np.ones(len(near))
    # A step up, further steps up, steps down: each costs what it adds to the distance.
    found = linprog(
        np.concatenate([1 - 2 * (near - base), ones, ones]),
        A_eq=hstack([sums, sums, -sums], format="csc"),
        b_eq=wanted - sums @ base,
        bounds=np.stack(
            [np.zeros(3 * len(near)), np.concatenate([ones, ones * np.inf, base])], axis=1
        ),
        method="highs-ds",
    )
    once, more, down = np.rint(found.x).reshape(3, -1)
    made = np.asarray(base + once + more - down)
    if (sums @ made != wanted).any():
        raise AssertionError("A network has a solution in whole numbers.")
    return made

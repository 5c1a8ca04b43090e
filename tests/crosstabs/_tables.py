"""Small tables for tests: cells with all totals, made of inner values or of contributions."""

from __future__ import annotations

from itertools import chain, product
from typing import Any

import numpy as np

from halfmask.crosstabs._cells import LARGEST, CellSystem, Contributors, build_equations
from halfmask.crosstabs._dimension import flat_dimension


def flat_dimensions(shape):
    """Return a flat dimension for each axis: "a" of "a1", "a2", ..., "b" of "b1", ..."""
    names = "abcdefghij"[: len(shape)]
    return tuple(
        flat_dimension(name, [f"{name}{number + 1}" for number in range(size)])
        for name, size in zip(names, shape, strict=True)
    )


def cells_of(
    values=None,
    *,
    dimensions=None,
    contributors=None,
    shape=None,
    measure="turnover",
    tables=None,
    zeros=True,
):
    """Return the cells of a table of inner values, with all totals.

    `values` is an n-way array over the leaves of each dimension (flat ones if none are given).

    `contributors` has a list of contributions in each place: numbers (each of an owner of its
    own), pairs (owner, number) or triples (owner, number, sampling weight). Without `values`, give
    `shape` or `dimensions`, and values are the weighted sums. With `measure=None` the values are
    counts, and each person is an owner. Sums without contributors have none.

    `tables` names the dimensions of each table by its name; without it, one table "t" has all.
    `zeros=False` leaves cells that nobody is in out.
    """
    if contributors is None and measure is None:
        contributors = _nested(values, lambda count: [1.0] * int(count))
    if values is not None:
        shape = np.shape(values)
    elif dimensions:
        shape = tuple(len(each.leaves) for each in dimensions)
    lists = None if contributors is None else _lists(contributors, shape)
    inner = np.array(values, dtype=float) if values is not None else _sums(lists)
    dimensions = dimensions or flat_dimensions(shape)
    tables = tables or {"t": [each.name for each in dimensions]}
    found: dict[tuple[str, ...], Any] = {}
    shown: dict[str, list[tuple[str, ...]]] = {}
    for table, names in tables.items():
        choices = [each.codes if each.name in names else (each.total,) for each in dimensions]
        for codes in product(*choices):
            where = np.ix_(
                *[
                    [each.leaves.index(leaf) for leaf in each.leaves if leaf in each.covers[code]]
                    for each, code in zip(dimensions, codes, strict=True)
                ]
            )
            filled = inner[where].any() if lists is None else any(lists[where].ravel())
            if filled or zeros or all(map(_is_total, codes, dimensions)):
                found.setdefault(codes, where)
                shown.setdefault(table, []).append(codes)
    position = {codes: number for number, codes in enumerate(found)}
    numbers = np.array(
        [
            [each.position[code] for each, code in zip(dimensions, codes, strict=True)]
            for codes in found
        ],
        dtype=np.int32,
    )
    return CellSystem(
        measure=measure,
        dimensions=tuple(dimensions),
        codes=numbers,
        value=np.array([inner[where].sum() for where in found.values()]),
        contributors=None
        if lists is None
        else contributors_of([list(chain(*lists[where].ravel())) for where in found.values()]),
        equations=build_equations(numbers, dimensions),
        tables={
            table: np.array([position[codes] for codes in of], dtype=np.int64)
            for table, of in shown.items()
        },
    )


def contributors_of(lists):
    """Return the contributors of cells, each a list of triples (owner, number, weight)."""
    n = len(lists)
    count, absolute = np.zeros(n), np.zeros(n)
    largest, weights = np.zeros((n, LARGEST)), np.zeros((n, LARGEST))
    owners = np.full((n, LARGEST), -1)
    for cell, of in enumerate(lists):
        each: dict[object, tuple[float, float, float]] = {}
        for owner, number, weight in of:
            plain, weighted, heavy = each.get(owner, (0.0, 0.0, 0.0))
            each[owner] = (plain + number, weighted + weight * number, heavy + weight)
        count[cell] = len(each)
        absolute[cell] = sum(abs(weighted) for _, weighted, _ in each.values())
        ordered = sorted(each.items(), key=lambda it: (-abs(it[1][0]), it[0]))[:LARGEST]
        for rank, (owner, (plain, weighted, heavy)) in enumerate(ordered):
            largest[cell, rank] = plain
            owners[cell, rank] = owner
            weights[cell, rank] = weighted / plain if plain else heavy
    return Contributors(
        rows=np.array([len(of) for of in lists], dtype=np.int64),
        count=count,
        largest=largest,
        owners=owners,
        absolute=absolute,
        weights=None if all(weight == 1 for of in lists for *_, weight in of) else weights,
    )


def at(cells, *codes):
    """Return the number of the cell with these codes; dimensions left out have their total."""
    wanted = [each.total for each in cells.dimensions]
    wanted[: len(codes)] = codes
    numbers = [each.position[code] for each, code in zip(cells.dimensions, wanted, strict=True)]
    return int(np.flatnonzero((cells.codes == numbers).all(axis=1))[0])


def _is_total(code, dimension):
    return code == dimension.total


def _nested(values, function):
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [_nested(each, function) for each in values]
    return function(values)


def _lists(contributors, shape):
    """Return an array of lists of triples; contributions without an owner have one of their own."""
    lists = np.empty(shape, dtype=object)
    fresh = iter(range(10**6, 10**9))
    numbers: dict[object, int] = {}
    for where in np.ndindex(shape):
        of = contributors
        for axis in where:
            of = of[axis]
        lists[where] = [_triple(each, fresh, numbers) for each in of]
    return lists


def _triple(given, fresh, numbers):
    if not isinstance(given, tuple):
        return (next(fresh), float(given), 1.0)
    owner, number, weight = (*given, 1.0)[:3]
    if not isinstance(owner, int):
        owner = numbers.setdefault(owner, 10**5 + len(numbers))
    return (owner, float(number), float(weight))


def _sums(lists):
    sums = np.empty(lists.shape)
    for where in np.ndindex(lists.shape):
        sums[where] = sum(number * weight for _, number, weight in lists[where])
    return sums

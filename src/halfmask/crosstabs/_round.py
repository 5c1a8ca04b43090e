"""Rounding of cells to multiples of a base, and of small counts to 0 or a base."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import csr_array

from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask._random import keyed_order
from halfmask.crosstabs._agreeing_counts import least_steps
from halfmask.crosstabs._merging import merge_equal
from halfmask.kernels.rounding.choices import improve

if TYPE_CHECKING:
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Knowledge
    from halfmask.crosstabs._protections import SmallCounts, TableRounding

#: A multiple of the base may be missed by this share of the base: sums of decimals aren't exact.
_NOISE: Final = 1e-9
#: Up to so many cells, or if cells are in few equations, an integer program has the least distance.
_EXACT: Final = 1_500
_PLANAR: Final = 2
#: Small counts are gone through so often at most; each time the distance gets less.
_SWEEPS: Final = 50
#: Rounds of the search for additive multiples in large tables, and steps that are too many.
_ROUNDS: Final = 200
_TRIES: Final = 20
_STEPS: Final = 1 << 30


def round_cells(
    cells: CellSystem, knowledge: Knowledge, settings: TableRounding, *, key: bytes
) -> Floats:
    """Return the cells as multiples of the base: of Handbook on SDC, 2nd edition, chapter 5.

    Random rounding goes up with a chance of the residue, drawn by the cell's codes and the key: the
    same in every table. Controlled rounding has the least distance at which all equations hold.
    """
    if not np.isfinite(cells.value).all():
        raise DataError("A cell to round isn't a finite number.")
    floor, residue = _divide(cells.value, settings.base)
    if settings.way == "conventional":
        up = np.where(cells.value < 0, residue > 0.5, residue >= 0.5)
    elif settings.way == "random":
        up = _draws(cells, key) < residue
    else:
        return _multiply(_control(cells, knowledge, settings, floor, residue), settings.base)
    return _multiply(floor + up, settings.base)


def existence_interval(
    published: Floats, settings: TableRounding, *, whole: bool = True, negative: bool = False
) -> tuple[Floats, Floats]:
    """Return the least and greatest true value of a published one; sums don't reach the ends."""
    base = settings.base
    if settings.way == "conventional":
        down = up = np.full(len(published), base / 2)
        if whole:  # half-way is away from 0
            down, up = (
                np.full(len(published), base // 2),
                np.full(len(published), -(-base // 2) - 1),
            )
            down, up = np.where(published < 0, up, down), np.where(published < 0, down, up)
            down = np.where(published == 0, np.minimum(down, up), down)
    else:
        steps = settings.steps if settings.way == "controlled" else 0
        down = up = np.full(len(published), (steps + 1) * base - (1 if whole else 0))
    lower, upper = published - down, published + up
    return (lower if negative else np.maximum(lower, 0.0)), upper


def round_small(cells: CellSystem, settings: SmallCounts, *, key: bytes) -> Floats:
    """Return counts of which none is between 0 and the base, and whose sums hold.

    The largest small inner counts become the base first, as long as the squared distance of all
    cells falls; totals far from their values weigh more in each try. Source: `SmallCounts`.
    """
    if (cells.value < 0).any() or (cells.value != np.rint(cells.value)).any():
        raise DataError("Small counts are rounded in tables of whole numbers from 0.")
    covers = inner_cells(cells.equations)
    inner = np.flatnonzero(np.diff(covers.tocsc().indptr))
    own = cells.value[inner]
    small = np.flatnonzero((own > 0) & (own < settings.base))
    above = csr_array(covers[:, inner[small]].T)
    below = cells.value.copy()
    below -= above.T @ own[small]
    raised = np.zeros(len(small), dtype=bool)
    order = keyed_order(len(small), key=key)
    order = order[np.argsort(-own[small][order], kind="stable")]
    distance = -(above.T @ own[small])
    weight, best, least = np.ones(cells.n), raised, np.inf
    for _ in range(_TRIES):
        _choose(above, distance, settings.base, order, weight, raised)
        if (most := np.abs(distance).max(initial=0.0)) < least:
            best, least = raised.copy(), most
        weight[np.abs(distance) > settings.base] *= 1.5
    rounded: Floats = below + above.T @ (best * float(settings.base))
    if ((rounded > 0) & (rounded < settings.base)).any() or (cells.equations @ rounded).any():
        raise GuaranteeNotMetError(
            "Small counts can't be rounded so that sums hold: tables share totals, and no table "
            "has the cells that all of them add up.",
            hint="Add a table that crosses the dimensions of all tables.",
        )
    return rounded


def inner_cells(equations: csr_array) -> csr_array:
    """Return for each cell which inner cells it adds up; an inner cell is the total of nothing."""
    n = equations.shape[1]
    totals = np.full(n, -1)
    rows, cells = equations.minimum(0).nonzero()
    totals[cells[::-1]] = rows[::-1]  # the first equation of each
    is_inner = totals < 0
    found = csr_array((is_inner.astype(np.float64), (np.arange(n), np.arange(n))), shape=(n, n))
    at, shape = np.flatnonzero(~is_inner), equations.shape[::-1]
    step = csr_array((np.ones(len(at)), (at, totals[at])), shape=shape) @ equations.maximum(0)
    reached = found
    while reached.nnz:
        reached = csr_array(step @ reached)
        reached.eliminate_zeros()
        found = csr_array(found + reached)
    return found


def _choose(
    above: csr_array, distance: Floats, step: float, order: Ints, weight: Floats, raised: Bools
) -> None:
    """Choose which inner cells have the higher of two values; ``above`` has what each counts in."""
    starts, cells = above.indptr.astype(np.int64), above.indices.astype(np.int64)
    improve(starts, cells, weight, distance, raised, float(step), order, _SWEEPS)


def _divide(value: Floats, base: float) -> tuple[Ints, Floats]:
    """Return how often the base is in each value, and the rest as a share of it: 0 to below 1."""
    if np.abs(value).max(initial=0.0) / base >= 2.0**52:
        raise DataError(
            "Cells are more than 2**52 times the base of rounding.", hint="Choose a larger base."
        )
    if base == int(base) and (value == np.rint(value)).all():
        floor, rest = np.divmod(value.astype(np.int64), int(base))
        return floor, rest / base
    share = value / base
    near = np.rint(share)
    is_multiple = np.abs(share - near) <= np.maximum(_NOISE, 4 * np.spacing(np.abs(share)))
    floor = np.where(is_multiple, near, np.floor(share))
    return floor.astype(np.int64), np.where(is_multiple, 0.0, share - floor)


def _multiply(times: Ints, base: float) -> Floats:
    """Return multiples of the base as the numbers that its decimals give: 3 * 0.1 is 0.3."""
    exact = Fraction(repr(float(base)))
    if exact.denominator == 1:
        return times.astype(np.float64) * base
    return np.array([float(int(each) * exact) for each in times])


def _draws(cells: CellSystem, key: bytes) -> Floats:
    """Return a number from 0 to below 1 for each cell, made of its codes and the key.

    Cells that equal each other have one: two draws would tell more of the value that they share.
    """
    order = sorted(range(len(cells.dimensions)), key=lambda at: cells.dimensions[at].name)
    texts = [
        [f"{each.name}\0{code}\0\0" if code != each.total else "" for code in each.codes]
        for each in map(cells.dimensions.__getitem__, order)
    ]
    found = np.empty(cells.n)
    for cell, codes in enumerate(cells.codes[:, order]):
        text = "".join(texts[at][code] for at, code in enumerate(codes))
        drawn = hashlib.blake2b(text.encode(), key=key, digest_size=8).digest()
        found[cell] = (int.from_bytes(drawn, "little") >> 11) * 2.0**-53
    _, first, label = np.unique(
        merge_equal(cells.equations)[1], return_index=True, return_inverse=True
    )
    return found[first[label]]


def _control(
    cells: CellSystem, knowledge: Knowledge, settings: TableRounding, floor: Ints, residue: Floats
) -> Ints:
    """Return multiples that are additive; further steps only where needed."""
    lowest = np.where(knowledge.lower >= 0, 0.0, -np.inf)
    is_planar = cells.n == 0 or np.diff(cells.equations.tocsc().indptr).max() <= _PLANAR
    is_proven = False
    if is_planar or cells.n <= _EXACT:
        for steps in range(settings.steps + 1):
            down = np.minimum(steps, floor - lowest) if steps else np.zeros(cells.n)
            bounds, missing = (np.full(cells.n, steps), down), -(cells.equations @ floor)
            moved, is_proven = least_steps(cells.equations, missing, residue, *bounds, whole=True)
            if moved is not None and not (cells.equations @ (floor + moved)).any():
                return floor + moved.astype(np.int64)
    needed = settings.steps + 1
    if not is_proven:
        found, steps = _search(cells, floor, residue, settings.steps)
        if steps <= settings.steps:
            return found
        needed = steps if steps < _STEPS else needed
    raise GuaranteeNotMetError(
        f"No table of {cells.n} cells {'exists' if is_proven else 'was found'} whose sums hold and "
        f"whose cells differ by less than {settings.steps + 1} times the base of rounding.",
        hint=f"Set steps = {needed}, or choose a larger base.",
    )


def _search(cells: CellSystem, floor: Ints, residue: Floats, steps: int) -> tuple[Ints, int]:
    """Return additive multiples near their values, and how many further steps apart they are."""
    covers = inner_cells(cells.equations)
    inner = np.flatnonzero(np.diff(covers.tocsc().indptr))
    open_ = inner[residue[inner] > 0]
    above = csr_array(covers[:, open_].T)
    start = covers @ np.where(np.isin(np.arange(cells.n), inner), floor, 0)
    distance = start - floor - residue
    raised, weight = np.zeros(len(open_), dtype=bool), np.ones(cells.n)
    order = np.argsort(-residue[open_], kind="stable")
    best, least = start.astype(np.int64), _STEPS
    for _ in range(_ROUNDS):
        _choose(above, distance, 1.0, order, weight, raised)
        further = np.floor(np.abs(distance) + _NOISE)
        further[residue == 0] = np.rint(np.abs(distance[residue == 0]))
        most = int(further.max(initial=0))
        if most < least:
            best, least = np.rint(start + above.T @ raised.astype(float)).astype(np.int64), most
        if least <= steps:
            break
        weight[further > steps] *= 1.5
    return best, least if not (cells.equations @ best).any() else _STEPS

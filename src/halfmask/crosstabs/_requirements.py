"""What each attacker must not be able to compute of hidden cells, and sums of them that tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr

from halfmask._errors import PolicyError
from halfmask.crosstabs._arrays import covers_of
from halfmask.crosstabs._cells import LARGEST, link, places_of, ranges_of
from halfmask.crosstabs._pattern import Requirements
from halfmask.crosstabs._primary import (
    Concentration,
    Shares,
    absolute_sums,
    fill_largest,
    in_tables,
    is_nonnegative,
    sum_largest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem, Contributors
    from halfmask.crosstabs._pattern import Sensitivity
    from halfmask.crosstabs._rules import CellRule

    Pairs = tuple[Ints, Ints]

#: With "exact", what an owner's interval must have of the protection interval; counts need 1.
_EXACT: Final = 0.1
#: More pairs of an owner and a cell aren't stated: the audit would take hours.
_MOST_PAIRS: Final = 1_000_000
#: In how many random directions hidden cells are moved, and up to how many independent cells of
#: an owner these directions tell what the owner can compute.
_DIRECTIONS: Final = 8
_TOLD: Final = 5
#: Squared lengths below it are 0, and coordinates that differ by less are equal.
_FLAT: Final = 1e-8
_CLOSE: Final = 1e-6


def state_requirements(
    cells: CellSystem, sensitivity: Sensitivity, hidden: Bools, *, singletons: str
) -> Requirements:
    """State the interval that each sensitive hidden cell needs: for all, and for lone owners.

    An owner who is alone in a cell knows its value. With "full" their intervals of all other cells
    must be as wide as anybody's. With "exact" they mustn't be a single value; this is stated for
    the cells that could otherwise be computed, which are found by linear algebra.
    """
    wanted = np.flatnonzero(sensitivity.is_sensitive & hidden)
    known = [] if singletons == "off" else _known_by_owners(cells, hidden)
    below, above = sensitivity.below, sensitivity.above
    owner, cell = _linked_pairs(cells, hidden, known, wanted, exact=singletons != "full")
    low, high = below[cell], above[cell]
    if singletons == "exact":  # one direction suffices
        share = _EXACT if not cells.is_count else 1.0
        low = np.where(high > 0, 0.0, low * share)
        high = np.where(high > 0, 1.0 if cells.is_count else high * share, 0.0)
    elif len(cell) and is_nonnegative(cells):  # a cell is at least as much as their own part of it
        at, part = _spread(known, owner)
        own, inside = np.zeros(len(cell)), _is_inside(cells, part, cell[at])
        np.maximum.at(own, at[inside], cells.value[part[inside]])
        low = np.minimum(low, np.maximum(cells.value[cell] - own, 0.0))
    names = [tuple(each.tolist()) for each in known]
    return Requirements(
        cell=np.concatenate([wanted, cell]),
        below=np.concatenate([below[wanted], low]),
        above=np.concatenate([above[wanted], high]),
        known=(*[()] * len(wanted), *(names[each] for each in owner.tolist())),
    )


def _known_by_owners(cells: CellSystem, hidden: Bools) -> list[Ints]:
    """Return for each owner who is alone in hidden cells these cells.

    Of unknown owners each has one cell; parts of a total with one contributor have the same one.
    """
    who = cells.contributors
    if who is None and not cells.is_count:
        return []
    alone = (cells.value if who is None else who.count) == 1
    owner = np.full(cells.n, -1) if who is None else who.owners[:, 0]
    entries = cells.equations.tocoo()
    rows, columns = entries.coords
    lone = np.zeros(cells.equations.shape[0], dtype=np.bool_)
    lone[rows[(entries.data < 0) & alone[columns]]] = True
    group = link(cells.equations, lone[rows] & alone[columns])
    label = np.where(owner >= 0, owner, group + owner.max(initial=-1) + 1)
    found = np.flatnonzero(alone & hidden)
    return [found[each] for each in places_of(label[found]).values()]


def _linked_pairs(
    cells: CellSystem, hidden: Bools, known: list[Ints], wanted: Ints, *, exact: bool
) -> Pairs:
    """Return owners, by position, with cells of which they may learn from what they know.

    With `exact`, those that they might compute: their moves are combinations of those of known
    cells. Cells that move only if a cell of 0 rises are left to the audit, for all owners.
    """
    if not known or not len(wanted):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    part = link(cells.equations, hidden[cells.equations.indices])
    found = []
    if exact:
        tied, stiff = _tied(cells.equations, hidden & (cells.value != 0), known, wanted)
        found.append(tied)
        wanted = stiff[np.isin(part[stiff], part[hidden & (cells.value == 0)])]
    found.append(_near(part, known, wanted))
    if (pairs := sum(len(owner) for owner, _ in found)) > _MOST_PAIRS:
        raise PolicyError(
            f"What lone owners know asks for {pairs:,} intervals or more.",
            hint='Write singletons = "exact" or "off" under [protection], or leave the rule for '
            "zeros out.",
        )
    owner, cell = np.unique(np.hstack(found), axis=1)
    at, inside = _spread(known, owner)
    is_known = np.bincount(at, _is_inside(cells, cell[at], inside), minlength=len(cell)) > 0
    return owner[~is_known], cell[~is_known]  # of a cell inside their own an owner knows all


def _near(part: Ints, known: list[Ints], wanted: Ints) -> Pairs:
    """Return owners with all wanted cells that equations link to those that they know."""
    at, cell = _spread(known, np.arange(len(known)))
    owner, place = np.unique(np.stack([at, part[cell]]), axis=1)
    pair, found = _matches(place, part[wanted])
    return owner[pair], wanted[found]


def _matches(left: Ints, right: Ints) -> Pairs:
    """Return all pairs of positions of equal numbers."""
    order = np.argsort(right, kind="stable")
    first, last = (np.searchsorted(right[order], left, side=side) for side in ("left", "right"))
    at, place = ranges_of(first, last - first)
    return at, order[place]


def _spread(known: list[Ints], owner: Ints) -> Pairs:
    """Return each cell that the owner of a pair knows, after the position of the pair."""
    lengths = np.array([len(each) for each in known])
    pair, place = ranges_of((np.cumsum(lengths) - lengths)[owner], lengths[owner])
    return pair, np.concatenate(known)[place]


def _is_inside(cells: CellSystem, inner: Ints, outer: Ints) -> Bools:
    """Return whether all who are in a cell are in another one, by their codes."""
    inside = np.ones(len(inner), dtype=np.bool_)
    every = frozenset(range(len(cells.dimensions)))
    for at, leaves in enumerate(covers_of(cells.dimensions, every)):
        common, own = csr_array(leaves @ leaves.T), cells.codes[inner, at]
        shared = np.asarray(common[own, cells.codes[outer, at]]).ravel()
        inside &= shared == common.diagonal()[own]
    return inside


def _tied(equations: csr_array, free: Bools, known: list[Ints], wanted: Ints) -> tuple[Pairs, Ints]:
    """Return owners with wanted cells whose moves follow from known ones, and fixed cells."""
    at = np.flatnonzero(free)
    moves = _random_moves(equations[:, at])
    length = np.linalg.norm(moves, axis=1)
    at, moves = at[length**2 > _FLAT], moves[length**2 > _FLAT]
    unit, line = np.zeros((len(free), _DIRECTIONS)), np.full(len(free), -1)
    unit[at] = moves / np.linalg.norm(moves, axis=1)[:, None]
    line[at] = _lines(unit[at])
    asked = wanted[line[wanted] >= 0]
    pair, cell = _spread(known, np.arange(len(known)))
    moving = line[cell] >= 0
    owner, lines = np.unique(np.stack([pair[moving], line[cell[moving]]]), axis=1)
    single = np.bincount(owner, minlength=len(known))[owner] == 1
    by_line, same = _matches(lines[single], line[asked])
    owners, found = [owner[single][by_line]], [asked[same]]
    part = link(equations, free[equations.indices])
    for each in np.unique(owner[~single]).tolist():  # whose cells move in several ways
        own = known[each][line[known[each]] >= 0]
        near = asked[np.isin(part[asked], part[own])]
        near = near[_combined(unit[near], unit[own])]
        owners.append(np.full(len(near), each))
        found.append(near)
    return (np.concatenate(owners), np.concatenate(found)), wanted[line[wanted] < 0]


def _random_moves(equations: csr_array) -> Floats:
    """Return random moves of cells that keep all equations: a row each, a column each time."""
    drawn = np.random.default_rng(0)  # any will do, but each time the same
    moves = drawn.standard_normal((equations.shape[1], _DIRECTIONS))
    turned = equations.T.tocsr()
    for at in range(_DIRECTIONS):  # what the equations fix is taken off
        fixed = lsmr(turned, moves[:, at], atol=1e-13, btol=1e-13, conlim=0, maxiter=5000)[0]
        moves[:, at] -= turned @ fixed
    return moves


def _lines(unit: Floats) -> Ints:
    """Return the same number for random vectors of length 1 that are equal or opposite."""
    largest = np.take_along_axis(unit, np.abs(unit).argmax(axis=1)[:, None], axis=1)
    both = []
    for values in (unit * np.sign(largest)).T[:2]:
        order = np.argsort(values)
        number = np.empty(len(unit), dtype=np.int64)
        number[order] = np.cumsum(np.diff(values[order], prepend=0.0) > _CLOSE)
        both.append(number)
    return np.asarray(np.unique(np.stack(both), axis=1, return_inverse=True)[1]).ravel()


def _combined(unit: Floats, base: Floats) -> Bools:
    """Return which vectors are combinations of some others; all, if there are too many of these."""
    _, sizes, axes = np.linalg.svd(base, full_matrices=False)
    axes = axes[sizes**2 > _FLAT]
    if len(axes) > _TOLD:
        return np.ones(len(unit), dtype=np.bool_)
    rest = unit - (unit @ axes.T) @ axes
    return np.asarray((rest**2).sum(axis=1) < _FLAT)


def sensitive_sums(
    cells: CellSystem, rules: Sequence[CellRule], hidden: Bools, *, weights: str | None
) -> list[tuple[Ints, float]]:
    """Return hidden parts of published totals that break a rule as one cell, and its upper level.

    One owner's contributions are added up, at worst where only bounds are known.
    """
    used = [rule for rule in rules if isinstance(rule, Concentration)]
    entries = cells.equations.tocoo()
    row, cell = entries.coords
    filled = (entries.data > 0) & (cells.value[cell] != 0)
    secret = np.zeros(cells.equations.shape[0], dtype=np.bool_)
    secret[row[(entries.data < 0) & hidden[cell]]] = True
    parts = np.bincount(row[filled], minlength=len(secret))
    kept = filled & hidden[cell] & ~secret[row]
    among = np.bincount(row[kept], minlength=len(secret))
    kept &= ((among > 1) & (among < parts))[row]  # all parts together are the total itself
    if not used or cells.contributors is None or not kept.any():
        return []
    numbers, at = np.unique(row[kept], return_inverse=True)
    shares = _joined(cells, cells.contributors, cell[kept], at, weights)
    level = np.zeros(len(numbers))
    for rule in used:
        inside = np.bincount(at, in_tables(cells, rule)[cell[kept]]) > 0
        level = np.maximum(level, np.where(inside, shares.excess(rule), 0.0))
    return [
        (np.sort(cell[kept][places]), float(level[each]))
        for each, places in places_of(at).items()
        if level[each] > 0
    ]


def _joined(cells: CellSystem, who: Contributors, cell: Ints, at: Ints, how: str | None) -> Shares:
    """Return what rules see of cells that are put together; `at` says to what each cell belongs."""
    total = absolute_sums(cells)
    largest = fill_largest(cells)[cell]
    alone = np.isnan(largest[:, 0])  # at worst the cell is one contribution
    largest[alone, 0] = total[cell[alone]]
    largest = np.nan_to_num(largest)
    fresh = who.owners.max(initial=0) + 1 + np.arange(cells.n * LARGEST).reshape(-1, LARGEST)
    owner = np.where(who.owners < 0, fresh, who.owners)[cell]
    pair, back = np.unique(
        np.stack([np.repeat(at, LARGEST), owner.ravel()]), axis=1, return_inverse=True
    )
    signed = np.where(who.largest[cell] < 0, -largest, largest)
    weight = np.ones_like(signed) if who.weights is None else who.weights[cell]
    known = np.abs(np.bincount(back.ravel(), signed.ravel()))
    weighted = np.abs(np.bincount(back.ravel(), (signed * weight).ravel()))
    # Whoever isn't among the largest of a cell may have as much there as the last of these.
    more = (who.count[cell] > LARGEST) & (who.rows > who.count).any()
    last = np.where(more, largest[:, -1], 0.0)
    amount = known + np.bincount(at, last)[pair[0]]
    amount -= np.bincount(back.ravel(), np.repeat(last, LARGEST))
    # What one owner adds to one cell and takes from another isn't in their sum.
    offset = np.bincount(back.ravel(), (largest * weight).ravel()) - weighted
    others = np.where(more, total[cell] - (largest * weight).sum(axis=1), 0.0)
    together = np.bincount(at, total[cell] - 2 * others) - np.bincount(pair[0], offset)
    together = np.maximum(together, np.abs(np.bincount(at, cells.value[cell])))
    order = np.lexsort((-amount, pair[0]))
    rank = np.arange(len(order)) - np.searchsorted(pair[0], pair[0][order])
    order, rank = order[rank < LARGEST], rank[rank < LARGEST]
    top = np.zeros((at.max() + 1, LARGEST))
    top[pair[0][order], rank] = amount[order]
    heavy = np.ones_like(top)
    heavy[pair[0][order], rank] = (weighted / np.where(known > 0, known, 1.0))[order]
    count = np.bincount(at, np.nan_to_num(who.count[cell], nan=np.inf)).astype(np.float64)
    return Shares(
        total=together, top=sum_largest(top, None if who.weights is None else heavy, count, how)
    )

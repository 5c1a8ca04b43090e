"""Flip the sum of a row's leaves at the least cost: bounds over boxes of cells, best first.

Cells are what the cuts of all trees make of a number column; the codes of a category column are
sets of bits. A box of cells is bounded by the best leaf of each tree that it reaches at a cost
(Chen et al., NeurIPS 2019); branching makes the bound exact (Kantchelian et al., ICML 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import inlined, njit, njit_unchecked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Cells = NDArray[np.int32]
    #: Of each column the first and the last cell, or the bits of its codes.
    Box = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Forest", "find_leaves", "flip_rows"]

_GREATEST, _COUNT = 0, 2  # norms; 1 is the sum
_WORD, _NEAR, _DIVES = 64, 1e-9, 8


class Forest(NamedTuple):
    """Nodes of all trees, then what cells and codes of columns are and cost."""

    column: Cells
    cut: Cells  # the last cell on the left, or the set of codes on the left
    left: Cells  # -1 in leaves
    right: Cells
    parent: Cells
    missing_left: NDArray[np.bool_]
    gain: Floats  # of leaves; elsewhere the greatest one below is written
    roots: Cells
    is_category: NDArray[np.bool_]
    starts: NDArray[np.int64]
    ends: Floats  # the nearest numbers on the left, on the right of cuts
    sets: Box
    unit: Floats  # the price of a unit, or of another code
    norm: int


class _Row(NamedTuple):
    """A row's cells or codes (-1: missing), its values, and what its sum begins with."""

    own: Cells
    x: Floats
    gained: float


class _Room(NamedTuple):
    """Where walks keep what they undo, and what walks, bounds and dives found."""

    stack: Cells
    side: Cells
    saved: Box  # a column a level
    total: Floats
    cost: Floats
    leaf: Cells
    tree: Cells
    base: Floats
    best: Floats
    winner: Cells
    point: Cells
    split: Cells
    weight: Floats
    trial: Box


@inlined
def _has(codes: Box, code: int) -> bool:
    return bool((codes[code // _WORD] >> (code % _WORD)) & 1)


@inlined
def _nearest(forest: Forest, row: _Row, c: int, cells: Box) -> int:
    """Return a column's cell that is nearest to the row's own."""
    code = row.own[c]
    if not forest.is_category[c]:
        return int(code if code < 0 else min(max(code, cells[0]), cells[1]))
    if not _has(cells, code):
        code = 0
        while not _has(cells, code):
            code += 1
    return int(code)


@inlined
def _price(forest: Forest, row: _Row, c: int, cell: int) -> float:
    if cell == row.own[c]:
        return 0.0
    if forest.norm == _COUNT or forest.is_category[c]:
        return 1.0 if forest.norm == _COUNT else float(forest.unit[c])
    up = int(cell > row.own[c])
    away = abs(forest.ends[up, forest.starts[c] + cell - up] - row.x[c])
    return float(forest.unit[c] * away)


@njit_unchecked
def _cost(forest: Forest, row: _Row, point: Cells) -> float:
    total = 0.0
    for c in range(len(point)):
        price = _price(forest, row, c, point[c])
        total = max(total, price) if forest.norm == _GREATEST else total + price
    return total


@njit_unchecked
def _project(forest: Forest, row: _Row, box: Box, point: Cells) -> float:
    """Write the cells of a box that are nearest to the row's own; return their cost."""
    for c in range(len(point)):
        point[c] = _nearest(forest, row, c, box[c])
    return _cost(forest, row, point)


@inlined
def _narrow(forest: Forest, row: _Row, node: int, on_right: int, cells: Box) -> bool:
    """Keep one side of a split; whether anything is left."""
    c, cut = forest.column[node], forest.cut[node]
    if forest.is_category[c]:
        some = np.int64(0)
        for w in range(forest.sets.shape[1]):
            cells[w] &= ~forest.sets[cut, w] if on_right else forest.sets[cut, w]
            some |= cells[w]
        return bool(some != 0)
    if row.own[c] < 0:
        return bool((on_right == 0) == forest.missing_left[node])
    if on_right:
        cells[0] = max(cells[0], cut + 1)
    else:
        cells[1] = min(cells[1], cut)
    return bool(cells[0] <= cells[1])


@inlined
def _copy(cells: Box, to: Box) -> None:
    to[0], to[1] = cells[0], cells[1]
    for w in range(2, len(cells)):
        to[w] = cells[w]


@njit_unchecked
def _reach(
    forest: Forest, row: _Row, box: Box, root: int, total: float, cap: float, floor: float,
    only_best: int, room: _Room, n: int,
) -> int:  # fmt: skip
    """Write the leaves of a tree with more than a gain that the box reaches at a cost."""
    nearest, depth = np.inf, 0
    room.stack[0], room.side[0], room.total[0] = root, 0, total
    while depth >= 0:
        node, now, side = room.stack[depth], room.total[depth], room.side[depth]
        if forest.left[node] < 0:
            room.cost[n], room.leaf[n] = now, node
            if only_best:
                floor, nearest = forest.gain[node], now
            else:
                n += 1
            depth -= 1
            continue
        c, cells = forest.column[node], box[forest.column[node]]
        if side == 0:
            _copy(cells, room.saved[depth])
        else:
            _copy(room.saved[depth], cells)
        if side == 2:
            depth -= 1
            continue
        child = forest.right[node] if side else forest.left[node]
        gain = forest.gain[child]
        room.side[depth] += 1
        if (gain > floor or (gain == floor and only_best)) and _narrow(
            forest, row, node, side, cells
        ):
            price = _price(forest, row, c, _nearest(forest, row, c, cells))
            if forest.norm == _GREATEST:
                now = max(now, price)
            else:
                now += price - _price(forest, row, c, _nearest(forest, row, c, room.saved[depth]))
            if now <= cap and (gain > floor or now < nearest):
                depth += 1
                room.stack[depth], room.side[depth], room.total[depth] = child, 0, now
    return n


@inlined
def _is_left(forest: Forest, node: int, point: Cells) -> bool:
    c = forest.column[node]
    if forest.is_category[c]:
        return _has(forest.sets[forest.cut[node]], point[c])
    return bool(forest.missing_left[node] if point[c] < 0 else point[c] <= forest.cut[node])


@njit_unchecked
def _leaf_at(forest: Forest, root: int, point: Cells) -> int:
    node = root
    while forest.left[node] >= 0:
        node = forest.left[node] if _is_left(forest, node, point) else forest.right[node]
    return node


@njit()
def _bound(
    forest: Forest, row: _Row, box: Box, need: float, cap: float, room: _Room
) -> float:  # fmt: skip
    """Return the least cost at which the best leaves of a box may be enough; write these leaves."""
    total, gained, n = _project(forest, row, box, room.point), row.gained, 0
    for t in range(len(forest.roots)):
        room.winner[t] = _leaf_at(forest, forest.roots[t], room.point)
        room.base[t] = room.best[t] = forest.gain[room.winner[t]]
        gained += room.base[t]
    if gained >= need:
        return total
    for t in range(len(forest.roots)):
        first = n
        root, floor = forest.roots[t], room.base[t]
        n = _reach(forest, row, box, root, total, cap, floor, 0, room, n)
        room.tree[first:n] = t
    for i in np.argsort(room.cost[:n]):
        leaf, t = room.leaf[i], room.tree[i]
        if forest.gain[leaf] > room.best[t]:
            gained += forest.gain[leaf] - room.best[t]
            room.best[t], room.winner[t] = forest.gain[leaf], leaf
            if gained >= need:
                return float(room.cost[i])
    return np.inf


@njit_unchecked
def _branch(forest: Forest, room: _Room) -> int:
    """Return the split that most of the gain is beyond; -1 without one."""
    weight, split, point = room.weight, room.split, room.point
    for c in range(len(weight)):
        weight[c], split[c] = 0.0, -1
    for t in range(len(forest.roots)):
        gain, node = room.best[t] - room.base[t], room.winner[t]
        while gain > 0 and forest.parent[node] >= 0:
            up = forest.parent[node]
            c = forest.column[up]
            if (forest.left[up] == node) != _is_left(forest, up, point):
                weight[c] += gain
                now = abs(forest.cut[split[c]] - point[c])
                if split[c] < 0 or abs(forest.cut[up] - point[c]) < now:
                    split[c] = up
            node = up
    return int(split[np.argmax(weight)])


@njit_unchecked
def _dive(forest: Forest, row: _Row, need: float, cap: float, order: Box, room: _Room) -> float:
    """Join the best leaves of trees as far as they meet within a cost; return what is needed.

    Changes that aren't needed are undone, the dearest first. Infinite where it isn't enough.
    """
    trial, point, gained = room.trial, room.point, row.gained
    total = _project(forest, row, trial, point)
    for t in order:
        room.leaf[0] = -1
        _reach(forest, row, trial, forest.roots[t], total, cap, -np.inf, 1, room, 0)
        node = room.leaf[0]
        if node < 0:
            return np.inf
        gained += forest.gain[node]
        while forest.parent[node] >= 0:
            up = forest.parent[node]
            _narrow(forest, row, up, int(forest.right[up] == node), trial[forest.column[up]])
            node = up
        total = _project(forest, row, trial, point)
    if gained < need:
        return np.inf
    for c in range(len(point)):
        room.weight[c] = _price(forest, row, c, point[c])
    for _ in range(len(point)):
        c = int(np.argmax(room.weight))
        if room.weight[c] <= 0:
            break
        kept, point[c], gained = point[c], row.own[c], row.gained
        for root in forest.roots:
            gained += forest.gain[_leaf_at(forest, root, point)]
        if gained < need:
            point[c] = kept
        room.weight[c] = 0.0
    return _cost(forest, row, point)


@njit()
def _dives(
    forest: Forest, row: _Row, box: Box, need: float, under: float, best: float, tries: int,
    far: float, room: _Room, cells: Cells,
) -> float:  # fmt: skip
    """Dive at the bound, further out until one is enough, then between; return the least cost."""
    reach, order = under, np.argsort(room.base - room.best)
    while tries > 0 and under < best:
        room.trial[:] = box
        cost = _dive(forest, row, need, reach, order, room)
        if cost < best:
            best, cells[:] = cost, room.point
        else:
            under = reach
        if best < np.inf:
            reach = (under + best) / 2
            tries -= 1
        elif reach == np.inf:
            break
        else:
            reach = 1.5 * reach + _NEAR if reach < far else np.inf
    return best


@njit()
def find_leaves(forest: Forest, own: Cells) -> Cells:
    """Return the leaf of each row in each tree, shape (rows, trees)."""
    leaves = np.empty((len(own), len(forest.roots)), np.int32)
    for i in range(len(own)):
        for t in range(len(forest.roots)):
            leaves[i, t] = _leaf_at(forest, forest.roots[t], own[i])
    return leaves


@njit()
def flip_rows(
    forest: Forest, own: Cells, x: Floats, gained: Floats, allowed: Box,
    needs: tuple[float, float], effort: int, certified: Floats, found: Floats, cells: Cells,
) -> None:  # fmt: skip
    """Lower what rows are certified and found to cost until a sum of leaves is reached.

    `allowed` is what each row may get, with its own: (rows, columns, ends or words of bits). Below
    the first of `needs` no row flips, from the other all do. `effort` boxes of a row are split.
    `certified` and `found`, at least those of an earlier goal, and found `cells` are changed.
    """
    n, levels, trees, nodes = own.shape[1], len(forest.left), len(forest.roots), 2 * effort + 1
    boxes, trial = np.empty((nodes + 1, *allowed.shape[1:]), np.int64), np.empty_like(allowed[0])
    room = _Room(
        np.empty(levels, np.int32), np.empty(levels, np.int32),
        np.empty((levels, allowed.shape[2]), np.int64), np.empty(levels), np.empty(levels),
        np.empty(levels, np.int32), np.empty(levels, np.int32), np.empty(trees), np.empty(trees),
        np.empty(trees, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n), trial,
    )  # fmt: skip
    key, split = np.empty(nodes), np.empty(nodes, np.int32)
    cap, far = 1.0, 0.0
    for c in range(n):
        ends = forest.ends[1, forest.starts[c] : forest.starts[c + 1]]
        widest = forest.unit[c] * (ends[-1] - ends[0] if len(ends) else 1.0)
        far = max(far, widest) if forest.norm == _GREATEST else far + max(widest, 1.0)
    for node in range(len(forest.gain) - 1, -1, -1):  # children are behind their parents
        if forest.left[node] >= 0:
            left, right = forest.left[node], forest.right[node]
            forest.gain[node] = max(forest.gain[left], forest.gain[right])
    for i in range(len(own)):
        row = _Row(own[i], x[i], gained[i])
        best, made, k = found[i], 0, 0
        for step in range(nodes):  # the root, then both sides of each split
            box = boxes[made]
            box[:] = boxes[k] if step else allowed[i]
            if step:
                _narrow(forest, row, split[k], step % 2, box[forest.column[split[k]]])
            total, cost = _project(forest, row, box, room.point), np.inf
            limit = min(best, max(cap, 2 * key[k]) if step else cap)
            while total < best:
                cost = _bound(forest, row, box, needs[0], limit, room)
                if cost < np.inf or limit >= best:
                    break
                if step and np.max(room.best - room.base) > 0:
                    cost = limit  # no flip costs less: its parts are bounded when it is their turn
                    break
                limit = min(4 * limit, best) if limit < far else best
            if cost < best:
                key[made] = max(cost, key[k]) if step else cost
                split[made] = _branch(forest, room)
                tries = 2 if step else _DIVES
                best = _dives(
                    forest, row, box, needs[1], key[made], best, tries, far, room, cells[i]
                )
                made += 1
            if step % 2 == 0:
                if step:
                    key[k] = np.inf
                k = int(np.argmin(key[:made])) if made else 0
                if best == np.inf and made > 1 and min(key[made - 1], key[made - 2]) < np.inf:
                    k = made - 1 if key[made - 1] <= key[made - 2] else made - 2  # until one flips
                if made == 0 or key[k] >= best or split[k] < 0:
                    break
        certified[i] = min(certified[i], best, np.min(key[:made]) if made else np.inf)
        found[i] = best
        cap = max(2 * best, _NEAR) if best < np.inf else cap  # of nothing it would not grow

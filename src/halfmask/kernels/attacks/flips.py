"""Flip the sum of a row's leaves at the least cost: bounds over boxes of cells, best first.

Cells are what the cuts of all trees make of a number column; the codes of a category column are
sets of bits. A box of cells is bounded by the best leaf of each tree that it reaches at a cost
(Chen et al., NeurIPS 2019); branching makes the bound exact (Kantchelian et al., ICML 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit, njit_unchecked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Cells = NDArray[np.int32]
    Bits = NDArray[np.uint64]
    Floats = NDArray[np.float64]

__all__ = ["Forest", "Row", "find_leaves", "flip_rows"]

_GREATEST, _COUNT = 0, 2  # norms; 1 is the sum
_BIT, _WORD = np.uint64(1), 64
_NEAR, _DIVES = 1e-9, 8


class Forest(NamedTuple):
    """Nodes of all trees, then what cells and codes of columns are and cost."""

    column: NDArray[np.int32]
    cut: NDArray[np.int32]  # the last cell on the left, or the set of codes on the left
    left: NDArray[np.int32]  # -1 in leaves
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    gain: NDArray[np.float64]  # of leaves; elsewhere the greatest one below is written
    roots: NDArray[np.int32]
    is_category: NDArray[np.bool_]
    starts: NDArray[np.int64]
    ends: NDArray[np.float64]  # the nearest numbers on the left, on the right of cuts
    sets: NDArray[np.uint64]
    unit: NDArray[np.float64]  # the price of a unit, or of another code
    norm: int


class Row(NamedTuple):
    """A row's cells or codes (-1: missing), its values, and what its sum begins with."""

    own: NDArray[np.int32]
    x: NDArray[np.float64]
    gained: float


class _Box(NamedTuple):
    """The cells and codes of each column, and the price to get there."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    codes: NDArray[np.uint64]
    price: NDArray[np.float64]


class _Room(NamedTuple):
    """Where walks keep what they undo, and what walks, bounds and dives found."""

    stack: NDArray[np.int32]
    phase: NDArray[np.int8]
    saved: _Box  # an entry a level
    total: NDArray[np.float64]
    cost: NDArray[np.float64]
    leaf: NDArray[np.int32]
    tree: NDArray[np.int32]
    order: NDArray[np.int64]
    base: NDArray[np.float64]
    best: NDArray[np.float64]
    winner: NDArray[np.int32]
    point: NDArray[np.int32]
    trial: _Box


@njit_unchecked
def _has(codes: Bits, code: int) -> bool:
    return bool((codes[code // _WORD] >> np.uint64(code % _WORD)) & _BIT != 0)


@njit_unchecked
def _price(forest: Forest, row: Row, c: int, box: _Box) -> float:
    own = row.own[c]
    if forest.is_category[c]:
        step = 0.0 if _has(box.codes[c], own) else forest.unit[c]
    elif own < 0 or box.low[c] <= own <= box.high[c]:
        step = 0.0
    else:
        up = box.low[c] > own
        edge = box.low[c] - 1 if up else box.high[c]
        away = abs(forest.ends[int(up), forest.starts[c] + edge] - row.x[c])
        return 1.0 if forest.norm == _COUNT else forest.unit[c] * away
    return 1.0 if forest.norm == _COUNT and step > 0 else step


@njit_unchecked
def _total(forest: Forest, row: Row, box: _Box) -> float:
    total = 0.0
    for c in range(len(row.own)):
        box.price[c] = _price(forest, row, c, box)
        total = max(total, box.price[c]) if forest.norm == _GREATEST else total + box.price[c]
    return total


@njit_unchecked
def _narrow(forest: Forest, row: Row, node: int, side: int, box: _Box) -> bool:
    """Keep one side of a split; whether anything is left."""
    c, cut = forest.column[node], forest.cut[node]
    if forest.is_category[c]:
        some = np.uint64(0)
        for w in range(box.codes.shape[1]):
            word = forest.sets[cut, w]
            box.codes[c, w] &= word if side == 0 else ~word
            some |= box.codes[c, w]
        return bool(some != 0)
    if row.own[c] < 0:
        return bool((side == 0) == forest.missing_left[node])
    if side == 0:
        box.high[c] = min(box.high[c], cut)
    else:
        box.low[c] = max(box.low[c], cut + 1)
    return bool(box.low[c] <= box.high[c])


@njit_unchecked
def _keep(box: _Box, at: int, saved: _Box, to: int) -> None:
    saved.low[to], saved.high[to], saved.price[to] = box.low[at], box.high[at], box.price[at]
    for w in range(box.codes.shape[1]):
        saved.codes[to, w] = box.codes[at, w]


@njit_unchecked
def _reach(
    forest: Forest, row: Row, box: _Box, root: int, total: float, cap: float, floor: float,
    only_best: int, room: _Room, n: int,
) -> int:  # fmt: skip
    """Write the leaves of a tree with more than a gain that the box reaches at a cost."""
    nearest = np.inf
    depth, room.stack[0], room.phase[0], room.total[0] = 0, root, 0, total
    while depth >= 0:
        node = room.stack[depth]
        if forest.left[node] < 0:
            room.cost[n], room.leaf[n] = room.total[depth], node
            if only_best:
                floor, nearest = forest.gain[node], room.total[depth]
            else:
                n += 1
            depth -= 1
            continue
        c = forest.column[node]
        if room.phase[depth] == 0:
            _keep(box, c, room.saved, depth)
        else:
            _keep(room.saved, depth, box, c)
        while room.phase[depth] < 2:  # both sides
            side = room.phase[depth]
            room.phase[depth] += 1
            child = forest.left[node] if side == 0 else forest.right[node]
            gain = forest.gain[child]
            if gain < floor or (gain == floor and not only_best):
                continue
            if _narrow(forest, row, node, side, box):
                new, now = _price(forest, row, c, box), room.total[depth]
                more = now + (new - room.saved.price[depth])
                now = max(now, new) if forest.norm == _GREATEST else more
                if now <= cap and (gain > floor or now < nearest):
                    box.price[c] = new
                    depth += 1
                    room.stack[depth], room.phase[depth], room.total[depth] = child, 0, now
                    break
            _keep(room.saved, depth, box, c)
        else:
            depth -= 1
    return n


@njit_unchecked
def _project(forest: Forest, row: Row, box: _Box, point: Cells) -> None:
    for c in range(len(row.own)):
        point[c] = row.own[c]
        if forest.is_category[c]:
            if not _has(box.codes[c], point[c]):
                point[c] = 0
                while not _has(box.codes[c], point[c]):
                    point[c] += 1
        elif point[c] >= 0:
            point[c] = min(max(point[c], box.low[c]), box.high[c])


@njit_unchecked
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


@njit(nogil=True, cache=True)
def _bound(
    forest: Forest, row: Row, box: _Box, total: float, need: float, cap: float, room: _Room
) -> float:
    """Return the least cost at which the best leaves of a box may be enough; write these leaves."""
    _project(forest, row, box, room.point)
    gained, n = row.gained, 0
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
def _branch(forest: Forest, room: _Room, weight: Floats, split: Cells) -> int:
    """Return the split that most of the gain is beyond; -1 without one."""
    for c in range(len(weight)):
        weight[c], split[c] = 0.0, -1
    for t in range(len(forest.roots)):
        gain, node = room.best[t] - room.base[t], room.winner[t]
        while gain > 0 and forest.parent[node] >= 0:
            up = forest.parent[node]
            c = forest.column[up]
            if (forest.left[up] == node) != _is_left(forest, up, room.point):
                weight[c] += gain
                now = abs(forest.cut[split[c]] - room.point[c])
                if split[c] < 0 or abs(forest.cut[up] - room.point[c]) < now:
                    split[c] = up
            node = up
    return int(split[np.argmax(weight)])


@njit_unchecked
def _dive(forest: Forest, row: Row, box: _Box, cap: float, room: _Room) -> float:
    """Join the best leaves of trees, as far as they meet within a cost; return their sum."""
    trial, gained = room.trial, row.gained
    for c in range(len(row.own)):
        _keep(box, c, trial, c)
    total = _total(forest, row, trial)
    for t in room.order:
        room.leaf[0] = -1
        _reach(forest, row, trial, forest.roots[t], total, cap, -np.inf, 1, room, 0)
        node = room.leaf[0]
        if node < 0:
            return -np.inf
        gained += forest.gain[node]
        while forest.parent[node] >= 0:
            up = forest.parent[node]
            _narrow(forest, row, up, 0 if forest.left[up] == node else 1, trial)
            node = up
        total = _total(forest, row, trial)
    return gained


@njit_unchecked
def _lighten(forest: Forest, row: Row, need: float, room: _Room) -> float:
    """Undo the changes of a dive that aren't needed, the dearest first; return what is left."""
    trial, point = room.trial, room.point
    _project(forest, row, trial, point)
    for _ in range(len(row.own)):
        c = int(np.argmax(trial.price))
        if trial.price[c] <= 0:
            break
        kept, point[c], gained = point[c], row.own[c], row.gained
        for root in forest.roots:
            gained += forest.gain[_leaf_at(forest, root, point)]
        if gained < need:
            point[c] = kept
        trial.price[c] = 0.0
    for c in range(len(row.own)):
        trial.low[c] = trial.high[c] = point[c]
        if forest.is_category[c]:
            for w in range(trial.codes.shape[1]):
                trial.codes[c, w] = 0
            trial.codes[c, point[c] // _WORD] = _BIT << np.uint64(point[c] % _WORD)
    return _total(forest, row, trial)


@njit_unchecked
def _dives(
    forest: Forest, row: Row, box: _Box, need: float, under: float, best: float, tries: int,
    far: float, room: _Room, cells: Cells,
) -> float:  # fmt: skip
    """Dive at the bound, further out until one is enough, then between; return the least cost."""
    reach = under
    while tries > 0 and under < best:
        cost = np.inf
        if _dive(forest, row, box, reach, room) >= need:
            cost = _lighten(forest, row, need, room)
        if cost < best:
            best = cost
            for c in range(len(cells)):
                cells[c] = room.point[c]
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


@njit(nogil=True, cache=True)  # what is returned must be counted
def _part(boxes: _Box, i: int, n: int) -> _Box:
    run = slice(i * n, (i + 1) * n)
    return _Box(boxes.low[run], boxes.high[run], boxes.codes[run], boxes.price[run])


@njit(nogil=True, cache=True)
def _boxes(n: int, words: int) -> _Box:
    ends = np.empty((2, n), np.int32)
    return _Box(ends[0], ends[1], np.empty((n, words), np.uint64), np.empty(n))


@njit(nogil=True, cache=True)
def _room(levels: int, trees: int, columns: int, words: int) -> _Room:
    return _Room(
        np.empty(levels, np.int32), np.empty(levels, np.int8), _boxes(levels, words),
        np.empty(levels), np.empty(levels), np.empty(levels, np.int32), np.empty(levels, np.int32),
        np.arange(trees), np.empty(trees), np.empty(trees), np.empty(trees, np.int32),
        np.empty(columns, np.int32), _boxes(columns, words),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def find_leaves(forest: Forest, own: Cells) -> Cells:
    """Return the leaf of each row in each tree, shape (rows, trees)."""
    leaves = np.empty((len(own), len(forest.roots)), np.int32)
    for i in range(len(own)):
        for t in range(len(forest.roots)):
            leaves[i, t] = _leaf_at(forest, forest.roots[t], own[i])
    return leaves


@njit(nogil=True, cache=True)
def flip_rows(
    forest: Forest, own: Cells, x: Floats, gained: Floats, allowed: tuple[Cells, Cells, Bits],
    needs: tuple[float, float], effort: int, certified: Floats, found: Floats, cells: Cells,
) -> None:  # fmt: skip
    """Lower what rows are certified and found to cost until a sum of leaves is reached.

    Parameters
    ----------
    forest
        The trees, and what cells and codes are and cost.
    own, x, gained
        Of each row, as in `Row`.
    allowed
        The first and last cell that each row may get, and the codes, with its own.
    needs
        The sum below which no row flips, and from which all do.
    effort
        How many boxes of a row are split.
    certified, found
        Changed: costs, at least those of an earlier goal.
    cells
        Changed: the cells of the found change.
    """
    n, words, nodes = own.shape[1], forest.sets.shape[1], 2 * effort + 1
    room = _room(len(forest.left), len(forest.roots), n, words)
    kept, key, split = _boxes((nodes + 1) * n, words), np.empty(nodes), np.empty(nodes, np.int32)
    weight, splits = np.empty(n), np.empty(n, np.int32)
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
        row = Row(own[i], x[i], gained[i])
        best, made, k = found[i], 0, 0
        for step in range(nodes):  # the root, then both sides of each split
            box = _part(kept, made, n)
            if step == 0:
                box.low[:], box.high[:], box.codes[:] = allowed[0][i], allowed[1][i], allowed[2][i]
            else:
                whole = _part(kept, k, n)
                for c in range(n):
                    _keep(whole, c, box, c)
                _narrow(forest, row, split[k], step % 2, box)
            total, cost = _total(forest, row, box), np.inf
            limit = min(best, max(cap, 2 * key[k]) if step else cap)
            while total < best:
                cost = _bound(forest, row, box, total, needs[0], limit, room)
                if cost < np.inf or limit >= best:
                    break
                if step and np.max(room.best - room.base) > 0:
                    cost = limit  # no flip costs less: its parts are bounded when it is their turn
                    break
                limit = min(4 * limit, best) if limit < far else best
            if cost < best:
                key[made] = max(cost, key[k]) if step else cost
                split[made] = _branch(forest, room, weight, splits)
                room.order[:] = np.argsort(room.base - room.best)
                best = _dives(
                    forest, row, box, needs[1], key[made], best, 2 if step else _DIVES, far, room,
                    cells[i],
                )  # fmt: skip
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
        cap = 2 * best if best < np.inf else cap

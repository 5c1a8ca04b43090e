"""Secondary suppression of large tables of counts, by Gaussian elimination modulo a prime.

First each equation by itself must tell no sensitive cell, then all of them together; then cells
that nothing needs are published again, the dearest first. The audit shows what is left to repair.

Source: Ø. Langsrud, "Secondary cell suppression by Gaussian elimination: an algorithm suitable for
handling issues with zeros and singletons", PSD 2024, with random vectors for sorted candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import csr_array

from halfmask.crosstabs._cells import link
from halfmask.crosstabs._merging import merge_equal
from halfmask.kernels.suppression.elimination import (
    PRIME,
    Echelon,
    combine,
    eliminate_rows,
    move_randomly,
    publish_spare,
)
from halfmask.kernels.suppression.partners import System, hide_breakers, hide_partners

if TYPE_CHECKING:
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Knowledge, Sensitivity

#: Vectors to find what can be computed, and to publish spare cells: one is used up for each.
_FEW: Final = 3
_MANY: Final = 200
#: So often are cells published at most, the dearest first: very large tables keep some in vain.
_ROUNDS: Final = 4
#: Exposed cells of one round share so many combinations of equations.
_GROUPS: Final = 64
#: A cell's room counts up to this many times what the neediest cell needs.
_ROOM: Final = 1000.0


def eliminate(
    cells: CellSystem,
    sensitivity: Sensitivity,
    knowledge: Knowledge,
    cost: Floats,
    *,
    alone: Bools | None = None,
) -> Bools:
    """Return which cells to hide, so that no sensitive cell can be computed from the others.

    Nobody who is ``alone`` in a cell, by default its one contributor, computes another from it.
    """
    equations, label = merge_equal(cells.equations)
    sensitive = _any(label, sensitivity.is_sensitive)
    hidden = _any(label, sensitivity.is_sensitive | knowledge.must_hide)
    may = ~_any(label, knowledge.must_stay)
    given = hidden.copy()
    price = np.bincount(label, np.maximum(cost, 0.0)).astype(np.float64)
    if alone is None:
        who = cells.contributors
        alone = (cells.value if who is None else who.count) == 1
    room, need = _room_and_need(cells, sensitivity, knowledge, label)
    by_cell = equations.tocsc()
    system = System(
        starts=equations.indptr.astype(np.int64),
        cells=equations.indices.astype(np.int64),
        signs=equations.data.astype(np.float64),
        cell_starts=by_cell.indptr.astype(np.int64),
        equations=by_cell.indices.astype(np.int64),
        room=room,
        need=need,
        sensitive=sensitive,
        alone=_any(label, alone),
    )
    order = np.argsort(np.diff(system.starts), kind="stable")
    rng = np.random.default_rng(0)  # the same pattern in every run
    for last in (False, True):
        hide_partners(system, hidden, may, price, order)
        while _hide_breakers(system, hidden, may, price, rng):
            hide_partners(system, hidden, may, price, order)
        if not last:
            _publish_spare(system, hidden, ~given & may, price, rng)
    return hidden[label] & ~knowledge.must_stay


def _any(label: Ints, which: Bools) -> Bools:
    found: Bools = np.bincount(label, which) > 0
    return found


def _room_and_need(
    cells: CellSystem, sensitivity: Sensitivity, knowledge: Knowledge, label: Ints
) -> tuple[Floats, Floats]:
    """Return how far each cell can go down and up, and how far it must be able to."""
    need = np.zeros((label.max(initial=-1) + 1, 2))
    wanted = np.stack([sensitivity.below, sensitivity.above], axis=1)
    np.maximum.at(need, label, np.where(sensitivity.is_sensitive[:, None], wanted, 0.0))
    most = _ROOM * max(1.0, need.max(initial=0.0))
    room = np.full_like(need, most)
    can = np.stack([cells.value - knowledge.lower, knowledge.upper - cells.value], axis=1)
    np.minimum.at(room, label, np.clip(can, 0.0, most))
    return room, need


def _moves(
    system: System, hidden: Bools, n_vectors: int, rng: np.random.Generator
) -> tuple[Echelon, Ints]:
    """Return the equations in echelon form, and random vectors along which cells can move."""
    counts = np.add.reduceat(hidden[system.cells], system.starts[:-1], dtype=np.int64)
    form = eliminate_rows(system, hidden, np.argsort(counts, kind="stable"))
    moves = rng.integers(1, PRIME, size=(len(hidden), n_vectors))
    moves[~hidden] = 0
    move_randomly(form, moves)
    return form, moves


def _hide_breakers(
    system: System, hidden: Bools, may: Bools, price: Floats, rng: np.random.Generator
) -> bool:
    """Hide cells that break combinations of equations that tell a sensitive cell; say if any."""
    form, moves = _moves(system, hidden, _FEW, rng)
    computable = _computable(system, hidden, moves)
    if not computable:
        return False
    group = np.full(len(hidden), -1)
    useful = np.zeros((min(_GROUPS, len(computable)), len(hidden)), dtype=bool)
    by_cell = _by_cell(system)
    for number in range(len(useful)):
        wanted = np.zeros(len(hidden), dtype=np.int64)
        for cell, other, ratio in computable[number :: len(useful)]:
            group[cell] = number
            weight = int(rng.integers(1, PRIME))
            wanted[cell] = (wanted[cell] + weight) % PRIME
            if other >= 0:
                wanted[other] = (wanted[other] - weight * ratio) % PRIME
        times = combine(form, wanted, len(system.starts) - 1)
        useful[number] = ((by_cell @ times) % PRIME != 0) & may & ~hidden
    return bool(hide_breakers(system, hidden, useful, price, group))


def _by_cell(system: System) -> csr_array:
    shape = (len(system.starts) - 1, len(system.sensitive))
    signs = system.signs.astype(np.int64)
    return csr_array(csr_array((signs, system.cells, system.starts), shape=shape).T)


def _computable(system: System, hidden: Bools, moves: Ints) -> list[tuple[int, int, int]]:
    """Return cells that can be computed, by whom is alone in which other (-1: all), and a ratio."""
    own = np.flatnonzero(system.sensitive & hidden)
    fixed = (moves[own] == 0).all(axis=1)
    computable = [(int(cell), -1, 0) for cell in own[fixed]]
    alone = system.alone[own] & ~fixed
    if not alone.any():
        return computable
    ratios: dict[int, list[int]] = {}
    inverse = {int(cell): pow(int(moves[cell, 0]), -1, PRIME) for cell in own[~fixed]}
    for cell, inverted in inverse.items():
        ratios.setdefault(int(moves[cell, 1]) * inverted % PRIME, []).append(cell)
    for same in ratios.values():
        known = [cell for cell in same if system.alone[cell]]
        if len(same) > 1 and known:
            for cell in same:
                other = known[0] if cell != known[0] else known[-1]
                if other != cell:
                    computable.append((cell, other, int(moves[cell, 0]) * inverse[other] % PRIME))
    return computable


def _publish_spare(
    system: System, hidden: Bools, may: Bools, price: Floats, rng: np.random.Generator
) -> None:
    """Publish cells that were hidden in vain, the dearest first."""
    pending = hidden & may
    dearest = np.flatnonzero(pending)[np.argsort(-price[pending], kind="stable")]
    for _ in range(_ROUNDS):
        if not pending.any():
            break
        moves = np.ascontiguousarray(_moves(system, hidden, _MANY, rng)[1].T)
        group = link(_by_cell(system).T.tocsr(), hidden[system.cells])
        members = np.flatnonzero(hidden)
        members = members[np.argsort(group[members], kind="stable")]
        starts = np.searchsorted(group[members], np.arange(group.max() + 2))
        publish_spare(system, hidden, moves, group, starts, members, dearest, pending)

"""Partners: cells that are hidden so that no equation by itself tells a sensitive cell.

A hidden cell can move by some amount within an equation if the other hidden cells of the equation
can move the other way. What an equation lacks is made up by hiding further cells of it, which need
partners in their other equations in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["System", "equation_lacks", "hide_breakers", "hide_partners"]


class System(NamedTuple):
    """Equations between cells, by equation and by cell, and how cells can move.

    Attributes
    ----------
    starts, cells, signs
        Of each equation its cells, -1 for the total and 1 for each part.
    cell_starts, equations
        Of each cell its equations.
    room
        How far each cell can go down and up, at most as far as counts for any cell; shape (n, 2).
    need
        How far each hidden cell must be able to go down and up; shape (n, 2). Partners get needs.
    sensitive, alone
        Which cells are sensitive, and which have one contributor, who knows them.
    """

    starts: NDArray[np.int64]
    cells: NDArray[np.int64]
    signs: NDArray[np.float64]
    cell_starts: NDArray[np.int64]
    equations: NDArray[np.int64]
    room: NDArray[np.float64]
    need: NDArray[np.float64]
    sensitive: NDArray[np.bool_]
    alone: NDArray[np.bool_]


@njit()
def equation_lacks(
    system: System, hidden: NDArray[np.bool_], equation: int
) -> tuple[float, float, int]:
    """Return what the hidden cells of an equation lack to move as they must.

    Parameters
    ----------
    system
        The equations.
    hidden
        Which cells are hidden.
    equation
        The equation.

    Returns
    -------
    tuple
        By how much more its cells must be able to lessen its sum, and to raise it, and how many
        more of them must be hidden. The sum has the parts' sign.
    """
    room = np.zeros(2)
    n_hidden = n_sensitive = n_alone = 0
    for at in range(system.starts[equation], system.starts[equation + 1]):
        cell = system.cells[at]
        if hidden[cell]:
            turned = 1 if system.signs[at] < 0 else 0
            room[0] += system.room[cell, turned]
            room[1] += system.room[cell, 1 - turned]
            n_hidden += 1
            n_sensitive += system.sensitive[cell]
            n_alone += system.sensitive[cell] and system.alone[cell]
    if n_hidden == 0:
        return 0.0, 0.0, 0
    down = up = 0.0
    for at in range(system.starts[equation], system.starts[equation + 1]):
        cell = system.cells[at]
        if hidden[cell]:
            turned = 1 if system.signs[at] < 0 else 0
            # A cell that goes up is met by others that go down, and the other way round.
            others = room[0] - system.room[cell, turned]
            down = max(down, system.need[cell, 1 - turned] - others)
            others = room[1] - system.room[cell, 1 - turned]
            up = max(up, system.need[cell, turned] - others)
    wanted = 2 if n_sensitive > 0 else 0
    if n_alone > 0 and n_sensitive > 1:
        wanted = 3
    return down, up, max(0, wanted - n_hidden)


@njit()
def hide_partners(
    system: System,
    hidden: NDArray[np.bool_],
    may: NDArray[np.bool_],
    cost: NDArray[np.float64],
    order: NDArray[np.int64],
) -> int:
    """Hide further cells until no equation by itself lacks anything, or has none to hide.

    Parameters
    ----------
    system
        The equations. Needs of partners are set.
    hidden
        Which cells are hidden; partners are added.
    may
        Which cells may be hidden.
    cost
        What each cell costs, at least 0.
    order
        The order in which equations are looked at.

    Returns
    -------
    int
        How many cells were added.
    """
    n_hidden = np.zeros(len(system.starts) - 1, dtype=np.int64)
    for equation in range(len(n_hidden)):
        for at in range(system.starts[equation], system.starts[equation + 1]):
            n_hidden[equation] += hidden[system.cells[at]]
    waiting = n_hidden > 0
    added = 0
    again = True
    while again:
        again = False
        for equation in order:
            if not waiting[equation]:
                continue
            waiting[equation] = False
            while True:
                down, up, more = equation_lacks(system, hidden, equation)
                if down <= 0 and up <= 0 and more == 0:
                    break
                cell = _cheapest(system, hidden, may, cost, n_hidden, equation, down, up)
                if cell < 0:
                    break
                hidden[cell] = True
                added += 1
                _set_need(system, equation, cell, down, up)
                for at in range(system.cell_starts[cell], system.cell_starts[cell + 1]):
                    n_hidden[system.equations[at]] += 1
                    waiting[system.equations[at]] = True
                again = True
            waiting[equation] = False
    return added


@njit()
def _cheapest(
    system: System,
    hidden: NDArray[np.bool_],
    may: NDArray[np.bool_],
    cost: NDArray[np.float64],
    n_hidden: NDArray[np.int64],
    equation: int,
    down: float,
    up: float,
) -> int:
    """Return the cell of an equation that makes up what it lacks at the least cost; -1 if none."""
    best, least = -1, np.inf
    for at in range(system.starts[equation], system.starts[equation + 1]):
        cell = system.cells[at]
        if hidden[cell] or not may[cell]:
            continue
        turned = 1 if system.signs[at] < 0 else 0
        pieces = 1.0  # so many cells like this one are needed
        if down > 0:
            pieces = max(pieces, down / max(system.room[cell, turned], 1e-9))
        if up > 0:
            pieces = max(pieces, up / max(system.room[cell, 1 - turned], 1e-9))
        opened, helped = 0, 0
        for other in range(system.cell_starts[cell], system.cell_starts[cell + 1]):
            count = n_hidden[system.equations[other]]
            opened += count == 0
            helped += count == 1 and system.equations[other] != equation
        score = cost[cell] * pieces * (1 + opened) / (1 + helped)
        if score < least:
            best, least = cell, score
    return best


@njit()
def _set_need(system: System, equation: int, cell: int, down: float, up: float) -> None:
    """Let a partner need to move as far as is asked, and no further than it can."""
    for at in range(system.starts[equation], system.starts[equation + 1]):
        if system.cells[at] == cell:
            turned = 1 if system.signs[at] < 0 else 0
            system.need[cell, turned] = min(max(down, 0.0), system.room[cell, turned])
            system.need[cell, 1 - turned] = min(max(up, 0.0), system.room[cell, 1 - turned])


@njit()
def hide_breakers(
    system: System,
    hidden: NDArray[np.bool_],
    useful: NDArray[np.bool_],
    cost: NDArray[np.float64],
    group: NDArray[np.int64],
) -> int:
    """Hide a useful cell for each cell that can be computed, near it where there is one.

    Parameters
    ----------
    system
        The equations.
    hidden
        Which cells are hidden; others are added.
    useful
        Which cells break the combinations of equations of each group; shape (groups, n).
    cost
        What each cell costs.
    group
        The group of each cell that can be computed; -1 for others.

    Returns
    -------
    int
        How many cells were added.
    """
    n_hidden = np.zeros(len(system.starts) - 1, dtype=np.int64)
    for equation in range(len(n_hidden)):
        for at in range(system.starts[equation], system.starts[equation + 1]):
            n_hidden[equation] += hidden[system.cells[at]]
    changed = np.zeros(len(n_hidden), dtype=np.bool_)
    served = np.zeros(len(useful), dtype=np.bool_)
    added = 0
    for near in (True, False):
        for cell in range(len(group)):
            own = group[cell]
            if own < 0 or (served[own] and not near):
                continue
            best, is_met = -1, False
            if near:
                for at in range(system.cell_starts[cell], system.cell_starts[cell + 1]):
                    equation = system.equations[at]
                    is_met = is_met or changed[equation]
                    first, end = system.starts[equation], system.starts[equation + 1]
                    best = _least(
                        system, useful[own], hidden, cost, n_hidden, system.cells[first:end], best
                    )
            else:
                every = np.arange(len(group))
                best = _least(system, useful[own], hidden, cost, n_hidden, every, best)
            if is_met or best < 0:
                served[own] = served[own] or is_met
                continue
            served[own] = True
            hidden[best] = True
            added += 1
            for at in range(system.cell_starts[best], system.cell_starts[best + 1]):
                changed[system.equations[at]] = True
                n_hidden[system.equations[at]] += 1
    return added


@njit()
def _least(
    system: System,
    useful: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
    cost: NDArray[np.float64],
    n_hidden: NDArray[np.int64],
    among: NDArray[np.int64],
    best: int,
) -> int:
    """Return the useful cell that costs least, with what its other equations will need."""
    least = np.inf if best < 0 else _price(system, cost, n_hidden, best)
    for cell in among:
        if useful[cell] and not hidden[cell]:
            price = _price(system, cost, n_hidden, cell)
            if price < least:
                best, least = cell, price
    return best


@njit()
def _price(
    system: System, cost: NDArray[np.float64], n_hidden: NDArray[np.int64], cell: int
) -> float:
    price: float = cost[cell]
    for at in range(system.cell_starts[cell], system.cell_starts[cell + 1]):
        if n_hidden[system.equations[at]] == 0:
            price += cost[cell]
    return price

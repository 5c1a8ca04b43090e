"""Gaussian elimination of sparse equations modulo a prime: which hidden cells can be computed.

Hidden cells can move along the vectors that the equations map to 0. In a random one of them a cell
that can be computed has a 0, and two cells of which one gives the other have one ratio in all.
Chance makes others look so with a probability of about one in two thousand million a cell.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit
from halfmask.kernels.suppression.partners import equation_lacks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.suppression.partners import System

__all__ = ["PRIME", "Echelon", "combine", "eliminate_rows", "move_randomly", "publish_spare"]

#: 2**31 - 1: products of two residues fit 64 bits.
PRIME: Final = 2147483647


class Echelon(NamedTuple):
    """Rows in echelon form, and how the equations make them.

    Attributes
    ----------
    starts, cells, values
        Of each row its pivot, whose value is 1, and its other cells.
    made_starts, made_rows, made_values
        Of each row the earlier rows that were taken off its equation, and how often.
    equation, inverse
        The equation of each row, and what it was multiplied by at last.
    """

    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    values: NDArray[np.int64]
    made_starts: NDArray[np.int64]
    made_rows: NDArray[np.int32]
    made_values: NDArray[np.int64]
    equation: NDArray[np.int64]
    inverse: NDArray[np.int64]


@njit()
def _invert(number: int) -> int:
    """Return the inverse modulo the prime, by Fermat's little theorem."""
    result, power, base = 1, PRIME - 2, number
    while power > 0:
        if power & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        power >>= 1
    return result


@njit()
def eliminate_rows(system: System, hidden: NDArray[np.bool_], order: NDArray[np.int64]) -> Echelon:
    """Bring the equations between hidden cells into echelon form.

    Parameters
    ----------
    system
        The equations.
    hidden
        Which cells are hidden.
    order
        The order in which equations are taken; short ones first keep rows short.

    Returns
    -------
    Echelon
        One row for each independent equation. Its pivot is a cell in few equations.
    """
    n = len(hidden)
    cells, values = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int64)
    made_rows, made_values = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int64)
    starts, made_starts = np.zeros(len(order) + 1, np.int64), np.zeros(len(order) + 1, np.int64)
    equations, inverses = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    row_of = np.zeros(n, dtype=np.int64) - 1
    row = np.zeros(n, dtype=np.int64)
    touched = np.zeros(n, dtype=np.bool_)
    support = np.empty(n, dtype=np.int32)
    waiting = [np.int64(0)]
    waiting.clear()
    n_rows = 0
    for equation in order:
        n_support = 0
        for at in range(system.starts[equation], system.starts[equation + 1]):
            cell = system.cells[at]
            if hidden[cell]:
                row[cell] = PRIME - 1 if system.signs[at] < 0 else 1
                n_support = _touch(cell, touched, support, n_support, row_of, waiting)
        n_made = made_starts[n_rows]
        while len(waiting) > 0:
            other = heapq.heappop(waiting)
            times = row[cells[starts[other]]]
            if times == 0:
                continue
            if n_made == len(made_rows):
                made_rows = np.concatenate((made_rows, np.empty_like(made_rows)))
                made_values = np.concatenate((made_values, np.empty_like(made_values)))
            made_rows[n_made], made_values[n_made] = other, times
            n_made += 1
            for at in range(starts[other], starts[other + 1]):
                cell = cells[at]
                if not touched[cell]:
                    n_support = _touch(cell, touched, support, n_support, row_of, waiting)
                row[cell] = (row[cell] + (PRIME - times) * values[at]) % PRIME
        pivot = _find_pivot(system, support[:n_support], row)
        if pivot >= 0:
            at = starts[n_rows]
            while at + n_support > len(cells):
                cells = np.concatenate((cells, np.empty_like(cells)))
                values = np.concatenate((values, np.empty_like(values)))
            inverse = _invert(row[pivot])
            cells[at], values[at] = pivot, 1
            for i in range(n_support):
                cell = support[i]
                if row[cell] != 0 and cell != pivot:
                    at += 1
                    cells[at], values[at] = cell, row[cell] * inverse % PRIME
            equations[n_rows], inverses[n_rows], row_of[pivot] = equation, inverse, n_rows
            n_rows += 1
            starts[n_rows], made_starts[n_rows] = at + 1, n_made
        for i in range(n_support):
            row[support[i]], touched[support[i]] = 0, False
    return Echelon(
        starts[: n_rows + 1], cells, values, made_starts[: n_rows + 1], made_rows, made_values,
        equations[:n_rows], inverses[:n_rows],
    )  # fmt: skip


@njit()
def _touch(
    cell: int,
    touched: NDArray[np.bool_],
    support: NDArray[np.int32],
    n_support: int,
    row_of: NDArray[np.int64],
    waiting: list[np.int64],
) -> int:
    """Take a cell into the support, and let the row of which it is the pivot wait."""
    touched[cell] = True
    support[n_support] = cell
    if row_of[cell] >= 0:
        heapq.heappush(waiting, row_of[cell])
    return n_support + 1


@njit()
def _find_pivot(system: System, support: NDArray[np.int32], row: NDArray[np.int64]) -> int:
    """Return the cell of a row that is in the fewest equations; -1 if the row is empty."""
    pivot, fewest = -1, 1 << 62
    for cell in support:
        n_uses = system.cell_starts[cell + 1] - system.cell_starts[cell]
        if row[cell] != 0 and n_uses < fewest:
            pivot, fewest = cell, n_uses
    return pivot


@njit()
def move_randomly(form: Echelon, moves: NDArray[np.int64]) -> None:
    """Make random vectors fit the equations.

    Parameters
    ----------
    form
        The equations in echelon form.
    moves
        One vector in each column; 0 where a cell isn't hidden. Pivots are set.
    """
    n_vectors = moves.shape[1]
    for row in range(len(form.starts) - 2, -1, -1):
        first = form.starts[row]
        pivot = form.cells[first]
        for i in range(n_vectors):
            moves[pivot, i] = 0
        for at in range(first + 1, form.starts[row + 1]):
            cell, value = form.cells[at], PRIME - form.values[at]
            for i in range(n_vectors):
                moves[pivot, i] = (moves[pivot, i] + value * moves[cell, i]) % PRIME


@njit()
def combine(form: Echelon, wanted: NDArray[np.int64], n_equations: int) -> NDArray[np.int64]:
    """Return how often each equation is taken to give a combination of hidden cells.

    Parameters
    ----------
    form
        The equations in echelon form.
    wanted
        The combination, which they give; it is used up.
    n_equations
        How many equations there are.

    Returns
    -------
    ndarray
        The multiple of each equation.
    """
    times = np.zeros(len(form.equation), dtype=np.int64)
    for row in range(len(times)):
        factor = wanted[form.cells[form.starts[row]]]
        times[row] = factor
        if factor != 0:
            for at in range(form.starts[row], form.starts[row + 1]):
                cell = form.cells[at]
                wanted[cell] = (wanted[cell] + (PRIME - factor) * form.values[at]) % PRIME
    found = np.zeros(n_equations, dtype=np.int64)
    for row in range(len(times) - 1, -1, -1):
        factor = times[row] * form.inverse[row] % PRIME
        found[form.equation[row]] = factor
        if factor != 0:
            for at in range(form.made_starts[row], form.made_starts[row + 1]):
                other = form.made_rows[at]
                times[other] = (times[other] + (PRIME - factor) * form.made_values[at]) % PRIME
    return found


@njit()
def publish_spare(
    system: System,
    hidden: NDArray[np.bool_],
    moves: NDArray[np.int64],
    group: NDArray[np.int64],
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
    order: NDArray[np.int64],
    pending: NDArray[np.bool_],
) -> None:
    """Publish hidden cells that no sensitive cell needs, one after the other.

    Parameters
    ----------
    system
        The equations.
    hidden
        Which cells are hidden; those that are published are taken out.
    moves
        Random vectors that fit the equations, one in each row; one is used up for each cell that is
        published.
    group
        A number for each cell; cells that hidden cells of equations link have the same.
    starts, members
        The hidden cells of each group.
    order
        The cells that may be published, the dearest first.
    pending
        Which of them are undecided; those that are decided are taken out.
    """
    used = np.zeros(len(starts) - 1, dtype=np.int64)
    for cell in order:
        own = group[cell]
        first = used[own]
        if not pending[cell] or first + 3 > len(moves):
            continue
        pending[cell] = False
        if moves[first, cell] == 0:
            hidden[cell] = False
            continue
        mine = members[starts[own] : starts[own + 1]]
        if _is_needed(moves, system.sensitive, mine, cell, first):
            continue
        hidden[cell] = False
        if _lacks(system, hidden, cell):
            hidden[cell] = True
            continue
        _fix(moves, mine, cell, first)
        used[own] += 1


@njit()
def _is_needed(
    moves: NDArray[np.int64],
    sensitive: NDArray[np.bool_],
    mine: NDArray[np.int64],
    cell: int,
    first: int,
) -> bool:
    """Whether a sensitive cell can only move together with this one."""
    a, b, c = moves[first, cell], moves[first + 1, cell], moves[first + 2, cell]
    for other in mine:
        own = moves[first, other]
        if (
            sensitive[other]
            and own * b % PRIME == moves[first + 1, other] * a % PRIME
            and own * c % PRIME == moves[first + 2, other] * a % PRIME
            and own != 0
        ):
            return True
    return False


@njit()
def _lacks(system: System, hidden: NDArray[np.bool_], cell: int) -> bool:
    """Whether an equation of a cell lacks something, now that the cell is published."""
    for at in range(system.cell_starts[cell], system.cell_starts[cell + 1]):
        down, up, more = equation_lacks(system, hidden, system.equations[at])
        if down > 0 or up > 0 or more > 0:
            return True
    return False


@njit()
def _fix(moves: NDArray[np.int64], own: NDArray[np.int64], cell: int, first: int) -> None:
    """Take a vector off the others, so that the cell doesn't move in any of them."""
    inverse = _invert(moves[first, cell])
    for i in range(first + 1, len(moves)):
        times = PRIME - moves[i, cell] * inverse % PRIME
        for other in own:
            moves[i, other] = (moves[i, other] + times * moves[first, other]) % PRIME

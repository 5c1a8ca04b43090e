"""Linear programs over deviations of cells from their true values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import csc_array, hstack

from halfmask._errors import GuaranteeNotMetError
from halfmask._foreign import need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Knowledge

#: Steps of a solution for each row and column: many more than it takes, but a solver that goes in
#: circles, as rounding makes one do on some processors, ends with an error.
_STEPS: Final = 100
#: By how much an equation or a bound may be missed, as a share of the amount that is asked for.
TOLERANCE: Final = 1e-6
#: In systems of more cells, deviations are looked for among so many around a cell first, to which
#: so many equations lead one after the other.
_LARGE: Final = 6000
_NEAR: Final = 2000
_LAYERS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
    """How far each cell may deviate, as everybody knows before a table is published."""

    below: Floats
    above: Floats

    @classmethod
    def of(cls, cells: CellSystem, knowledge: Knowledge) -> Slack:
        """Return what some knowledge leaves around the true values."""
        return cls(
            below=np.maximum(cells.value - knowledge.lower, 0.0),
            above=np.maximum(knowledge.upper - cells.value, 0.0),
        )

    def stretch(self, cells: Ints, moved: Floats) -> float:
        """Return the greatest factor by which a deviation may be multiplied."""
        side = np.where(moved > 0, self.above[cells], self.below[cells])
        return float(np.min(side / np.abs(moved), initial=np.inf))


class Deviations:
    """Deviations of cells that keep all equations: one linear program that is solved repeatedly.

    Each has a part up and one down, with a price. Numbers are divided by the amount that is asked
    for: tolerances are absolute. Solutions start at no deviation: few steps, always the same.
    """

    def __init__(self, equations: csr_array, room: Slack, cells: Ints) -> None:
        self.cells = cells
        self._all, self._room = equations, room
        self._rows = np.flatnonzero(np.diff(equations[:, cells].indptr))
        self._equations = equations[self._rows][:, cells]
        self._columns = np.arange(2 * len(cells), dtype=np.int32)
        both = csc_array(hstack([self._equations, -self._equations]))
        self._solver = quiet_solver(both, np.zeros(2 * len(cells)), np.zeros(2 * len(cells)))

    def reach(
        self, cell: int, amount: float, fixed: Ints, *, price: Floats, share: Floats | None = None
    ) -> tuple[Ints, Floats] | None:
        """Return the cheapest deviation that moves a cell by an amount, or None if none does.

        Cells of an infinite price and ``fixed`` ones stay. With a ``share``, each moves at most by
        that share of its room, or of the amount if this is less.
        """
        n, unit = len(self.cells), abs(amount)
        costs = price[self.cells]
        moves = np.isfinite(costs)
        moves[np.isin(self.cells, fixed)] = False
        at = int(np.searchsorted(self.cells, cell))
        if at == n or self.cells[at] != cell:
            return None
        sides = [side[self.cells] / unit for side in (self._room.above, self._room.below)]
        if share is not None:
            sides = [np.minimum(side, 1.0) * share[self.cells] for side in sides]
        upper = np.where(np.tile(moves, 2), np.concatenate(sides), 0.0)
        upper[upper < TOLERANCE] = 0.0
        forward, back = (at, at + n) if amount > 0 else (at + n, at)
        if upper[forward] < 1.0 - TOLERANCE:
            return None
        lower = np.zeros(2 * n)
        lower[forward] = upper[forward] = 1.0
        upper[back] = 0.0
        costs = np.where(moves, costs, 0.0)
        return self._moved(lower, upper, np.concatenate([costs, costs]), unit, TOLERANCE)

    def reach_many(self, cells: Ints, amounts: Floats) -> tuple[Ints, Floats] | None:
        """Return a deviation that moves many cells as near to their amounts as it can."""
        n, unit = len(self.cells), float(np.median(np.abs(amounts)))
        upper = np.concatenate([side[self.cells] for side in (self._room.above, self._room.below)])
        upper /= unit
        at = np.searchsorted(self.cells, cells)
        forward, back = np.where(amounts > 0, [at, at + n], [at + n, at])
        wanted = np.abs(amounts) / unit
        upper[back] = 0.0
        upper[forward] = np.minimum(upper[forward], wanted)
        costs = np.zeros(2 * n)
        costs[forward] = -1.0 / wanted
        return self._moved(np.zeros(2 * n), upper, costs, unit, TOLERANCE * wanted.min())

    def _moved(
        self, lower: Floats, upper: Floats, costs: Floats, unit: float, tolerance: float
    ) -> tuple[Ints, Floats] | None:
        """Solve the program in some unit, and return which cells move how far."""
        n = len(self.cells)
        self._solver.clearSolver()
        self._solver.changeColsBounds(2 * n, self._columns, lower, upper)
        self._solver.changeColsCost(2 * n, self._columns, costs)
        found = _solved(self._solver)
        if found is None:
            return None
        moved = found[:n] - found[n:]
        moved[np.abs(moved) < tolerance / 10.0] = 0.0
        if np.abs(self._equations @ moved).max(initial=0.0) > tolerance:
            return None
        used = np.flatnonzero(moved)
        return self.cells[used], moved[used] * unit

    def cut(self, cell: int, amount: float, fixed: Ints) -> Floats | None:
        """Return weights that add up to 1 in hidden cells unless a pattern fails like the last."""
        _, proven, ray = self._solver.getDualRay()
        if not proven:
            return None
        slopes = self._all[self._rows].T @ np.asarray(ray)
        slopes /= -slopes[cell] * np.sign(amount) or 1.0
        slopes[np.abs(slopes) < TOLERANCE] = 0.0
        sides = np.where(slopes > 0, self._room.above, self._room.below) / abs(amount)
        weights: Floats = np.abs(slopes) * np.where(slopes == 0, 0.0, sides)
        weights = np.minimum(weights, 1.0)
        weights[cell] = 0.0
        weights[fixed] = 0.0
        return weights


class Programs:
    """Programs for the cells around a cell and for all: small ones serve in large systems."""

    def __init__(self, equations: csr_array, room: Slack, cells: Ints) -> None:
        self._equations, self._room, self._cells = equations, room, cells
        self._by_cell = csc_array(equations)
        self._whole: Deviations | None = None
        self._near: Deviations | None = None
        self._core = np.empty(0, dtype=np.int64)

    def around(self, cell: int, cost: Floats, hidden: Bools) -> Iterator[Deviations]:
        """Yield programs that a cell is in, the smallest first."""
        if len(self._cells) > _LARGE:
            if self._near is None or cell not in self._core:
                self._near = self._made_around(cell, np.where(hidden, 0.0, cost))
            yield self._near
        if self._whole is None:
            self._whole = Deviations(self._equations, self._room, self._cells)
        yield self._whole

    def _made_around(self, cell: int, cost: Floats) -> Deviations:
        """Return a program of the cells that equations lead to, the cheapest of the last ones."""
        may = np.zeros(len(cost), dtype=bool)
        may[self._cells] = True
        reached = np.array([cell])
        self._core = reached
        for layer in range(_LAYERS):
            rows = np.unique(self._by_cell[:, reached].indices)
            found = np.unique(self._equations[rows].indices)
            new = found[may[found] & ~np.isin(found, reached)]
            room = _NEAR - len(reached)
            if room < len(new):
                new = new[np.argsort(cost[new], kind="stable")[:room]]
            reached = np.concatenate([reached, new])
            if layer == 0:
                self._core = reached
        return Deviations(self._equations, self._room, np.sort(reached))


class Extremes:
    """The least and greatest deviations of cells: a linear program of one column for each cell."""

    def __init__(self, equations: csr_array, room: Slack, cells: Ints) -> None:
        self.cells = cells
        lower, upper = -room.below[cells], room.above[cells]
        finite = np.abs(np.concatenate([lower, upper]))
        self._unit = max(finite[np.isfinite(finite)].max(initial=0.0), 1.0) / 1000.0
        matrix = csc_array(equations[np.diff(equations[:, cells].indptr) > 0][:, cells])
        self._solver = quiet_solver(matrix, lower / self._unit, upper / self._unit)
        self._solver.setOptionValue("simplex_strategy", 4)  # primal: the last vertex is feasible
        self._solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
        self._columns = np.arange(len(cells), dtype=np.int32)

    def extreme(self, weights: Floats) -> tuple[Floats, Floats | None]:
        """Return a deviation of the greatest weighted sum, and a direction if it has no limit."""
        import highspy  # noqa: PLC0415 # an optional library

        known = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnbounded)
        self._solver.changeColsCost(len(self.cells), self._columns, -weights)
        self._solver.run()
        if self._solver.getModelStatus() not in known:  # the last vertex can be a bad start
            self._solver.clearSolver()
            self._solver.run()
        status = self._solver.getModelStatus()
        if status not in known:
            raise GuaranteeNotMetError(
                "The intervals of hidden cells can't be computed: the solver found no solution.",
                hint="Report the sizes of the tables. Fewer dimensions may help.",
            )
        ray = None
        if status == highspy.HighsModelStatus.kUnbounded:
            ray = np.asarray(self._solver.getPrimalRay()[2])
        return np.asarray(self._solver.getSolution().col_value) * self._unit, ray


def quiet_solver(matrix: csc_array, lower: Floats, upper: Floats) -> Any:  # noqa: ANN401 # of an optional library
    """Return a solver of equations that says nothing and takes the same way in every run."""
    need("highspy")
    import highspy  # noqa: PLC0415 # an optional library

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.zeros(len(lower))
    model.col_lower_, model.col_upper_ = lower, upper
    model.row_lower_ = model.row_upper_ = np.zeros(matrix.shape[0])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indices, matrix.data
    # Its own __init__ enables callbacks, which prints a banner before output can be turned off.
    solver = highspy.Highs.__new__(highspy.Highs)
    super(highspy.Highs, solver).__init__()
    options = {"output_flag": False, "threads": 1, "random_seed": 0, "presolve": "off"}
    most = min(_STEPS * (sum(matrix.shape) + _STEPS), np.iinfo(np.int32).max)
    for option, value in {**options, "solver": "simplex", "simplex_iteration_limit": most}.items():
        solver.setOptionValue(option, value)
    solver.passModel(model)
    return solver


def _solved(solver: Any) -> Floats | None:  # noqa: ANN401 # of an optional library
    import highspy  # noqa: PLC0415 # an optional library

    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.asarray(solver.getSolution().col_value)

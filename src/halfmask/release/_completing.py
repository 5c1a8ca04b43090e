"""Values drawn for cells of which a range or a set is known, given all other columns.

Each column has a regression on the others: linear for numbers, of the probability of each value for
categories (fully conditional specification; van Buuren, 2007). Draws keep to their cells. A
regression of a column on others sees differences between classes alone, so its uncertainty is that
of a bootstrap of classes (Rubin, 1981), not of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: Rounds over all columns from either start, and from there for each table.
_ROUNDS, _MORE_ROUNDS, _FIRST_ROUNDS = 40, 20, 4
_STEPS: Final = 2
_MARGIN_ROUNDS: Final = 50
_MOST_MEANS: Final = 1500
_LEAST_CHANCE: Final = 2e-3


@dataclass(slots=True, kw_only=True, eq=False)
class CellsOfColumn:
    """A column: the values that each cell allows, the cell of each row, and what is drawn."""

    #: Whether a cell, a row, allows a value, a column.
    allowed: NDArray[np.bool_]
    cell: Ints
    #: The values, in their order; none of categories.
    numbers: Floats | None
    #: Whether some row of each class has the least, and one the greatest value of its cell.
    has_ends: bool = False
    drawn: Ints = field(init=False)
    free: Ints = field(init=False)
    margin: Floats = field(init=False)
    features: Floats = field(init=False)

    def __post_init__(self) -> None:
        several = self.allowed.sum(axis=1) > 1
        self.free = np.flatnonzero(several[self.cell])
        self.margin = self._estimated_margin()
        if self.numbers is None:
            self.features = np.eye(len(self.margin))[:, 1:]
            return
        mean = self.margin @ self.numbers
        spread = float(np.sqrt(self.margin @ (self.numbers - mean) ** 2)) or 1.0
        scaled = np.clip((self.numbers - mean) / spread, -4.0, 4.0)
        self.features = np.stack([scaled, scaled**2 - 1], axis=1)

    def _estimated_margin(self) -> Floats:
        """Return the share of each value, by maximum likelihood from cells (Turnbull, 1976)."""
        sizes = np.bincount(self.cell, minlength=len(self.allowed)).astype(float)
        shares = np.full(self.allowed.shape[1], 1 / self.allowed.shape[1])
        for _ in range(_MARGIN_ROUNDS if len(self.free) else 1):
            within = self.within(shares)
            shares = sizes @ within / sizes.sum()
        return shares

    def within(self, shares: Floats) -> Floats:
        """Return the share of each value within each cell."""
        found = self.allowed * np.maximum(shares, 1e-12)
        return np.asarray(found / found.sum(axis=1, keepdims=True), dtype=np.float64)

    def proposed(self, shares: Floats, rows: Ints, rng: Generator) -> Ints:
        """Draw a value from the cell of each row, by the shares alone."""
        n_values = self.allowed.shape[1]
        ends = np.minimum(np.cumsum(self.within(shares), axis=1), 1.0)
        ends[:, -1] = 1.0
        line = (ends + np.arange(len(ends))[:, None]).ravel()
        cell = self.cell[rows]
        at = np.searchsorted(line, cell + rng.random(len(rows)), side="right") - cell * n_values
        return np.asarray(np.minimum(at, n_values - 1), dtype=np.int64)

    def give_ends(self, classes: Ints, starts: Ints, rng: Generator) -> None:
        """Give the ends of each class's range to its rows that are nearest to them."""
        key = self.drawn + rng.random(len(self.drawn))
        last = self.allowed.shape[1] - 1 - self.allowed[:, ::-1].argmax(axis=1)
        for extreme, end in ((np.minimum, self.allowed.argmax(axis=1)), (np.maximum, last)):
            rows = np.flatnonzero(key == extreme.reduceat(key, starts)[classes])
            self.drawn[rows] = end[self.cell[rows]]


class CellDraws:
    """Draws values for all columns in turn, given each other and the features of all others.

    Classes are numbers from 0, in ascending order.
    """

    def __init__(
        self, columns: Sequence[CellsOfColumn], known: Floats, classes: Ints, rng: Generator
    ) -> None:
        self._columns = [each for each in columns if len(each.free)]
        whole = [each.features[each.allowed.argmax(axis=1)[each.cell]] for each in columns]
        self._rng = rng
        self._classes = classes
        self._starts = np.flatnonzero(np.diff(classes, prepend=-1))
        n_rows = len(classes)
        fixed = [it for it, each in zip(whole, columns, strict=True) if not len(each.free)]
        parts = [np.ones((n_rows, 1)), known, *fixed]
        self._places: list[slice] = []
        at = sum(part.shape[1] for part in parts)
        for each in self._columns:
            self._places.append(slice(at, at + each.features.shape[1]))
            at += each.features.shape[1]
        self._features = np.concatenate(
            [*parts, *(np.zeros((n_rows, it.features.shape[1])) for it in self._columns)], axis=1
        )

    def tables(self, n_tables: int) -> Iterator[None]:
        """Draw each table in turn: its values are the ``drawn`` of the columns.

        Half of the tables start where columns are independent within classes, half where they
        differ between classes alone: what the data don't decide differs between tables.
        """
        one = np.ones(len(self._classes))
        starts: list[list[Ints]] = []
        for between in (False, True):
            for column in self._columns:
                every = np.arange(len(column.cell))
                column.drawn = column.proposed(column.margin, every, self._rng)
            for _ in range(_FIRST_ROUNDS if between else 0):
                self._round(one, expected=True)
            for _ in range(_ROUNDS):
                self._round(one)
            starts.append([column.drawn for column in self._columns])
        for number in range(n_tables):
            for column, drawn in zip(self._columns, starts[number % 2], strict=True):
                column.drawn = drawn.copy()
            weights = self._rng.exponential(size=len(self._starts))[self._classes]
            for _ in range(_MORE_ROUNDS):
                self._round(weights)
            yield

    def _round(self, weights: Floats, *, expected: bool = False) -> None:
        """Draw each column given the others; or given what their cells let expect."""
        for column, place in zip(self._columns, self._places, strict=True):
            within = column.within(column.margin)
            self._features[:, place] = (
                (within @ column.features)[column.cell]
                if expected
                else column.features[column.drawn]
            )
        for column, place in zip(self._columns, self._places, strict=True):
            others, weighted = self._features.copy(), self._features * weights[:, None]
            others[:, place] = weighted[:, place] = 0.0
            gram = weighted.T @ others
            gram[np.diag_indices_from(gram)] += 1e-6 * len(weights)
            soft = column.within(column.margin) if expected else None
            if column.numbers is None:
                self._draw_categories(column, others, (weighted, gram), soft)
            else:
                self._draw_numbers(column, others, (weighted, gram, weights), soft)
                if column.has_ends:
                    column.give_ends(self._classes, self._starts, self._rng)
            if not expected:
                self._features[:, place] = column.features[column.drawn]

    def _draw_categories(
        self,
        column: CellsOfColumn,
        others: Floats,
        sums: tuple[Floats, Floats],
        within: Floats | None,
    ) -> None:
        weighted, gram = sums
        n_values = len(column.margin)
        seen = np.eye(n_values)[column.drawn] if within is None else within[column.cell]
        effects = np.linalg.solve(gram, weighted.T @ seen)
        chances = np.clip(others[column.free] @ effects, _LEAST_CHANCE, 1.0)
        chances *= column.allowed[column.cell[column.free]]
        ends = np.cumsum(chances, axis=1)
        at = self._rng.random(len(ends)) * ends[:, -1]
        drawn = column.drawn.copy()
        drawn[column.free] = np.minimum((ends <= at[:, None]).sum(axis=1), n_values - 1)
        column.drawn = drawn

    def _draw_numbers(
        self,
        column: CellsOfColumn,
        others: Floats,
        sums: tuple[Floats, Floats, Floats],
        within: Floats | None,
    ) -> None:
        """Take two Metropolis steps from the margin to the margin times a normal likelihood."""
        weighted, gram, weights = sums
        values, rng = column.numbers, self._rng
        assert values is not None  # noqa: S101 # for the types: the caller asked
        target, inner = values[column.drawn], np.zeros(1)
        if within is not None:
            means = within @ values
            target, inner = means[column.cell], (within @ values**2 - means**2)[column.cell]
        means = others @ np.linalg.solve(gram, weighted.T @ target)
        squares = (target - means) ** 2 + inner
        variance = float(weights @ squares / weights.sum()) + 1e-9 * float(np.ptp(values)) ** 2
        some = means[rng.integers(0, len(means), min(len(means), _MOST_MEANS))]
        usual = np.exp(-((values[:, None] - some) ** 2) / (2 * variance)).mean(axis=1)
        # The margin holds without regard to the others: their usual effect is divided out.
        base = -np.log(usual + 1e-300) - values**2 / (2 * variance)
        slope = means[column.free] / variance
        counts = np.bincount(column.drawn, weights=weights, minlength=len(values))
        margin = (counts + column.margin) / (weights.sum() + 1)
        now = column.drawn[column.free]
        for _ in range(_STEPS):
            new = column.proposed(margin, column.free, rng)
            gain = base[new] - base[now] + slope * (values[new] - values[now])
            now = np.where(np.log(rng.random(len(now))) < gain, new, now)
        drawn = column.drawn.copy()
        drawn[column.free] = now
        column.drawn = drawn

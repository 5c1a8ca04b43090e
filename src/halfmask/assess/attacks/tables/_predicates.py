"""Predicates: statements about one person, made of released cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.tables._distances import Known
    from halfmask.assess.attacks.tables._matching import Matched

#: At least the cell's high end, at most its low end, within the cell, at its high or low end.
Kind: TypeAlias = Literal["above", "below", "within", "top", "bottom"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Test:
    """A condition on one column, made of the cell of one released row."""

    column: Matched
    kind: Kind
    row: int

    @property
    def key(self) -> tuple[str, Kind, float, float, bool]:
        """The same for two tests with the same meaning."""
        cells, row = self.column.cells, self.row
        null = bool(cells.null[row])
        if not self.column.is_number:
            return self.column.name, self.kind, float(cells.codes[row]), 0.0, null
        low, high = float(cells.low[row]), float(cells.high[row])
        if self.kind in {"above", "top"}:
            return self.column.name, self.kind, high, high, null
        if self.kind in {"below", "bottom"}:
            return self.column.name, self.kind, low, low, null
        return self.column.name, self.kind, low, high, null

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for which known values it is true."""
        cells, row = self.column.cells, self.row
        if cells.null[row]:
            return np.isnan(values)
        if self.column.is_number:
            true = _between(values, values, *self._interval)
        else:
            code = int(cells.codes[row])
            if code >= 0:
                true = values == code
            else:
                # The last place of a set is that of what isn't known: no member.
                true = cells.sets[-2 - code][
                    np.where(np.isnan(values), -1, values).astype(np.int64)
                ]
        if self.kind == "within" and cells.admits[row]:
            true = true | np.isnan(values)
        return np.asarray(true)

    def may_hold(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return where it may be true; cells without information don't count."""
        cells, row = self.column.cells, self.row
        if cells.null[row]:
            return cells.null[rows]
        if self.column.is_number:
            return (
                _between(cells.low[rows], cells.high[rows], *self._interval) & ~cells.silent[rows]
            )
        return self._category_overlap()[cells.codes[rows]]

    @property
    def _interval(self) -> tuple[float, float]:
        low, high = float(self.column.cells.low[self.row]), float(self.column.cells.high[self.row])
        return {
            "above": (high, np.inf),
            "below": (-np.inf, low),
            "within": (low, high),
            "top": (high, high),
            "bottom": (low, low),
        }[self.kind]

    def _category_overlap(self) -> _ByCode:
        cells = self.column.cells
        code = int(cells.codes[self.row])
        n = cells.sets.shape[1]
        mine = cells.sets[-2 - code] if code <= -2 else np.arange(n) == code
        return _ByCode(mine=mine, code=code, meets=(cells.sets & mine).any(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _ByCode:
    """Whether a cell of each code may hold one of some categories."""

    mine: NDArray[np.bool_]
    code: int
    meets: NDArray[np.bool_]

    def __getitem__(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        true = codes == self.code
        plain = (codes >= 0) & (codes < len(self.mine))
        true[plain] |= self.mine[codes[plain]]
        sets = codes <= -2
        true[sets] |= self.meets[-2 - codes[sets]]
        return np.asarray(true)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Predicate:
    """Tests that must all hold."""

    tests: tuple[Test, ...]

    @property
    def key(self) -> frozenset[tuple[str, Kind, float, float, bool]]:
        """The same for two predicates with the same meaning."""
        return frozenset(test.key for test in self.tests)


def possible_rows(predicate: Predicate, n_rows: int) -> NDArray[np.int64]:
    """Return those of the first released rows for which a predicate may be true."""
    rows = np.arange(n_rows, dtype=np.int64)
    for test in predicate.tests:
        rows = rows[test.may_hold(rows)]
    return rows


def count_known(predicates: list[Predicate], known: Known) -> NDArray[np.int64]:
    """Return of how many known people each predicate is true."""
    counts = np.zeros(len(predicates), dtype=np.int64)
    for place, predicate in enumerate(predicates):
        first, *others = predicate.tests
        people = np.flatnonzero(first.holds(known[first.column.name]))
        for test in others:
            people = people[test.holds(known[test.column.name][people])]
        counts[place] = len(people)
    return counts


def _between(
    low: NDArray[np.float64], high: NDArray[np.float64], least: float, most: float
) -> NDArray[np.bool_]:
    """Return where two intervals share a number."""
    return np.asarray((high >= least) & (low <= most))

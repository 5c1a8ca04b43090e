"""Predicates on one person, made of released cells, and guesses that one alone meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks.tables._links import Known
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

    def holds(self, values: Floats) -> Bools:
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

    def may_hold(self, rows: Ints) -> Bools:
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

    mine: Bools
    code: int
    meets: Bools

    def __getitem__(self, codes: Ints) -> Bools:
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


def possible_rows(predicate: Predicate, n_rows: int) -> Ints:
    """Return those of the first released rows for which a predicate may be true."""
    rows = np.arange(n_rows, dtype=np.int64)
    for test in predicate.tests:
        rows = rows[test.may_hold(rows)]
    return rows


def count_known(predicates: list[Predicate], known: Known) -> Ints:
    """Return of how many known people each predicate is true."""
    counts = np.zeros(len(predicates), dtype=np.int64)
    for place, predicate in enumerate(predicates):
        first, *others = predicate.tests
        people = np.flatnonzero(first.holds(known[first.column.name]))
        for test in others:
            people = people[test.holds(known[test.column.name][people])]
        counts[place] = len(people)
    return counts


def _between(low: Floats, high: Floats, least: float, most: float) -> Bools:
    """Return where two intervals share a number."""
    return np.asarray((high >= least) & (low <= most))


#: How many predicates are put together for each that is wanted.
ATTEMPTS = 5
#: On how many rows a predicate is tried before it is tried on all.
FEW_ROWS = 500


def guesses_of_one(
    columns: tuple[Matched, ...], released: pl.DataFrame, n_wanted: int, rng: np.random.Generator
) -> list[Predicate]:
    """Return predicates on single columns: values that occur once, and ends of ordered columns."""
    offers = [test for column in columns for test in _ends(column)]
    once = [
        (place, row)
        for place, column in enumerate(columns)
        for row in np.flatnonzero(
            released[column.name].is_unique().to_numpy()
            & (~column.cells.silent | column.cells.null)
        ).tolist()
    ]
    order = rng.permutation(len(once))[: ATTEMPTS * n_wanted]
    offers += [Test(column=columns[p], kind="within", row=r) for p, r in (once[i] for i in order)]
    found: dict[object, Predicate] = {}
    for test in (offers[i] for i in rng.permutation(len(offers))):
        predicate = Predicate(tests=(test,))
        if predicate.key not in found and _points_at_one(predicate):
            found[predicate.key] = predicate
        if len(found) == n_wanted:
            break
    return list(found.values())


def guesses_of_many(
    columns: tuple[Matched, ...],
    n_columns: tuple[int, int],
    n_wanted: int,
    rng: np.random.Generator,
) -> list[Predicate]:
    """Return predicates on several columns at once, each after a released row drawn at random."""
    n_rows = len(columns[0].cells)
    medians = [_median(column) for column in columns]
    found: dict[object, Predicate] = {}
    for _ in range(ATTEMPTS * n_wanted if n_rows else 0):
        row = int(rng.integers(n_rows))
        telling = [i for i, c in enumerate(columns) if not c.cells.silent[row] or c.cells.null[row]]
        n_chosen = min(int(rng.integers(n_columns[0], n_columns[1] + 1)), len(telling))
        if n_chosen < n_columns[0]:
            continue
        chosen = rng.choice(telling, size=n_chosen, replace=False)
        predicate = _after_row(row, [(columns[i], medians[i]) for i in chosen], rng)
        if predicate.key not in found and _points_at_one(predicate):
            found[predicate.key] = predicate
        if len(found) == n_wanted:
            break
    return list(found.values())


def _after_row(
    row: int, columns: list[tuple[Matched, float]], rng: np.random.Generator
) -> Predicate:
    """Guess the row's cell in each column; for one range, guess that the person is at an end.

    Ends of a range are values of people of the class: a documented weakness of `Ranges`.
    """
    ranges = [
        place
        for place, (column, _) in enumerate(columns)
        # No person is at an end that isn't there.
        if column.is_number and not column.cells.single[row] and column.cells.bounded[row]
    ]
    at_end = int(rng.choice(ranges)) if ranges else -1
    tests = []
    for place, (column, median) in enumerate(columns):
        kind: Kind = "within"
        if place == at_end:
            kind = "top" if rng.random() < 0.5 else "bottom"
        elif column.is_number and column.cells.single[row]:
            kind = "above" if column.cells.low[row] >= median else "below"
        tests.append(Test(column=column, kind=kind, row=row))
    return Predicate(tests=tuple(tests))


def _points_at_one(predicate: Predicate) -> bool:
    """Return whether one released row may meet it, or, at the end of a range, one class."""
    n_rows = len(predicate.tests[0].column.cells)
    # Most predicates are met by several of a few rows already.
    for some in (FEW_ROWS, 10 * FEW_ROWS):
        if some < n_rows and not _may_point_at_one(predicate, possible_rows(predicate, some)):
            return False
    rows = possible_rows(predicate, n_rows)
    return len(rows) > 0 and _may_point_at_one(predicate, rows)


def _may_point_at_one(predicate: Predicate, rows: Ints) -> bool:
    """Return whether these rows, of those that may meet it, don't speak against one person."""
    if len(rows) <= 1:
        return True
    ends = any(
        test.kind != "within" and not test.column.cells.single[test.row] for test in predicate.tests
    )
    return ends and all(_same_cells(test, rows) for test in predicate.tests)


def _same_cells(test: Test, rows: Ints) -> bool:
    """Return whether these rows have the cell of the test's own row."""
    cells, row = test.column.cells, test.row
    if not test.column.is_number:
        return bool((cells.codes[rows] == cells.codes[row]).all())
    same = (cells.low[rows] == cells.low[row]) & (cells.high[rows] == cells.high[row])
    return bool(same.all())


def _ends(column: Matched) -> list[Test]:
    """Return the guess that a person is at least as high, or as low, as the extreme cell."""
    telling = np.flatnonzero(~column.cells.silent)
    if not column.is_number or not len(telling):
        return []
    highest = int(telling[np.argmax(column.cells.high[telling])])
    lowest = int(telling[np.argmin(column.cells.low[telling])])
    tests = [
        Test(column=column, kind="above", row=highest),
        Test(column=column, kind="below", row=lowest),
    ]
    # No person is beyond an end that isn't there.
    return [test for test in tests if np.isfinite(test.key[2])]


def _median(column: Matched) -> float:
    telling = ~column.cells.silent
    if not column.is_number or not telling.any():
        return 0.0
    return float(np.median(column.cells.middle[telling]))

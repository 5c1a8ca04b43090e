"""Guesses: predicates that, by the released table, are true of one person only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks.tables._predicates import Kind, Predicate, Test, possible_rows

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks.tables._matching import Matched

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


def _may_point_at_one(predicate: Predicate, rows: NDArray[np.int64]) -> bool:
    """Return whether these rows, of those that may meet it, don't speak against one person."""
    if len(rows) <= 1:
        return True
    ends = any(_is_range_end(test) for test in predicate.tests)
    return ends and all(_same_cells(test, rows) for test in predicate.tests)


def _is_range_end(test: Test) -> bool:
    return test.kind != "within" and not bool(test.column.cells.single[test.row])


def _same_cells(test: Test, rows: NDArray[np.int64]) -> bool:
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

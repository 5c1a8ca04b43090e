"""Claims that count persons, counted again."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from halfmask.verifier.tables._findings import ClassTask, WholeTask, compare_rows
from halfmask.verifier.tables._model_checks import takes_several_values
from halfmask.verifier.tables._persons import Persons, count_persons, smallest_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.verifier.tables._counting import Counted


def count_class_persons(
    tasks: Sequence[ClassTask], counted: Counted, persons: Persons | None
) -> list[ClassTask]:
    """Find the worst level of each claim in persons; return the claims that could be counted."""
    if persons is None or counted.class_of_row is None:
        _leave_unchecked(tasks)
        return []
    missing = not counted.codes.all()
    done = []
    for task in tasks:
        column = task.claim.column
        values = None if column is None else counted.values_of_rows[column]
        found = count_persons(counted.class_of_row, values, persons, counted.codes)
        if column is not None and not takes_several_values(task.claim) and found.several_values:
            task.finding.reasons.append("it isn't defined for persons with several values")
            continue
        cells = found.cells
        totals = np.bincount(cells.values, weights=cells.counts).astype(np.int64)
        task.finding.counted = task.finding.wildcard = task.worst(cells, totals)
        if missing:
            levels = [task.worst(block, totals) for block in found.compatible()]
            task.finding.wildcard = functools.reduce(task.rule.worst, levels)
        done.append(task)
    return done


def count_whole_persons(
    tasks: Sequence[WholeTask], counted: Counted, persons: Persons | None
) -> list[WholeTask]:
    """Find the level of the table by each claim in persons; return those that could be counted.

    As a wildcard, a person counts among all persons of rows that are compatible with one of theirs.
    """
    if persons is None or counted.class_of_row is None:
        _leave_unchecked(tasks)
        return []
    if not tasks:
        return []
    found = count_persons(counted.class_of_row, None, persons, counted.codes)
    exact = compatible = smallest_classes(found, found.cells.sizes)
    if not counted.codes.all():
        compatible = smallest_classes(found, found.compatible_sizes())
    for task in tasks:
        task.finding.of_table = True
        if task.rule.of_persons is not None:
            task.finding.counted = task.rule.of_persons(exact)
            task.finding.wildcard = task.rule.of_persons(compatible)
    return list(tasks)


def _leave_unchecked(tasks: Sequence[ClassTask | WholeTask]) -> None:
    for task in tasks:
        compare_rows(task.finding, task.claim)
        task.finding.unchecked = "it counts persons, and whose rows they are isn't in the release"

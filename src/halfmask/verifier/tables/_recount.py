"""Every claim of a release, counted again from its table."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.tables._counting import Counted, count_classes, merge_counted
from halfmask.verifier.tables._findings import (
    ClassTask,
    Finding,
    PeopleTask,
    WholeTask,
    compare,
)
from halfmask.verifier.tables._fitting import Bound, ClassPeople, WrittenColumn, fitting_people
from halfmask.verifier.tables._model_checks import level_rule_of
from halfmask.verifier.tables._persons import (
    count_class_persons,
    count_whole_persons,
)
from halfmask.verifier.tables._rules import LevelRule, PeopleRule, TableRule, Unjudgeable
from halfmask.verifier.tables._support import Tree, read_tree
from halfmask.verifier.tables._wildcards import compatible_cells, compatible_rows, worst_of_subsets
from halfmask.verifier.tables.part import Dictionary, SensitiveValues, sensitive_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims import ClassClaim
    from halfmask.verifier.tables._files import StoredRows
    from halfmask.verifier.tables._fitting import People
    from halfmask.verifier.tables._persons import Persons

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """The released table, open, and what is known of its columns."""

    stored: StoredRows
    dictionaries: Mapping[str, Dictionary]
    kinds: Mapping[str, str]
    support: Mapping[str, Path]
    persons: Persons | None = None
    recodings: Mapping[str, str | None] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    is_csv: bool = False
    people: People | None = None


def recount(released: Released, claims: Sequence[ClassClaim]) -> list[Finding]:
    """Count claims again; those with the same quasi-identifiers share one grouping.

    Every column of every claim is in the table. The claims are judged on their own merit: whether
    they name enough columns is asked elsewhere.
    """
    findings = [Finding() for _ in claims]
    for group in _by_columns(claims):
        names = sorted(set(claims[group[0]].quasi_identifiers))
        sensitive = {}
        for name in sorted({claims[i].column for i in group} - {None}, key=str):
            own = released.dictionaries[str(name)]
            sensitive[own.name] = (own, sensitive_values(own, kind=released.kinds[own.name]))
        of_persons = claims[group[0]].unit == "person"
        known = [released.dictionaries[name] for name in names]
        by_row = of_persons and released.persons is not None
        counted = _classes(released.stored, known, sensitive, by_row=by_row)
        found = [
            task
            for i in group
            if (task := _task(findings[i], claims[i], counted, sensitive, released.support))
        ]
        tasks: list[ClassTask | WholeTask | PeopleTask] = [*found]
        of_classes = [task for task in found if isinstance(task, ClassTask)]
        if of_persons:
            wholes = [task for task in found if isinstance(task, WholeTask)]
            tasks = [
                *count_class_persons(of_classes, counted, released.persons),
                *count_whole_persons(wholes, counted, released.persons),
            ]
        else:
            _count(of_classes, counted)
            _count_wholes([task for task in found if isinstance(task, WholeTask)], counted)
            about = [task for task in found if isinstance(task, PeopleTask)]
            _count_people(about, counted, names, released)
        for task in tasks:
            compare(task.finding, task.claim, task.rule)
    return findings


def _classes(
    stored: StoredRows,
    quasi_identifiers: Sequence[Dictionary],
    sensitive: Mapping[str, tuple[Dictionary, SensitiveValues]],
    *,
    by_row: bool,
) -> Counted:
    """Count the classes, where the rows are read; those of each row are found here."""
    if by_row:
        return count_classes(stored.whole(), quasi_identifiers, sensitive, of_rows=True)
    spans = [each.n_codes for each in quasi_identifiers]
    count = partial(_count_part, quasi_identifiers, sensitive)
    counted: Counted = stored.fold(count, partial(merge_counted, spans))
    return counted


def _count_part(
    quasi_identifiers: Sequence[Dictionary],
    sensitive: Mapping[str, tuple[Dictionary, SensitiveValues]],
    table: pl.LazyFrame,
) -> Counted:
    return count_classes(table, quasi_identifiers, sensitive)


def _by_columns(claims: Sequence[ClassClaim]) -> Iterator[list[int]]:
    groups: dict[tuple[frozenset[str], str], list[int]] = {}
    for i, claim in enumerate(claims):
        groups.setdefault((frozenset(claim.quasi_identifiers), claim.unit), []).append(i)
    yield from groups.values()


def _task(
    finding: Finding,
    claim: ClassClaim,
    counted: Counted,
    sensitive: Mapping[str, tuple[Dictionary, SensitiveValues]],
    support: Mapping[str, Path],
) -> ClassTask | WholeTask | PeopleTask | None:
    finding.classes = len(counted.sizes)
    finding.rows = counted.rows
    finding.smallest = int(counted.sizes.min())
    values = None if claim.column is None else sensitive[claim.column][1]
    try:
        rule = level_rule_of(claim)
        if isinstance(rule, TableRule):
            return WholeTask(finding, claim, rule)
        if isinstance(rule, PeopleRule):
            return PeopleTask(finding, claim, rule)
        return ClassTask(finding, claim, rule, _tree(rule, claim, values, support))
    except (Unjudgeable, VerificationError) as reason:
        what = reason.what if isinstance(reason, VerificationError) else str(reason)
        finding.reasons.append(what.rstrip("."))
        return None


def _count(tasks: Sequence[ClassTask], counted: Counted) -> None:
    """Find the worst level of each claim, first with missing as a value, then as a wildcard."""
    for task in tasks:
        if task.rule.subsets is not None:
            _count_subsets(task, counted)
    tasks = [task for task in tasks if task.rule.subsets is None]
    missing = not counted.codes.all()
    # Rows can be counted by any column's cells, so k-anonymity needs no pass of its own.
    first = next((task.claim.column for task in tasks if task.claim.column is not None), None)
    by_column: dict[str | None, list[ClassTask]] = {}
    for task in tasks:
        by_column.setdefault(task.claim.column or first, []).append(task)
    for column, own in by_column.items():
        cells = counted.row_cells if column is None else counted.cells[column]
        totals = np.bincount(cells.values, weights=cells.counts).astype(np.int64)
        for task in own:
            task.finding.counted = task.finding.wildcard = task.worst(cells, totals)
        if missing:
            blocks = [
                [task.worst(block, totals) for task in own]
                for block in compatible_cells(counted, column)
            ]
            for task, levels in zip(own, zip(*blocks, strict=True), strict=True):
                task.finding.wildcard = functools.reduce(task.rule.worst, levels)


def _count_subsets(task: ClassTask, counted: Counted) -> None:
    """Find the worst level of a claim over each set of so many quasi-identifiers."""
    column, finding = task.claim.column, task.finding
    cells = counted.row_cells if column is None else counted.cells[column]
    totals = np.bincount(cells.values, weights=cells.counts).astype(np.int64)
    try:
        finding.counted, finding.wildcard = worst_of_subsets(
            counted,
            column,
            int(task.rule.subsets or 0),
            lambda found: task.worst(found, totals),
            task.rule.worst,
        )
    except Unjudgeable as reason:
        finding.reasons.append(str(reason))


def _count_wholes(tasks: Sequence[WholeTask], counted: Counted) -> None:
    """Find the level of the table by each claim: missing as a value, then as a wildcard.

    As a wildcard, a row counts among all rows that are compatible with it.
    """
    if not tasks:
        return
    sizes = counted.sizes
    compatible = sizes if counted.codes.all() else compatible_rows(counted)
    for task in tasks:
        task.finding.of_table = True
        try:
            task.finding.counted = task.rule.level(sizes, sizes)
            task.finding.wildcard = task.rule.level(sizes, compatible)
        except Unjudgeable as reason:
            task.finding.reasons.append(str(reason))


def _count_people(
    tasks: Sequence[PeopleTask], counted: Counted, names: Sequence[str], released: Released
) -> None:
    """Find the level by each claim about the population.

    A person with a missing cell fits where missing is written, and nowhere else. As a wildcard
    they would fit more classes.
    """
    if not tasks:
        return
    try:
        fitting = _fitting(counted, names, released, any(task.rule.overlaps for task in tasks))
        for task in tasks:
            task.finding.of_table = task.rule.of_table
            task.finding.counted = task.finding.wildcard = task.rule.level(fitting)
    except VerificationError as error:
        for task in tasks:
            task.finding.unchecked = f"{error.what[0].lower()}{error.what[1:].rstrip('.')}"


def _fitting(
    counted: Counted,
    names: Sequence[str],
    released: Released,
    overlaps: bool,  # noqa: FBT001 # internal
) -> ClassPeople:
    if released.people is None:
        raise VerificationError("It needs the population, which wasn't given.")
    written = [
        WrittenColumn(
            released.dictionaries[name],
            released.kinds[name],
            released.recodings[name],
            released.is_csv,
            released.bounds.get(name),
        )
        for name in names
    ]
    return fitting_people(counted, written, released.people, overlaps=overlaps)


def _tree(
    rule: LevelRule, claim: ClassClaim, values: SensitiveValues | None, support: Mapping[str, Path]
) -> Tree | None:
    if values is None or not (rule.ordered or rule.needs_tree):
        return None
    if rule.ordered and (values.is_scale or (values.in_order and claim.support is None)):
        return None
    if claim.support is None or claim.support not in support:
        raise Unjudgeable("the release has no support file with the order of its values")
    return read_tree(support[claim.support], values)

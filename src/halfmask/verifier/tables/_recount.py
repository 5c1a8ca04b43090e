"""Every claim of a release, counted again from its table."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.tables._counting import Cells, Counted, count_classes
from halfmask.verifier.tables._fitting import Bound, ClassPeople, WrittenColumn, fitting_people
from halfmask.verifier.tables._model_checks import level_rule_of, takes_several_values
from halfmask.verifier.tables._persons import Persons, count_persons
from halfmask.verifier.tables._rules import LevelRule, PeopleRule, Rule, TableRule, Unjudgeable
from halfmask.verifier.tables._subsets import worst_of_subsets
from halfmask.verifier.tables._support import Tree, read_tree
from halfmask.verifier.tables._values import Dictionary, SensitiveValues, sensitive_values
from halfmask.verifier.tables._wildcards import compatible_cells, compatible_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims._table_manifest import ClassClaim
    from halfmask.verifier.tables._people import People

__all__ = ["Finding", "Released", "recount"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """The released table, open, and what is known of its columns.

    Attributes
    ----------
    table
        All parts as one.
    dictionaries
        The different values of each column that a claim names.
    kinds
        The kind of each column.
    support
        The support files, by name.
    persons
        Whose rows they are, where that is known.
    recodings
        How each quasi-identifier is written, as the manifest states it.
    bounds
        Of which column a column is a bound, and which, for ranges in two columns.
    is_csv
        Whether the files are CSV.
    people
        The population, where it was given.
    """

    table: pl.LazyFrame
    dictionaries: Mapping[str, Dictionary]
    kinds: Mapping[str, str]
    support: Mapping[str, Path]
    persons: Persons | None = None
    recodings: Mapping[str, str | None] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    is_csv: bool = False
    people: People | None = None


@dataclass(slots=True)
class Finding:
    """What was counted for one claim, and every reason why it doesn't hold.

    Attributes
    ----------
    counted, wildcard
        The level of the worst class, and of the worst record with missing cells as wildcards; of
        the whole table where that is what has one.
    of_table
        Whether it is the level of the whole table.
    classes, rows, smallest
        As counted; ``None`` where the claim couldn't be counted.
    reasons
        Parts of a sentence; empty where the claim holds.
    unchecked
        Why the claim can't be checked from what is there; ``None`` where it can.
    """

    counted: float | None = None
    wildcard: float | None = None
    of_table: bool = False
    classes: int | None = None
    rows: int | None = None
    smallest: int | None = None
    reasons: list[str] = field(default_factory=list)
    unchecked: str | None = None


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
            known = released.dictionaries[str(name)]
            sensitive[known.name] = (
                known,
                sensitive_values(known, kind=released.kinds[known.name]),
            )
        of_persons = claims[group[0]].unit == "person"
        counted = count_classes(
            released.table,
            [released.dictionaries[name] for name in names],
            sensitive,
            of_rows=of_persons and released.persons is not None,
        )
        found = [
            task
            for i in group
            if (task := _task(findings[i], claims[i], counted, sensitive, released.support))
        ]
        tasks: list[_Task | _WholeTask | _PeopleTask] = [*found]
        of_classes = [task for task in found if isinstance(task, _Task)]
        if of_persons:
            tasks = [*_count_persons(of_classes, counted, released.persons)]
        else:
            _count(of_classes, counted)
            _count_wholes([task for task in found if isinstance(task, _WholeTask)], counted)
            about = [task for task in found if isinstance(task, _PeopleTask)]
            _count_people(about, counted, names, released)
        for task in tasks:
            _compare(task.finding, task.claim, task.rule)
    return findings


def _by_columns(claims: Sequence[ClassClaim]) -> Iterator[list[int]]:
    groups: dict[tuple[frozenset[str], str], list[int]] = {}
    for i, claim in enumerate(claims):
        groups.setdefault((frozenset(claim.quasi_identifiers), claim.unit), []).append(i)
    yield from groups.values()


@dataclass(frozen=True, slots=True)
class _Task:
    """A claim that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: LevelRule
    tree: Tree | None

    def worst(self, cells: Cells, totals: Ints) -> float:
        levels = self.rule.levels(cells, totals, self.tree)
        return float(levels.min() if self.rule.worst is min else levels.max())


@dataclass(frozen=True, slots=True)
class _WholeTask:
    """A claim about the whole table that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: TableRule


@dataclass(frozen=True, slots=True)
class _PeopleTask:
    """A claim about the population that can be counted, and where its level goes."""

    finding: Finding
    claim: ClassClaim
    rule: PeopleRule


def _task(
    finding: Finding,
    claim: ClassClaim,
    counted: Counted,
    sensitive: Mapping[str, tuple[Dictionary, SensitiveValues]],
    support: Mapping[str, Path],
) -> _Task | _WholeTask | _PeopleTask | None:
    finding.classes = len(counted.sizes)
    finding.rows = counted.rows
    finding.smallest = int(counted.sizes.min())
    values = None if claim.column is None else sensitive[claim.column][1]
    try:
        rule = level_rule_of(claim)
        if isinstance(rule, TableRule):
            return _WholeTask(finding, claim, rule)
        if isinstance(rule, PeopleRule):
            return _PeopleTask(finding, claim, rule)
        return _Task(finding, claim, rule, _tree(rule, claim, values, support))
    except (Unjudgeable, VerificationError) as reason:
        what = reason.what if isinstance(reason, VerificationError) else str(reason)
        finding.reasons.append(what.rstrip("."))
        return None


def _count(tasks: Sequence[_Task], counted: Counted) -> None:
    """Find the worst level of each claim, first with missing as a value, then as a wildcard."""
    for task in tasks:
        if task.rule.subsets is not None:
            _count_subsets(task, counted)
    tasks = [task for task in tasks if task.rule.subsets is None]
    missing = not counted.codes.all()
    # Rows can be counted by any column's cells, so k-anonymity needs no pass of its own.
    first = next((task.claim.column for task in tasks if task.claim.column is not None), None)
    by_column: dict[str | None, list[_Task]] = {}
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


def _count_subsets(task: _Task, counted: Counted) -> None:
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


def _count_wholes(tasks: Sequence[_WholeTask], counted: Counted) -> None:
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


def _count_persons(
    tasks: Sequence[_Task], counted: Counted, persons: Persons | None
) -> list[_Task]:
    """Find the worst level of each claim in persons; return the claims that could be counted."""
    if persons is None or counted.class_of_row is None:
        for task in tasks:
            _compare_rows(task.finding, task.claim)
            task.finding.unchecked = (
                "it counts persons, and whose rows they are isn't in the release"
            )
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


def _count_people(
    tasks: Sequence[_PeopleTask], counted: Counted, names: Sequence[str], released: Released
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


def _compare(finding: Finding, claim: ClassClaim, rule: Rule) -> None:
    """Compare what was counted with the guarantee and with the evidence."""
    evidence, reasons = claim.evidence, finding.reasons
    if finding.counted is None or finding.wildcard is None:
        return
    if not rule.keeps(finding.counted):
        reasons.append("the guarantee isn't kept")
    elif not rule.keeps(finding.wildcard):
        reasons.append("the guarantee isn't kept when missing cells are wildcards")
    if not rule.states_no_better(evidence.achieved, finding.counted):
        reasons.append("its evidence states a better level than was counted")
    _compare_rows(finding, claim)


def _compare_rows(finding: Finding, claim: ClassClaim) -> None:
    """Compare the classes and rows that were counted with the evidence."""
    evidence, reasons = claim.evidence, finding.reasons
    if evidence.classes != finding.classes or evidence.rows != finding.rows:
        reasons.append("its evidence states another number of classes or rows than was counted")
    if finding.smallest is not None and evidence.smallest_class > finding.smallest:
        reasons.append("its evidence states a larger smallest class than was counted")

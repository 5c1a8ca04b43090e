"""Claims that count persons: the number of each row's person, from a file outside of the release.

A release has no column of persons, so its files alone can't say which rows are of one person. The
owner keeps a Parquet file with one column, ``person``: a number for each row, in the order in which
the data files of the manifest have them. Its metadata name these files by their hashes.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.tables._counting import ClassCells, Counted, starts_of, sum_cells
from halfmask.verifier.tables._findings import ClassTask, WholeTask, compare_rows
from halfmask.verifier.tables._model_checks import takes_several_values
from halfmask.verifier.tables._wildcards import compatible_cells, in_class_order
from halfmask.verifier.tables.part import READ_ERRORS, open_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from halfmask.claims import TableManifest


Ints: TypeAlias = NDArray[np.int64]

#: The column of the file, and the key of its metadata.
COLUMN: Final = "person"
FILES_KEY: Final = "halfmask.files"
#: Classes, values and persons are one 64-bit number below this.
_PACKED: Final = 2**63


@dataclass(frozen=True, slots=True)
class Persons:
    """The number of each row's person, and the number of persons."""

    of_row: Ints
    n: int


def read_persons(path: Path, manifest: TableManifest) -> Persons:
    """Read the persons of a release's rows."""
    try:
        hashes = json.loads(pl.read_parquet_metadata(path).get(FILES_KEY, "null"))
        numbers = open_part(path, "parquet").select(COLUMN).collect()[COLUMN]
    except READ_ERRORS:
        raise VerificationError(
            "The file of persons can't be read.", hint="Give the file that protect wrote."
        ) from None
    rows = sum(each.n_rows for each in manifest.files)
    if hashes != [each.sha256 for each in manifest.files] or len(numbers) != rows:
        raise VerificationError(
            "The file of persons is of other data files than the release has.",
            hint="Give the file that was written with this release.",
        )
    if not numbers.dtype.is_integer() or numbers.null_count():
        raise VerificationError("The file of persons doesn't hold a whole number for each row.")
    known, of_row = np.unique(numbers.to_numpy(), return_inverse=True)
    return Persons(of_row.astype(np.int64), len(known))


@dataclass(frozen=True, slots=True)
class PersonCells:
    """The persons of each class, for one sensitive column or for none."""

    pairs: ClassCells
    codes: Ints
    n_persons: int

    @property
    def several_values(self) -> int:
        """How many persons have more than one value."""
        known = _distinct(self.pairs.values)
        of_person = np.bincount(known % self.n_persons)
        return int(np.count_nonzero(of_person > 1))

    @property
    def cells(self) -> ClassCells:
        """How many persons of each class have each value."""
        return self._by_value(self.pairs)

    def compatible(self) -> Iterator[ClassCells]:
        """Yield the same for all rows that are compatible with each class.

        A person who has rows in several of them counts once.
        """
        sizes = np.ones(len(self.codes), dtype=np.int64)
        counted = Counted(sizes, {COLUMN: self.pairs}, self.codes)
        yield from map(self._by_value, compatible_cells(counted, COLUMN))

    def compatible_sizes(self) -> Ints:
        """Return the persons of all rows that are compatible with each class, in their order."""
        counted = Counted(np.ones(len(self.codes), dtype=np.int64), {}, self.codes)
        return in_class_order(counted, np.concatenate([each.sizes for each in self.compatible()]))

    def _by_value(self, pairs: ClassCells) -> ClassCells:
        owners = pairs.owners
        values, persons = np.divmod(pairs.values, self.n_persons)
        ones = np.ones(len(values), dtype=np.int64)
        found = sum_cells(owners, values, ones, int(values.max()) + 1)
        different = _distinct(owners * self.n_persons + persons)
        sizes = np.bincount(different // self.n_persons, minlength=len(pairs.starts) - 1)
        return ClassCells(found.starts, found.values, found.counts, sizes.astype(np.int64))


def count_persons(
    class_of_row: Ints, value_of_row: Ints | None, persons: Persons, codes: Ints
) -> PersonCells:
    """Count the persons of each class, and their values of a sensitive column."""
    values = np.zeros_like(class_of_row) if value_of_row is None else value_of_row
    pairs = values * persons.n + persons.of_row
    span = int(pairs.max()) + 1
    if span * len(codes) < _PACKED:
        owners, pairs = np.divmod(_distinct(class_of_row * span + pairs), span)
    else:
        order = np.lexsort((pairs, class_of_row))
        classes, pairs = class_of_row[order], pairs[order]
        new = (classes[1:] != classes[:-1]) | (pairs[1:] != pairs[:-1])
        first = np.flatnonzero(np.concatenate(([True], new)))
        owners, pairs = classes[first], pairs[first]
    cells = ClassCells(starts_of(owners), pairs, np.ones(len(pairs), dtype=np.int64))
    return PersonCells(cells, codes, persons.n)


def smallest_classes(found: PersonCells, sizes: Ints) -> Ints:
    """Return for each person the smallest of the sizes of their classes."""
    smallest = np.full(found.n_persons, np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(smallest, found.pairs.values, sizes[found.pairs.owners])
    return smallest


def _distinct(numbers: Ints) -> Ints:
    """Return the different numbers, ascending: of millions, sorting beats hashing."""
    ascending = np.sort(numbers)
    new: NDArray[np.bool_] = np.diff(ascending, prepend=ascending[:1] - 1) != 0
    return ascending[new]


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

"""Grouping: the classes of the released table, and how often each value occurs in each.

The rows become one integer key each, exact and not hashed, and are counted by sorting the keys:
of ten million rows with nine text columns, polars' own ``group_by`` over the texts needed 4 GB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from halfmask.verifier.tables.part import Dictionary, SensitiveValues


Ints: TypeAlias = NDArray[np.int64]

#: Keys stay below this.
KEY_LIMIT: Final = 2**62


def pack(spans: Sequence[int]) -> list[list[int]]:
    """Share columns out to words: the product of the spans in each stays in bounds.

    Examples
    --------
    >>> pack([2**40, 2**20, 2**10])
    [[0, 1], [2]]
    """
    packing: list[list[int]] = [[]]
    room = KEY_LIMIT
    for i, span in enumerate(spans):
        if span > room:
            packing.append([])
            room = KEY_LIMIT
        packing[-1].append(i)
        room //= span
    return packing


@dataclass(frozen=True, slots=True)
class RowKeys:
    """The key of each row, and the way back to the words that it was made from."""

    keys: Ints
    span: int
    steps: tuple[tuple[Ints, Ints | None], ...] = ()

    @classmethod
    def of(cls, words: Sequence[Ints], spans: Sequence[int]) -> Self:
        """Join words, each below its span, into one key."""
        joined = cls(words[0], spans[0])
        for word in words[1:]:
            left, left_of = np.unique(joined.keys, return_inverse=True)
            right, right_of = np.unique(word, return_inverse=True)
            span = len(left) * len(right)  # at most the square of the rows
            keys = left_of * len(right) + right_of
            joined = cls(keys, span, (*joined.steps, (left, right)))
        return joined

    def with_room_for(self, n: int) -> RowKeys:
        """Return keys that may be multiplied by ``n``, numbered again where they are too large."""
        if self.span <= KEY_LIMIT // max(n, 1):
            return self
        distinct, keys = np.unique(self.keys, return_inverse=True)
        return RowKeys(keys, len(distinct), (*self.steps, (distinct, None)))

    def words_of(self, keys: Ints) -> list[Ints]:
        """Return the words that these keys were made from."""
        words: list[Ints] = []
        for left, right in reversed(self.steps):
            if right is None:
                keys = left[keys]
            else:
                words.append(right[keys % len(right)])
                keys = left[keys // len(right)]
        return [keys, *reversed(words)]


@dataclass(frozen=True, slots=True)
class ClassCells:
    """How often each value occurs in each class: the counts that aren't 0."""

    starts: Ints
    values: Ints
    counts: Ints
    persons: Ints | None = None

    @property
    def sizes(self) -> Ints:
        """The rows of each class; its persons where counts are of persons."""
        if self.persons is not None:
            return self.persons
        return np.add.reduceat(self.counts, self.starts[:-1])

    @property
    def owners(self) -> Ints:
        """The class of each cell."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class Counted:
    """The classes of the table."""

    sizes: Ints
    cells: Mapping[str, ClassCells]
    codes: Ints
    class_of_row: Ints | None = None
    values_of_rows: Mapping[str, Ints] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The rows of all classes."""
        return int(self.sizes.sum())

    @property
    def row_cells(self) -> ClassCells:
        """The rows of each class as if all had one value: what k-anonymity counts."""
        n = len(self.sizes)
        return ClassCells(np.arange(n + 1), np.zeros(n, dtype=np.int64), self.sizes)


def count_classes(
    table: pl.LazyFrame,
    quasi_identifiers: Sequence[Dictionary],
    sensitive: Mapping[str, tuple[Dictionary, SensitiveValues]],
    *,
    of_rows: bool = False,
) -> Counted:
    """Group a table with rows by its quasi-identifiers and count the values of each class.

    Notes
    -----
    **Guarantees.** Two rows share a class if and only if every quasi-identifier cell is the same
    in the file, missing being the same as missing.
    """
    spans = [each.n_codes for each in quasi_identifiers]
    packing = pack(spans)
    columns = [each.codes() for each in quasi_identifiers]
    words = [_word(columns, packed, spans).alias(f"word {i}") for i, packed in enumerate(packing)]
    asked = [known.codes().alias(f"value {i}") for i, (known, _) in enumerate(sensitive.values())]
    rows = table.select(*words, *asked).collect(engine="streaming")
    keys = RowKeys.of(
        [rows[f"word {i}"].to_numpy() for i in range(len(words))],
        [math.prod(spans[i] for i in packed) for packed in packing],
    )
    cells, values_of_rows = {}, {}
    for i, (name, (_, values)) in enumerate(sensitive.items()):
        keys = keys.with_room_for(values.n_values)
        of_row = values.value_of_code[rows[f"value {i}"].to_numpy()]
        cells[name] = _cells(keys.keys * values.n_values + of_row, values.n_values)
        if of_rows:
            values_of_rows[name] = of_row
    del rows
    classes, sizes = _run_lengths(keys.keys)
    codes = _codes(keys.words_of(classes), packing, spans)
    if not of_rows:
        return Counted(sizes, cells, codes)
    return Counted(sizes, cells, codes, np.searchsorted(classes, keys.keys), values_of_rows)


def merge_counted(spans: Sequence[int], left: Counted, right: Counted) -> Counted:
    """Add up the classes of some rows and of others.

    Notes
    -----
    **Guarantees.** The classes, their order and all counts are those of the rows together.
    """
    packing = pack(spans)
    codes = np.concatenate((left.codes, right.codes))
    keys = RowKeys.of(
        [_packed(codes, packed, spans) for packed in packing],
        [math.prod(spans[i] for i in packed) for packed in packing],
    ).keys
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, owner, np.concatenate((left.sizes, right.sizes)))
    cells = {
        name: _merged_cells(mine, right.cells[name], owner) for name, mine in left.cells.items()
    }
    return Counted(sizes, cells, codes[first])


def _merged_cells(left: ClassCells, right: ClassCells, owner: Ints) -> ClassCells:
    """Add up the cells of two tables whose classes belong to classes of both."""
    values = np.concatenate((left.values, right.values))
    owners = owner[np.concatenate((left.owners, right.owners + len(left.starts) - 1))]
    counts = np.concatenate((left.counts, right.counts))
    return sum_cells(owners, values, counts, int(values.max()) + 1)


def _packed(codes: Ints, packed: Sequence[int], spans: Sequence[int]) -> Ints:
    """Write the codes of some columns as the digits of one number; see `_word`."""
    word = codes[:, packed[0]]
    for i in packed[1:]:
        word = word * spans[i] + codes[:, i]
    return word


def _word(columns: Sequence[pl.Expr], packed: Sequence[int], spans: Sequence[int]) -> pl.Expr:
    """Write the codes of some columns as the digits of one number."""
    word = columns[packed[0]]
    for i in packed[1:]:
        word = word * spans[i] + columns[i]
    return word


def _codes(words: Sequence[Ints], packing: Sequence[Sequence[int]], spans: Sequence[int]) -> Ints:
    """Read the digits back: the code of each class in each column."""
    codes = np.empty((len(words[0]), len(spans)), dtype=np.int64)
    for word, packed in zip(words, packing, strict=True):
        rest = word
        for i in reversed(packed):
            rest, codes[:, i] = np.divmod(rest, spans[i])
    return codes


def _run_lengths(keys: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, ascending, and how often each occurs."""
    ordered = np.sort(keys)
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[first], np.diff(first, append=len(ordered))


def _cells(keys: Ints, n_values: int) -> ClassCells:
    """Count the keys of class and value."""
    distinct, counts = _run_lengths(keys)
    owners, values = np.divmod(distinct, n_values)
    return ClassCells(starts_of(owners), values, counts)


def starts_of(owners: Ints) -> Ints:
    """Return where each run of equal owners begins, and the end of the last."""
    first = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return np.append(first, len(owners))


def sum_cells(owners: Ints, values: Ints, counts: Ints, n_values: int) -> ClassCells:
    """Add up the counts of the same owner and value; every owner from 0 on has one at least."""
    keys = owners * n_values + values
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    owners, values = np.divmod(keys[first], n_values)
    return ClassCells(starts_of(owners), values, np.add.reduceat(counts[order], first))

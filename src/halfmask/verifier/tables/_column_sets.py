"""Rows that few others equal on sets of released columns, counted again from the files.

Each column becomes exact codes, and the codes of a row one exact key for each set. Rows that are
unique on some columns are unique on more of them, and are put aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.verifier._result import ColumnSetCheck
from halfmask.verifier.tables._counting import KEY_LIMIT
from halfmask.verifier.tables._model_checks import rows_asked

if TYPE_CHECKING:
    from halfmask.claims import TableManifest
    from halfmask.claims.table_claims import StatedSets

Ints: TypeAlias = NDArray[np.int64]

#: Whole numbers within such a range are their own codes.
DENSE_RANGE = 1 << 31
#: Keys are renumbered if their span is more than this many times the number of rows.
SPARSE = 64
#: By how much of the rows an estimate may be below what is counted.
ESTIMATE_MARGIN = 0.02
#: So many cells are read at once, or one column.
CELLS_AT_ONCE = 1 << 22


def check_sets(
    table: pl.LazyFrame, dtypes: Mapping[str, pl.DataType], stated: StatedSets
) -> tuple[ColumnSetCheck, ...]:
    """Count every set of columns that the manifest states, all of them in the table."""
    counted = count_sets(table, dtypes, [each.columns for each in stated.all_sets], stated.k)
    rows = table.select(pl.len()).collect(engine="streaming").item()
    margin = 0 if stated.exact else ESTIMATE_MARGIN * rows
    return tuple(
        ColumnSetCheck(
            columns=each.columns,
            k=stated.k,
            stated_unique=each.unique,
            stated_under_k=each.under_k,
            unique=unique,
            under_k=under,
            holds=unique <= each.unique + margin and under <= each.under_k + margin,
        )
        for each, (unique, under) in zip(stated.all_sets, counted, strict=True)
    )


def misnamed_sets(stated: StatedSets, manifest: TableManifest) -> list[str]:
    """Say where the sets aren't those of the columns that the manifest states, or of its k."""
    problems = []
    released = {each.name for each in manifest.columns}
    unchanged = {each.name for each in manifest.columns if each.recoding is None}
    # What a mask wrote may be known of somebody or not: the verifier can't tell, and takes both.
    # Quasi-identifiers are known, masked or not.
    masked = {each.name for each in manifest.columns if each.mask and each.recoding is None}
    whole = set() if stated.unchanged is None else set(stated.unchanged.columns)
    every = set(stated.every.columns)
    if not released - masked <= every <= released or not unchanged - masked <= whole <= unchanged:
        problems.append("The manifest states unique rows over other columns than are released.")
    if any(not each.columns or not set(each.columns) <= unchanged for each in stated.few):
        problems.append("The manifest states unique rows over columns that aren't unchanged.")
    asked = max((rows_asked(claim) for claim in manifest.claims), default=1)
    if asked > stated.k:
        problems.append(
            f"The manifest counts rows in classes under k = {stated.k}, and claims k = {asked}: "
            "the class_size of a model is less than its k."
        )
    return problems


def count_sets(
    table: pl.LazyFrame,
    dtypes: Mapping[str, pl.DataType],
    sets: Sequence[Sequence[str]],
    k: int,
) -> list[tuple[int, int]]:
    """Return for each set of columns how many rows are unique, and in classes under k.

    Sets that have the same columns so far share their keys. Many columns are read at once: each
    read of a text file parses all of it.
    """
    columns = list(dict.fromkeys(name for names in reversed(sets) for name in names))
    members = [frozenset(names) for names in sets]
    groups = [(tuple(range(len(sets))), _Keys())]
    begin, step = 0, 1
    while begin < len(columns) and not all(keys.all_unique for _, keys in groups):
        asked = {i for own, keys in groups if not keys.all_unique for i in own}
        part = columns[begin : begin + step]
        begin += step
        wanted = [name for name in part if any(name in members[i] for i in asked)]
        if not wanted:
            continue
        cells = table.select(wanted).collect(engine="streaming")
        step = max(1, CELLS_AT_ONCE // max(1, cells.height))
        for name in wanted:
            groups = list(_split(groups, members, name, *_codes(cells[name], dtypes[name])))
    found = {i: keys.rare(k) for own, keys in groups for i in own}
    return [found[i] for i in range(len(sets))]


def _split(
    groups: Iterable[tuple[tuple[int, ...], _Keys]],
    members: Sequence[frozenset[str]],
    name: str,
    codes: Ints,
    span: int,
) -> Iterator[tuple[tuple[int, ...], _Keys]]:
    """Yield the sets of each group that have a column with keys joined to it, and the others."""
    for own, keys in groups:
        having = tuple(i for i in own if name in members[i])
        if having:
            yield having, keys.joined(codes, span)
        if len(having) < len(own):
            yield tuple(i for i in own if i not in having), keys


@dataclass(frozen=True, slots=True)
class _Keys:
    """The exact keys of the rows that aren't known to be unique yet."""

    keys: Ints | None = None
    span: int = 1
    rows: Ints | None = None
    unique: int = 0

    @property
    def all_unique(self) -> bool:
        """Whether every row was put aside."""
        return self.rows is not None and not len(self.rows)

    def joined(self, codes: Ints, span: int) -> _Keys:
        """Tell the rows apart by one more column, too."""
        if self.keys is None:
            return _Keys(codes, span).shortened()
        if self.all_unique:
            return self
        fitting = self if self.span <= KEY_LIMIT // span else self.renumbered()
        kept = codes if fitting.rows is None else codes[fitting.rows]
        keys = fitting.known * span + kept
        return replace(fitting, keys=keys, span=fitting.span * span).shortened()

    @property
    def known(self) -> Ints:
        """The keys, once there are some."""
        return np.empty(0, dtype=np.int64) if self.keys is None else self.keys

    def shortened(self) -> _Keys:
        """Return them renumbered where so many keys are possible that most rows may be unique."""
        return self.renumbered() if self.span > SPARSE * len(self.known) else self

    def renumbered(self) -> _Keys:
        """Return keys numbered from 0, and put rows aside whose key no other row has."""
        found, inverse, sizes = np.unique(self.known, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(sizes[inverse] > 1)
        rows = shared if self.rows is None else self.rows[shared]
        unique = self.unique + len(inverse) - len(shared)
        return _Keys(inverse[shared].astype(np.int64), max(len(found), 1), rows, unique)

    def rare(self, k: int) -> tuple[int, int]:
        """Return the unique rows, and those in classes under k."""
        ordered = np.sort(self.known)
        if not len(ordered):
            return self.unique, self.unique
        first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        sizes = np.diff(first, append=len(ordered))
        unique = int(np.count_nonzero(sizes == 1))
        return self.unique + unique, self.unique + int(sizes[sizes < k].sum())


def _codes(cells: pl.Series, dtype: pl.DataType) -> tuple[Ints, int]:
    """Return a code for each cell, 0 for missing, and the number that all codes are below.

    Floating-point cells are taken by their bits: 0.0 and -0.0 differ in the file.
    """
    if dtype.is_float():
        cells = cells.cast(pl.Float64).reinterpret(dtype=pl.Int64)
    elif dtype.is_temporal():
        cells = cells.to_physical()
    elif dtype == pl.Boolean:
        cells = cells.cast(pl.Int8)
    if cells.dtype.is_integer() and cells.dtype not in (pl.Int128, pl.UInt64):
        return _number_codes(cells.cast(pl.Int64))
    if dtype == pl.Binary:
        cells = cells.bin.encode("hex")
    texts = cells.cast(pl.String)
    known = texts.unique().drop_nulls()
    codes = texts.cast(pl.Enum(known)).to_physical().cast(pl.Int64) + 1
    return codes.fill_null(0).to_numpy(), len(known) + 1


def _number_codes(cells: pl.Series) -> tuple[Ints, int]:
    known = cells.drop_nulls()
    if not len(known):
        return np.zeros(len(cells), dtype=np.int64), 1
    low, high = int(known.min()), int(known.max())  # type: ignore[arg-type] # of whole numbers
    if high - low < DENSE_RANGE:
        return (cells - low + 1).fill_null(0).to_numpy(), high - low + 2
    different, inverse = np.unique(known.to_numpy(), return_inverse=True)
    codes = np.zeros(len(cells), dtype=np.int64)
    codes[cells.is_not_null().to_numpy()] = inverse + 1
    return codes, len(different) + 1

"""Candidates: the values of a secret that a person may have, by each release and by all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask.assess.attacks._reading import common_type, spelt
from halfmask.assess.attacks.classes._disclosure import class_numbers
from halfmask.assess.attacks.tables._links import PAIRS_PER_BLOCK, Comparison, nearest
from halfmask.assess.attacks.tables._matching import match

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.assess.attacks.tables._matching import Matched

#: A sparse matrix of scipy, which has no types.
Sparse: TypeAlias = Any


def released_with(target: TableTarget, secret: str) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Return the releases, and their original rows, that have a secret unchanged.

    Unchanged means that some value of the rows is there: a range of values is nobody's value.
    """
    found = []
    for released, rows in (*target.earlier, (target.released, target.original)):
        types = [each.schema.get(secret) for each in (released, rows)]
        if not any(dtype is None or dtype.is_nested() for dtype in types):
            dtype = common_type(released.schema[secret], rows.schema[secret])
            values, own = (spelt(each[secret], dtype).drop_nulls() for each in (released, rows))
            if values.is_in(own.unique().to_list()).any():
                found.append((released, rows))
    return found


def number_people(tables: Sequence[pl.DataFrame], person: str | None) -> list[Ints]:
    """Return the number of the person of each row, the same in all tables.

    Without a column of the person, people are found by all columns that the tables have: the first
    of equal rows is the first in each of them.
    """
    schema = tables[-1].schema
    columns = [person] if person else [n for n in schema if not schema[n].is_nested()]
    names = [name for name in columns if all(name in each.columns for each in tables)]
    places = [str(place) for place in range(len(names))]  # columns have any names
    types = {
        name: _common_type([each.schema[name] for each in tables], schema[name]) for name in names
    }
    keyed = pl.concat(
        [
            pl.DataFrame(
                {at: spelt(rows[n], types[n]) for at, n in zip(places, names, strict=True)}
            ).with_columns(twin=0 if person else pl.int_range(pl.len()).over(places or [pl.lit(0)]))
            for rows in tables
        ]
    )
    first = class_numbers(keyed, [*places, "twin"]).to_numpy()
    codes = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return np.split(codes, np.cumsum([each.height for each in tables])[:-1])


def _common_type(released: Sequence[pl.DataType], dtype: pl.DataType) -> pl.DataType:
    for each in released:
        dtype = common_type(each, dtype)
    return dtype


def number_values(columns: Sequence[pl.Series]) -> tuple[list[Ints], int]:
    """Return the values of a secret as numbers, the same in all columns; missing is one of them."""
    dtype = _common_type([each.dtype for each in columns], columns[-1].dtype)
    texts = pl.concat([spelt(each, dtype).alias("") for each in columns])
    codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum([len(each) for each in columns])[:-1]
    return np.split(codes, ends), int(codes.max(initial=0)) + 1


def link_classes(
    target: TableTarget, released: pl.DataFrame, known: pl.DataFrame
) -> tuple[Sparse, Ints]:
    """Return which classes may be those of known rows (rows, classes), and each released row's.

    All whose cells may stand for what is known, with as few cells as possible that say nothing.
    Where there is none, as with middles of classes, the nearest.
    """
    from scipy import sparse  # noqa: PLC0415 # scipy loads late

    names = [n for n in target.quasi_identifiers if {n} <= {*released.columns} & {*known.columns}]
    first, of_row = np.unique(class_numbers(released, names).to_numpy(), return_inverse=True)
    trees = target.hierarchies or {}
    columns = [
        match(name, released[name].gather(first), [known[name]], trees.get(name)) for name in names
    ]
    values = {column.name: column.known(known[column.name]) for column in columns}
    step = max(1, PAIRS_PER_BLOCK // max(1, len(first)))
    blocks = [sparse.csr_array((0, len(first)), dtype=np.bool_)]
    for start in range(0, known.height, step):
        some = {name: each[start : start + step] for name, each in values.items()}
        shape = min(step, known.height - start), len(first)
        blocks.append(sparse.csr_array(_fitting(columns, some, shape)))
    return sparse.vstack(blocks, format="csr").astype(np.int64), of_row


def _fitting(columns: list[Matched], known: Mapping[str, Floats], shape: tuple[int, int]) -> Bools:
    fits, general = np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int16)
    for column in columns:
        different, which = np.unique(known[column.name], return_inverse=True)
        fits &= _may_stand_for(column, different)[which]
        general += (~np.isnan(different)[:, None] & column.cells.silent)[which]
    general[~fits] = len(columns) + 1
    fits &= general == general.min(axis=1, keepdims=True, initial=len(columns) + 1)
    lost = np.flatnonzero(~fits.any(axis=1))
    if len(lost) and shape[1]:
        their = {name: each[lost] for name, each in known.items()}
        for some, distances in Comparison(columns=tuple(columns)).blocks(their):
            fits[lost[some]] = nearest(distances)
    return fits


def _may_stand_for(column: Matched, values: Floats) -> Bools:
    """Return for each known value which cells may stand for it: exactly, without a tolerance."""
    cells, missing = column.cells, np.isnan(values)
    if column.is_number:
        fits = (cells.low <= values[:, None]) & (values[:, None] <= cells.high)
    else:
        codes = np.where(missing, 0, values).astype(np.int64)
        fits = (cells.codes == codes[:, None]) | (cells.codes == -1)
        in_set = np.flatnonzero(cells.codes <= -2)
        fits[:, in_set] = cells.sets[-2 - cells.codes[in_set]][:, codes].T
    fits[missing] = cells.admits
    return np.asarray(fits)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Candidates:
    """The values of a secret that people may have by each release and by all, and their own.

    Each is a sparse matrix: people by values. `frequent` are the values that were released, the
    most frequent first, and `n_values` is how many different ones the original rows have.
    """

    alone: list[Sparse]
    joint: Sparse
    truth: Sparse
    frequent: Ints
    n_values: int

    def __getitem__(self, some: slice) -> Candidates:
        alone = [each[some] for each in self.alone]
        return replace(self, alone=alone, joint=self.joint[some], truth=self.truth[some])

    def is_exposed(self, most: int, by: Sparse | None = None, shift: int = 0) -> Bools:
        """Return whose value is among so many candidates at most, by a release or by all.

        With a shift it is the value of another person.
        """
        by = self.joint if by is None else by
        n = by.shape[0]
        own = by.multiply(self.truth[(np.arange(n) + shift) % max(1, n)]).sum(axis=1) > 0
        return np.asarray(own & (np.diff(by.indptr) <= most))

    def is_frequent(self, most: int) -> Bools:
        """Return who has so many candidates at most, and one of as many frequent values."""
        own = self.truth[:, self.frequent[:most]].sum(axis=1) > 0
        n = np.diff(self.joint.indptr)
        return np.asarray(own & (n >= 1) & (n <= most))


def find_candidates(
    target: TableTarget, secret: str, people: Ints, others: pl.DataFrame | None
) -> Candidates:
    """Look up people by their numbers in each release that has them, and then others in all."""
    releases = released_with(target, secret)
    tables = [rows for _, rows in releases]
    m = 0 if others is None else others.height
    columns = [each[secret] for pair in releases for each in pair]
    if others is not None:
        columns.insert(0, others[secret])
    values, n_values = number_values(columns)
    of_others = values.pop(0) if others is not None else np.empty(0, dtype=np.int64)
    numbers = number_people(tables, target.person)
    place = np.full(1 + max(int(each.max(initial=-1)) for each in numbers), -1, dtype=np.int64)
    place[people] = np.arange(len(people))
    shape = len(people) + m, n_values
    alone, truth = [], mark(np.arange(m) + len(people), of_others, shape)
    for at, (released, rows) in enumerate(releases):
        some = np.flatnonzero(place[numbers[at]] >= 0)
        known, whose = rows[some], place[numbers[at][some]]
        truth = truth + mark(whose, values[2 * at + 1][some], shape)
        if others is not None:
            names = [name for name in target.quasi_identifiers if name in rows.columns]
            known = pl.concat([known[names], _in_types_of(rows[names], others)])
            whose = np.concatenate([whose, np.arange(m) + len(people)])
        links, of_row = link_classes(target, released, known)
        held = mark(of_row, values[2 * at], (links.shape[1], n_values))
        mine = mark(whose, np.arange(len(whose)), (shape[0], len(whose)))
        alone.append(mine @ (links @ held))
    counts = np.bincount(np.concatenate(values[::2]), minlength=n_values)
    frequent = np.argsort(-counts, kind="stable").astype(np.int64)
    return Candidates(
        alone=alone,
        joint=intersect(alone),
        truth=truth,
        frequent=frequent,
        n_values=len(np.unique(np.concatenate(values[1::2]))),
    )


def _in_types_of(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the same columns of others in the types of rows; refused where values get lost."""
    found = pl.DataFrame([others[it.name].cast(it.dtype, strict=False) for it in rows])
    lost = [it.name for it in found if it.null_count() > others[it.name].null_count()]
    if lost:
        raise SchemaError(f"Columns {lost} of the control table have values of another type.")
    return found


def mark(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Sparse:
    """Return how often each pair of numbers is there, as a sparse matrix."""
    from scipy import sparse  # noqa: PLC0415 # scipy loads late

    return sparse.csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)


def intersect(candidates: Sequence[Sparse]) -> Sparse:
    """Return the candidates by all releases; one that says nothing of a person is left out."""
    for each in candidates:
        each.data[:] = 1
    telling = sum((np.diff(each.indptr) > 0).astype(np.int64) for each in candidates)
    joint = sum(candidates[1:], candidates[0].copy()).tocsr()
    # A value that each of these releases names has been counted once by each.
    rows = np.repeat(np.arange(joint.shape[0]), np.diff(joint.indptr))
    joint.data = (joint.data == telling[rows]).astype(np.int64)
    joint.eliminate_zeros()
    return joint

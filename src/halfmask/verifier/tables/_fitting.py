"""A population that the verifier is given: how many of its people fit each class of a release."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import ColumnNotFoundError, VerificationError
from halfmask.verifier.tables._labels import bound_fits, node_fits, value_fits
from halfmask.verifier.tables._support import read_rows
from halfmask.verifier.tables.part import READ_ERRORS, exact_texts, label_of, open_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.verifier.checks import HierarchyFiles
    from halfmask.verifier.tables._counting import Counted
    from halfmask.verifier.tables.part import Dictionary


FORMATS: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".jsonl": "jsonl",
}


@dataclass(frozen=True, slots=True)
class People:
    """A population, and the hierarchies in whose nodes it is written."""

    table: pl.DataFrame
    hierarchies: HierarchyFiles

    def __repr__(self) -> str:
        return f"People({self.table.height} rows)"

    def tree(self, column: str) -> dict[str, list[str]] | None:
        """Return the labels of each leaf of a column, its own first; None without a hierarchy."""
        given = self._given(column)
        if given is None:
            return None
        rows = (
            [list(row) for row in given.rows()]
            if isinstance(given, pl.DataFrame)
            else (read_rows(Path(str(given))))
        )
        if len({len(row) for row in rows}) > 1:
            raise VerificationError("A hierarchy of the population has rows of different length.")
        # Where a file has no single root, halfmask writes "*" for all.
        root = [] if len({row[-1] for row in rows}) == 1 else ["*"]
        return {str(row[0]): [*map(str, row), *root] for row in rows}

    def _given(self, column: str) -> object:
        if isinstance(self.hierarchies, Mapping):
            return self.hierarchies.get(column)
        path = Path(self.hierarchies) / f"{column.replace('/', '%2F')}.csv"
        return path if path.is_file() else None


def open_people(
    population: object, hierarchies: HierarchyFiles | None, columns: Sequence[str]
) -> People:
    """Read a population."""
    try:
        table = open_given(population, what="population")
        known = table.collect_schema().names()
        absent = [name for name in columns if name not in known]
        if absent:
            raise ColumnNotFoundError.of(absent, known, where="the population")
        people = table.select(pl.col(list(columns))).collect(engine="streaming")
    except READ_ERRORS as error:
        if isinstance(error, VerificationError | ColumnNotFoundError):
            raise
        raise VerificationError("The population can't be read as a table.") from None
    if not people.height:
        raise VerificationError("The population has no rows.")
    return People(people, {} if hierarchies is None else hierarchies)


def open_given(given: object, *, what: str) -> pl.LazyFrame:
    """Open a table that a release doesn't hold."""
    if isinstance(given, pl.LazyFrame | pl.DataFrame):
        return given.lazy()
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        fmt = FORMATS.get(path.suffix.lower())
        if fmt is None or not path.is_file():
            raise VerificationError(
                f"The {what} isn't a plain file of a known format.",
                hint=f"Its name must end in one of {', '.join(FORMATS)}.",
            )
        return open_part(path, fmt)
    if hasattr(given, "__arrow_c_stream__"):
        return pl.DataFrame(given).lazy()
    raise VerificationError(f"The {what} must be a frame or a path. Got {type(given).__name__}.")


Ints: TypeAlias = NDArray[np.int64]

#: A cell that a spreadsheet would run as a formula, with the apostrophe that CSV files have.
GUARDED: Final = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
#: Bits that are held at once.
BLOCK_BITS: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class Bound:
    """One of the two columns of a range."""

    column: str
    is_least: bool


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A quasi-identifier as the release has it."""

    dictionary: Dictionary
    kind: str
    recoding: str | None
    is_csv: bool
    bound: Bound | None = None

    @property
    def name(self) -> str:
        """The column of the population that it is about."""
        return self.dictionary.name if self.bound is None else self.bound.column


@dataclass(frozen=True, slots=True)
class ClassPeople:
    """The people who fit each class."""

    sizes: Ints
    people: Ints
    shared: Ints
    outside: int
    n_people: int


def fitting_people(
    counted: Counted, written: Sequence[WrittenColumn], people: People, *, overlaps: bool = True
) -> ClassPeople:
    """Count the people who fit each class.

    Notes
    -----
    **Guarantees.** A person fits a class if each of their values lies in the range, is a member of
    the set, has the node above it, or is missing where the label says so. Every person is held
    against every class: nothing is known here of cells or cuts.

    **Cost.** Classes times people times quasi-identifiers, by 64 people at once.
    """
    n_people, n_classes = people.table.height, len(counted.sizes)
    columns = [_Labelled.of(each, people) for each in written]
    fitting, shared = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    classes_over = np.zeros(n_people, dtype=np.int64)
    labels = sum(len(column.fits) for column in columns)
    step = max(64, BLOCK_BITS // 8 // max(1, labels) // 64 * 64)
    blocks = [(begin, min(begin + step, n_people)) for begin in range(0, n_people, step)]
    for begin, end in blocks:
        bits = [column.bits(begin, end) for column in columns]
        for chosen, both in _together(counted.codes, bits):
            fitting[chosen] += np.bitwise_count(both).sum(axis=1, dtype=np.int64)
            if overlaps:
                each = np.unpackbits(both.view(np.uint8), axis=1, bitorder="little")
                classes_over[begin:end] += each.sum(axis=0, dtype=np.int64)[: end - begin]
    if (classes_over > 1).any():
        for begin, end in blocks:
            bits = [column.bits(begin, end) for column in columns]
            several = _packed((classes_over[begin:end] > 1)[None, :])
            for chosen, both in _together(counted.codes, bits):
                shared[chosen] += np.bitwise_count(both & several).sum(axis=1, dtype=np.int64)
    outside = int((classes_over == 0).sum()) if overlaps else 0
    return ClassPeople(counted.sizes, fitting, shared, outside, n_people)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Which values fit each label, and the value of each person; the first is missing."""

    fits: NDArray[np.bool_]
    values: NDArray[np.int64]

    @classmethod
    def of(cls, written: WrittenColumn, people: People) -> _Labelled:
        name = written.name
        series = people.table[name]
        spelt = _spelt(series)
        different = spelt.drop_nulls().unique().sort()
        codes = spelt.cast(pl.Enum(different)).to_physical().cast(pl.Int64) + 1
        labels = _labels(written)
        values = different.to_list()
        try:
            fits = _fits(written, labels, values, people, is_number=series.dtype.is_numeric())
        except VerificationError as error:
            why = f"{error.what[0].lower()}{error.what[1:]}"
            raise VerificationError(f"Column {name!r}: {why}") from None
        return cls(fits, codes.fill_null(0).to_numpy())

    def bits(self, begin: int, end: int) -> NDArray[np.uint64]:
        """Return which people of a block fit each label, (labels, words)."""
        return _packed(self.fits[:, self.values[begin:end]])


def _labels(written: WrittenColumn) -> list[str]:
    labels: list[str] = written.dictionary.texts.to_list()
    if written.dictionary.dtype != pl.String:
        return [label_of(label, written.dictionary.dtype) for label in labels]
    if not written.is_csv:
        return labels
    return [label[1:] if GUARDED.match(label) else label for label in labels]


def _fits(
    written: WrittenColumn,
    labels: Sequence[str],
    values: Sequence[str],
    people: People,
    *,
    is_number: bool,
) -> NDArray[np.bool_]:
    if written.bound is not None:
        return bound_fits(labels, values, is_least=written.bound.is_least)
    if written.recoding == "ranges":
        is_scale = written.kind in {"numeric", "datetime"}
        return value_fits(labels, values, is_number=is_number, is_scale=is_scale)
    if written.recoding != "level":
        raise VerificationError("It isn't written as ranges, sets or nodes of a hierarchy.")
    tree: Mapping[str, Sequence[str]] | None = people.tree(written.name)
    if tree is None:
        raise VerificationError("Nodes are written, and the population's hierarchy isn't given.")
    return node_fits(labels, values, tree)


def _spelt(series: pl.Series) -> pl.Series:
    """Return values as labels spell them: whole floats without ``.0``, the rest as polars does."""
    if not series.dtype.is_float():
        return exact_texts(series)
    whole = (series == series.floor()) & (series.abs() < 2**53)
    plain = series.set(~whole.fill_null(value=False), None).cast(pl.Int64).cast(pl.String)
    return plain.zip_with(plain.is_not_null(), series.cast(pl.String))


def _packed(fits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of truth values as words of 64."""
    rows, width = fits.shape
    padded = np.zeros((rows, -(-width // 64) * 8), dtype=np.uint8)
    packed = np.packbits(fits, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def _together(
    codes: Ints, bits: Sequence[NDArray[np.uint64]]
) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
    """Yield, for some classes at a time, the people who fit all of their labels."""
    words = bits[0].shape[1]
    step = max(1, BLOCK_BITS // 64 // 8 // max(1, words))
    for begin in range(0, len(codes), step):
        chosen = slice(begin, begin + step)
        both = bits[0][codes[chosen, 0]]
        for column in range(1, len(bits)):
            both &= bits[column][codes[chosen, column]]
        yield chosen, both

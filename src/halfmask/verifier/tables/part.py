"""One data file of a release, opened with no more than is asked for, and the values of its columns.

Values become small integers: which cells are equal, and in which order they are.
"""

from __future__ import annotations

import csv
import json
import math
import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


Ints: TypeAlias = NDArray[np.int64]


#: All that reading an untrusted file can end in. A panic of the reader is no bug of
#: the verifier: the file is not what it says it is.
READ_ERRORS: Final = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    RecursionError,
)

#: CSV files have an apostrophe before names that a spreadsheet would run as a formula.
FORMULA_NAME: Final = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
ARROW_FILE_MAGIC: Final = b"ARROW1"
#: How gzip, zstd and zlib files begin.
COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


class UnreadableError(VerificationError):
    """A data file that can't be read as the manifest says; the message holds no value."""


def open_part(path: Path, fmt: str) -> pl.LazyFrame:
    """Open one data file."""
    if fmt == "parquet":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    with path.open("rb") as file:
        start = file.read(len(ARROW_FILE_MAGIC))
    if fmt == "csv":
        if start.startswith(COMPRESSED):
            # The reader would unpack it, to whatever size.
            raise UnreadableError("It is compressed.")
        return _open_csv(path)
    if fmt == "arrow":
        if start == ARROW_FILE_MAGIC:
            return pl.scan_ipc(path, glob=False, hive_partitioning=False)
        return pl.read_ipc_stream(path).lazy()
    return _open_json_lines(path)


def _open_csv(path: Path) -> pl.LazyFrame:
    """Scan CSV once a second reader has found the same table in it.

    polars alone passes over cells that nobody asked for, so rows could carry more than the columns
    that are stated, and takes a bare carriage return for a part of a cell, where others begin a
    row.
    """
    header, n_rows = _shape_of_csv(path)
    table = pl.scan_csv(path, glob=False, infer_schema=False, new_columns=header)
    if table.select(pl.len()).collect(engine="streaming").item() != n_rows:
        raise UnreadableError("It has rows that not every reader takes for rows.")
    return table


def _shape_of_csv(path: Path) -> tuple[list[str], int]:
    """Return the names of a CSV file's columns and its rows, which have as many cells each."""
    csv.field_size_limit(2**31 - 1)  # cells may be as long as polars reads them
    n_rows = 0
    try:
        with path.open("r", encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, [])
            width = len(header)
            for row in rows:
                n_rows += 1
                # The row of a single missing cell is an empty line.
                if len(row) != width and (row or width > 1):
                    raise UnreadableError("It has rows of different length.")
    except (ValueError, csv.Error):
        raise UnreadableError("It isn't strict CSV in UTF-8.") from None
    header = [name[1:] if FORMULA_NAME.match(name) else name for name in header]
    if len(set(header)) < width:
        raise UnreadableError("It has two columns of one name.")
    return header, n_rows


def _open_json_lines(path: Path) -> pl.LazyFrame:
    """Scan JSON lines with the types that the lines have.

    Left to infer them, polars turns ``1`` and ``"1"`` of one column into one value, but a reader of
    the file can distinguish them. So each column must keep to one type, and each line to the
    same keys.
    """
    dtypes: dict[str, type[pl.DataType] | None] = {}
    for number, record in enumerate(_records(path)):
        if number == 0:
            dtypes = dict.fromkeys(record)
        elif record.keys() != dtypes.keys():
            raise UnreadableError("Its lines don't all have the same columns.")
        for name, value in record.items():
            if value is None:
                continue
            dtype = _dtype_of(value)
            known = dtypes[name]
            if known is not None and known is not dtype:
                raise UnreadableError("It mixes types in one column.")
            dtypes[name] = dtype
    schema = {name: pl.String if dtype is None else dtype for name, dtype in dtypes.items()}
    if not schema:
        return pl.LazyFrame()
    return pl.scan_ndjson(path, schema=schema)


def _records(path: Path) -> Iterator[dict[str, object]]:
    try:
        with path.open("r", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield _parse(line)
    except UnreadableError:
        raise
    except (ValueError, RecursionError):
        raise UnreadableError("It has a line that isn't strict JSON in UTF-8.") from None


def _parse(line: str) -> dict[str, object]:
    record = json.loads(line, object_pairs_hook=_record, parse_constant=_refuse)
    if not isinstance(record, dict):
        raise UnreadableError("It has a line that isn't an object.")
    return record


def _record(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableError("It has a line with a column twice.")
    return found


def _refuse(_: str) -> NoReturn:
    raise UnreadableError("It has a number that JSON doesn't have.")


def _dtype_of(value: object) -> type[pl.DataType]:
    if isinstance(value, bool):
        return pl.Boolean
    if isinstance(value, str):
        return pl.String
    if isinstance(value, float):
        return pl.Float64
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return pl.Int64
    raise UnreadableError("It has a cell that isn't text, a number or a truth value.")


def is_judgeable(dtype: pl.DataType) -> bool:
    """Return whether cells of this type can be compared; lists and structs can't."""
    return not dtype.is_nested() and dtype not in (pl.Object, pl.Unknown)


def _text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the cells as text, such that two cells have the same text only if they are the same.

    Floating-point cells are taken by their bits: 0.0 and -0.0 differ in the file, so an
    attacker can distinguish them.
    """
    cell = pl.col(name)
    if dtype.is_float():
        cell = cell.cast(pl.Float64).reinterpret(dtype=pl.UInt64)
    elif dtype.is_temporal():
        cell = cell.to_physical()
    elif dtype == pl.Binary:
        cell = cell.bin.encode("hex")
    return cell.cast(pl.String)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The different values of a column."""

    name: str
    dtype: pl.DataType
    texts: pl.Series
    has_missing: bool

    @property
    def n_codes(self) -> int:
        """The number of codes: one for missing, and one for each value."""
        return len(self.texts) + 1

    def codes(self) -> pl.Expr:
        """Return the cells as integers: 0 for missing, 1 and up for the values."""
        enum = pl.Enum(self.texts)
        known = _text(self.name, self.dtype).cast(enum).to_physical().cast(pl.Int64) + 1
        return known.fill_null(0).alias(self.name)


def dictionaries(table: pl.LazyFrame, dtypes: Mapping[str, pl.DataType]) -> dict[str, Dictionary]:
    """Find the different values of each column."""
    return dictionaries_of(different_texts(dtypes, table), dtypes)


def different_texts(dtypes: Mapping[str, pl.DataType], table: pl.LazyFrame) -> list[pl.Series]:
    """Find the different cells of each column as texts, missing ones included.

    One column after the other: all at once read the files once, but hold ten times as much.
    """
    plans = [table.select(_text(name, dtype).unique()) for name, dtype in dtypes.items()]
    return [plan.collect(engine="streaming").to_series() for plan in plans]


def joined_texts(left: Sequence[pl.Series], right: Sequence[pl.Series]) -> list[pl.Series]:
    """Return the different texts of each column in some rows or others."""
    return [pl.concat(pair).unique() for pair in zip(left, right, strict=True)]


def dictionaries_of(
    texts: Sequence[pl.Series], dtypes: Mapping[str, pl.DataType]
) -> dict[str, Dictionary]:
    """Return the dictionaries of columns from their different texts."""
    return {
        name: Dictionary(name, dtype, own.drop_nulls().sort(), own.null_count() > 0)
        for own, (name, dtype) in zip(texts, dtypes.items(), strict=True)
    }


@dataclass(frozen=True, slots=True)
class SensitiveValues:
    """What a sensitive column can hold."""

    value_of_code: Ints
    n_values: int
    has_missing: bool
    in_order: bool
    is_scale: bool
    labels: tuple[str, ...]


def sensitive_values(dictionary: Dictionary, *, kind: str) -> SensitiveValues:
    """Give each value of a sensitive column a number, in their natural order where they have one.

    Numbers, times and truth values have one; so have texts in a column of kind ``"numeric"`` that
    all are numbers, and in one of kind ``"datetime"`` that all are times of ISO 8601 of one form.
    """
    texts = dictionary.texts.to_list()
    keys = _order_keys(texts, dictionary.dtype, kind)
    there = {key for key in keys or texts if key != _NOT_A_NUMBER}
    places = {key: place for place, key in enumerate(sorted(there))}
    n = len(places)
    number = [places.get(key, n) for key in keys or texts]
    has_missing = dictionary.has_missing or n in number
    labels: dict[int, str] = {}
    for place, text in zip(number, texts, strict=True):
        labels.setdefault(place, label_of(text, dictionary.dtype))
    return SensitiveValues(
        value_of_code=np.array([n, *number], dtype=np.int64),
        n_values=n + has_missing,
        has_missing=has_missing,
        in_order=keys is not None,
        is_scale=keys is not None and kind in {"numeric", "datetime"},
        labels=tuple(labels[place] for place in range(n)),
    )


_Key: TypeAlias = "tuple[bool, Decimal | float | int]"


_NOT_A_NUMBER: Final[_Key] = (True, 0)


def _order_keys(texts: list[str], dtype: pl.DataType, kind: str) -> list[_Key] | None:
    """Return what to sort the values by; None where they have no order."""
    read: Callable[[str], _Key] | None = None
    if dtype.is_float():
        read = _float_key
    elif dtype.is_integer() or dtype.is_temporal():
        read = _integer_key
    elif dtype == pl.Boolean:
        read = _truth_key
    elif dtype.is_decimal() or kind == "numeric":
        read = _decimal_key
    elif kind == "datetime" and len({len(text) for text in texts}) == 1:
        read = _time_key
    try:
        return None if read is None else [read(text) for text in texts]
    except (InvalidOperation, ValueError):  # text that is no number and no time
        return None


def _integer_key(text: str) -> _Key:
    return False, int(text)


def _truth_key(text: str) -> _Key:
    return False, int(text == "true")


def _decimal_key(text: str) -> _Key:
    number = Decimal(text)
    return _NOT_A_NUMBER if number.is_nan() else (False, number)


def _time_key(text: str) -> _Key:
    return False, datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _float_key(text: str) -> _Key:
    number = _from_bits(text)
    return _NOT_A_NUMBER if math.isnan(number) else (False, number)


def _from_bits(text: str) -> float:
    (number,) = struct.unpack("<d", struct.pack("<Q", int(text)))
    return float(number)


def exact_texts(values: pl.Series) -> pl.Series:
    """Return values as texts; a cast of times and spans raises, or cuts fractions of a second."""
    is_span = values.dtype in (pl.Time, pl.Duration)
    return values.dt.to_string("iso") if is_span else values.cast(pl.String)


def label_of(text: str, dtype: pl.DataType) -> str:
    """Return a value as a support file spells it: whole floats without ``.0``, dates as ISO."""
    if dtype.is_float():
        number = _from_bits(text)
        # Beyond 2**53 a float doesn't tell neighbouring whole numbers apart.
        whole = math.isfinite(number) and number == math.floor(number) and abs(number) < 2**53
        return str(int(number)) if whole else str(pl.Series([number]).cast(pl.String).item())
    if dtype.is_temporal():
        return str(exact_texts(pl.Series([int(text)]).cast(dtype)).item())
    return text

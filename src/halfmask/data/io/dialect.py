"""The rows of a CSV file: what keeps its cells apart, its header, and cells counted row by row."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import and_, or_
from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnWarning, DataError, SchemaError
from halfmask.data.frames import check_names
from halfmask.data.value_patterns import PATTERNS

if TYPE_CHECKING:
    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.places import TextStream


# In the order in which they win when nothing else tells them apart.
DELIMITERS = (",", ";", "\t", "|")
_ROWS = 200
_FIELD_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter and quote of a CSV file, and its first row."""

    delimiter: str
    quote: str
    first: tuple[str, ...]


def sniff(sample: str, *, delimiter: str | None, quote: str, what: str) -> Dialect:
    r"""Find the delimiter that cuts the first rows into the same number of cells.

    Examples
    --------
    >>> sniff("name;age\n'Doe; J';41\n", delimiter=None, quote="'", what="It").delimiter
    ';'
    """
    best: Dialect | None = None
    best_score = (-1.0, -1)
    for candidate in [delimiter] if delimiter else DELIMITERS:
        rows = list(islice(_rows(sample, candidate, quote), _ROWS))
        if not rows:
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows) / len(rows)
        # A delimiter that cuts nothing cuts every row alike: it is the last resort.
        score = (alike if width > 1 else -0.5, width)
        if score > best_score:
            best, best_score = Dialect(candidate, quote, tuple(rows[0])), score
    if best is None:
        raise DataError(f"{what} is empty.", hint="Give a table with a header and rows.")
    return best


def _rows(sample: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    """Yield the rows of the sample that hold anything, without the last if it may be cut off."""
    # Only `csv` reads rows one by one here; its limit is the process's, and is put back.
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
        rows = [row for row in islice(reader, _ROWS + 1) if row]
    except csv.Error:
        rows = []
    finally:
        csv.field_size_limit(limit)
    yield from rows[:-1] if len(rows) > 1 else rows


_MAX_SHOWN = 20
_NUMBER = r"[-+]?(?:\d[\d.,' ]*|\.\d+)"
_CURRENCY = r"(?:EUR|USD|GBP|CHF|JPY|CNY|INR|[$€£¥₹])"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# What no word is: digits without any letter (numbers, dates, times, telephone numbers, ranges),
# and the forms of values that have letters. An underscore is part of names: Spark writes "_1".
_VALUES = re.compile(
    rf"[^\w]*\d(?:\d|[^\w])*"
    rf"|{_NUMBER}e[-+]?\d+"
    rf"|(?:{_CURRENCY} ?{_NUMBER}|{_NUMBER} ?{_CURRENCY})"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*"
    rf"|\d{{1,2}}[-./ ]?{_MONTH}[-./, ]*\d{{2,4}}(?: \d\d?:\d\d.*)?"
    rf"|{_MONTH} \d{{1,2}},? \d{{4}}(?: \d\d?:\d\d.*)?"
    r"|[\d:. ]+(?:am|pm)",
    re.IGNORECASE,
)
_DATA_HINT = (
    "If the file has no header, say so: [[ReadOptions(header=False)|--no-header]], or "
    "header = false under [input] of a policy. If these are names: "
    "[[ReadOptions(header=True)|--header]], or header = true."
)


def values_among(cells: Sequence[str]) -> list[int]:
    """Return the numbers, from 1, of the cells that have the form of a value and not of a name.

    Examples
    --------
    >>> values_among(["39", "1/22/20", "12 Mar 1948", "a@b.org", "5-9", "1,5 %"])
    [1, 2, 3, 4, 5, 6]
    >>> values_among(["age", "2020Q1", "x1", "_1", "1st visit", "%"])
    []
    """
    texts = pl.Series([cell.strip() for cell in cells], dtype=pl.String)
    found = {at for at, text in enumerate(texts) if _VALUES.fullmatch(text)}
    for form in PATTERNS.values():
        if form.identifies:
            hits = texts.str.contains(form.regex).arg_true()
            found |= {at for at in hits if form.check is None or form.check(texts[at])}
    return [at + 1 for at in sorted(found)]


def unique_names(cells: Sequence[str]) -> tuple[tuple[str, ...], dict[int, str]]:
    """Return a name for each column, and those that were made, by the column's number from 1.

    A blank cell becomes ``column_3``, by the number of the column; a name that is there before
    becomes ``age_2``.

    Examples
    --------
    >>> unique_names(["", "age", "age"])
    (('column_1', 'age', 'age_2'), {1: 'column_1', 3: 'age_2'})
    """
    names: list[str] = []
    made = {}
    taken, used = {cell for cell in cells if cell.strip()}, set[str]()
    for number, cell in enumerate(cells, 1):
        name = cell
        if not cell.strip() or cell in used:
            base = cell if cell.strip() else f"column_{number}"
            name, count = base, 1
            while name in used or name in taken:
                count += 1
                name = f"{base}_{count}"
            made[number] = name
        used.add(name)
        names.append(name)
    return tuple(names), made


class Header:
    """What the columns of one CSV file are called, and whether rows look like its header."""

    def __init__(self, first: tuple[str, ...], options: ReadOptions, what: str) -> None:
        self._first = first
        self._what = what
        self._is_said = options.header is not None
        self.rows = 0 if options.header is False else 1
        if not self._is_said:
            marks = {mark for mark in options.missing or () if mark.strip()}
            marked = [number for number, cell in enumerate(first, 1) if cell in marks]
            found = sorted({*values_among(first), *marked})
            self._refuse_data(found, "have the form of numbers, dates or other values")
            self._refuse_title()
        self.columns = self._name_columns(options)

    def check(self, texts: pl.DataFrame, rows_before: int) -> None:
        """Raise if rows repeat the header, or if cells of the header occur as values below."""
        named = zip(self.columns, self._first, strict=True)
        alike = {
            number: (texts.get_column(name) == cell).fill_null(value=False)
            for number, (name, cell) in enumerate(named, 1)
            if self.rows and cell.strip()
        }
        hits = [number for number, same in alike.items() if same.any()]
        if not hits:
            return
        whole = reduce(and_, alike.values())
        in_part = reduce(or_, alike.values()) & ~whole
        if not self._is_said and (in_part.any() or len(alike) == 1):
            self._refuse_data(hits, "occur as values below")
        if whole.any() and len(alike) > 1:
            self._refuse_repeated(whole, rows_before)

    def _name_columns(self, options: ReadOptions) -> tuple[str, ...]:
        width = len(self._first)
        if options.column_names is not None:
            names: tuple[str, ...] = options.column_names
            if len(names) != width:
                raise SchemaError(
                    f"{self._what} has {width} columns, and column_names has {len(names)} names.",
                    hint="Give one name for each column, in the order of the file.",
                )
        elif not self.rows:
            names = tuple(f"column_{number}" for number in range(1, width + 1))
        else:
            names, made = unique_names(self._first)
            if made:
                _tell(made, width, self._what)
        check_names(names)
        return names

    def _refuse_data(self, found: Sequence[int], why: str) -> None:
        if not found:
            return
        # By number: the cells are somebody's.
        shown = ", ".join(map(str, found[:_MAX_SHOWN]))
        raise SchemaError(
            f"The first row of {_inside(self._what)} looks like data and not like names of "
            f"columns. Cells that {why}: {len(found)} of {len(self._first)} (column number "
            f"{shown}).",
            hint=_DATA_HINT,
        )

    def _refuse_title(self) -> None:
        """Refuse a first row that has text in its first cell alone: the names stand below it."""
        first, *others = (cell.strip() for cell in self._first)
        if first and len(others) > 1 and not any(others):
            raise SchemaError(
                f"The first row of {_inside(self._what)} looks like a title and not like names of "
                f"columns: 1 of its {len(self._first)} cells has text.",
                hint="Leave out the lines above the names: [[ReadOptions(skip_rows=...)|"
                "--skip-rows]], or skip_rows under [input] of a policy. If these are names: "
                "[[ReadOptions(header=True)|--header]], or header = true.",
            )

    def _refuse_repeated(self, whole: pl.Series, rows_before: int) -> None:
        # The header is row 1.
        numbers = [rows_before + 2 + int(at) for at in whole.arg_true()[:_MAX_SHOWN]]
        one = len(numbers) == 1
        raise SchemaError(
            f"Row{'' if one else 's'} {', '.join(map(str, numbers))} of {_inside(self._what)} "
            f"repeat{'s' if one else ''} the header (row 1).",
            hint="Remove these rows; files that belong together are read from one folder. A file "
            "without a header is read with [[header=False|--no-header]], or header = false under "
            "[input].",
        )


def _tell(made: dict[int, str], width: int, what: str) -> None:
    shown = ", ".join(map(str, list(made)[:_MAX_SHOWN]))
    warnings.warn(
        f"Columns with a blank or repeated name in the header of {_inside(what)}: number {shown} "
        f"of {width}. Blank names become column_N, where N is the number. Repeated names become "
        "NAME_2. To rename columns, give column_names, or --column-names.",
        ColumnWarning,
        stacklevel=2,
    )


def _inside(what: str) -> str:
    return what[0].lower() + what[1:]


_CHUNK = 1 << 20
_SEPARATOR = re.compile(r'"?sep=([^\r\n"])"?[ ,;|\t]*(?:[\r\n]|$)', re.IGNORECASE)


def excel_delimiter(sample: str) -> str | None:
    r"""Return the delimiter that the first line declares, as Excel writes it.

    Examples
    --------
    >>> excel_delimiter("sep=;\nage;sex\n"), excel_delimiter("age;sex\n")
    (';', None)
    """
    found = _SEPARATOR.match(sample)
    return found[1] if found else None


class RowLines(io.RawIOBase):
    """A text stream without the lines that hold no row."""

    def __init__(  # each is one fact of a file
        self,
        stream: TextStream,
        *,
        skip: int,
        comment: str | None,
        drop: bool,
        quote: str,
        delimiters: str,
    ) -> None:
        super().__init__()
        self._stream = stream
        self._skip = skip
        self._comment = None if comment is None else comment.encode()
        self._drop = drop
        self._quote = quote.encode()
        between, quoted = re.escape(delimiters).encode(), re.escape(quote).encode()
        self._cell = re.compile(
            rb"(?:^|[%b])(?:(%b)(?:[^%b]|%b%b)*+(%b)?)?[^%b]*"
            % (between, quoted, quoted, quoted, quoted, quoted, between)
        )
        self._open = False
        self._held = bytearray()
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        """Return whether this can be read: always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes; less only at the end."""
        while not self._ended and (size < 0 or len(self._held) < size):
            self._fill()
        if size < 0:
            size = len(self._held)
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        """Close the stream below, too."""
        self._stream.close()
        super().close()

    def _fill(self) -> None:
        data = self._stream.read(_CHUNK)
        self._ended = not data
        if not (self._skip or self._drop or self._comment or self._rest):
            self._held += data
            return
        lines = (self._rest + data).splitlines(keepends=True)
        # The last line may go on, and a "\r" at its end may be the first half of "\r\n".
        self._rest = lines.pop() if lines and not self._ended else b""
        for line in lines:
            if self._is_kept(line):
                self._held += line

    def _is_kept(self, line: bytes) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        if self._comment and not self._open and line.startswith(self._comment):
            return False
        if self._drop and line.strip(b"\r\n"):
            self._drop = False
            return False
        if self._comment and (self._open or self._quote in line):
            self._open = self._is_open_after(line)
        return True

    def _is_open_after(self, line: bytes) -> bool:
        """Return whether a quoted cell goes on behind the line."""
        cells = list(self._cell.finditer(self._quote + line if self._open else line))
        return cells[-1][1] is not None and cells[-1][2] is None

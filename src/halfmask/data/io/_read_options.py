"""Read options: what a reader can't see in the file itself."""

from __future__ import annotations

import codecs
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import UnionType
from typing import Any, Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, is_text, list_of, mapping_of
from halfmask.data._declarations import Declaration
from halfmask.data.cell_formats import check_date_format, check_number_format, dtype_of_format
from halfmask.data.io._derived import DerivedColumn
from halfmask.data.io._reader import Normalization, check_lists, check_steps

_WORDS: dict[str, pl.DataType] = {
    "string": pl.String(),
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
}
#: Options by the name of a column: what their values are, in words and as types.
_BY_COLUMN: Final[dict[str, tuple[str, type | UnionType]]] = {
    "dtypes": ("types", object),
    "normalize": ("lists of steps", object),
    "lists": ("separators", object),
    "date_formats": ("texts or years", str | int),
    "first_years": ("texts or years", str | int),
    "number_formats": ("texts or years", str | int),
    "fitted": ("types of polars", pl.DataType),
    "derived": ("columns made of others", DerivedColumn),
}
#: The word for times with a zone; the zone follows it.
_ZONED: Final = "datetime_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a table.

    Parameters
    ----------
    delimiter
        The character between cells of a CSV file, or ``None`` to find it among comma, semicolon,
        tab and bar.
    quote
        The character around cells of a CSV file that hold delimiters or line ends.
    encoding
        The encoding of a text file, by the name that Python gives it. A byte-order mark in the
        file overrides it.
    missing
        The texts that mean a missing cell, compared whole, quoted or not. ``None`` is the empty
        text in CSV and nothing elsewhere. In every format, a text also marks the number, date or
        time that it spells: ``"-8"`` marks -8.0, ``"9999-12-31"`` the midnight of that day.
    header
        Whether the first row of a CSV file holds the names. With ``None`` it does, and a
        first row that looks like data is an error. ``False`` calls columns ``column_1``,
        ``column_2``, ...
    skip_rows
        How many lines at the start of a CSV file or an Excel sheet aren't read.
    comment
        The text at the start of lines of a CSV file that aren't read, such as ``"#"``.
    column_names
        The names of all columns of a CSV file, in order. With ``header=True`` they replace
        the names in the file; with ``header=False`` the file has none.
    sheet
        The name of the sheet to read of an Excel workbook that has several.
    table
        The name of the table to read of a database file that has several.
    dtypes
        By column, a polars type or ``"string"``, ``"integer"``, ``"float"``, ``"boolean"``,
        ``"date"``, ``"datetime"`` (no zones), ``"datetime_utc"`` or ``"datetime_Europe/Berlin"``
        (each has a zone; kept on that clock). A cell that doesn't fit is an error.
    date_formats
        The date format of text columns, by column name, in ``strftime`` codes such as
        ``"%d.%m.%Y"`` or ``"%m/%d/%Y %H:%M"``. A cell that doesn't fit is an error. ISO 8601
        needs none.
    first_years
        For date formats with ``%y``, by column name: the first of the hundred years that two digits
        can mean. With 1930, ``48`` is 1948 and ``29`` is 2029.
    number_formats
        The number format of text columns, by column name: 1234.5 as the column writes it, such as
        ``"1.234,5"``, ``"1234,5%"`` or ``"1,234.5 EUR"``. Signs and units are dropped: ``10%`` is
        the number 10. A cell that doesn't fit is an error.
    lists
        The separator of columns of lists, or of texts that have it, by column name: they are read
        as sets, such as ``"bread|milk"``, each item once and in order. No item may hold it.
    coerce
        Columns whose cells that don't fit, or are infinite, become missing; a `ColumnWarning`
        counts them.
    normalize
        How spellings of a value are unified in text columns, by column name: a list of ``"trim"``
        (remove outer blanks), ``"nfc"`` (Unicode NFC) and ``"casefold"`` (ignore capitals).
    fitted
        Types that columns had in an earlier table. Cells are read as with ``dtypes``, but texts
        must have the usual form of the type: ``"007"`` isn't the integer 7. Error messages mention
        the fit.
    derived
        Columns made of others, by their own name, such as a place of two coordinates. Each
        stands where the first column that it reads stood; what it reads is no column then.

    Raises
    ------
    ParameterError
        If an option is invalid.

    Examples
    --------
    >>> ReadOptions(missing=("?", ""), dtypes={"zip": "string"}).dtypes["zip"]
    String
    """

    delimiter: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    missing: tuple[str, ...] | None = None
    header: bool | None = None
    skip_rows: int = 0
    comment: str | None = None
    column_names: tuple[str, ...] | None = None
    sheet: str | None = None
    table: str | None = None
    dtypes: Mapping[str, pl.DataType | type[pl.DataType] | str] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)
    first_years: Mapping[str, int] = field(default_factory=dict)
    number_formats: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    coerce: Sequence[str] = ()
    normalize: Mapping[str, Sequence[Normalization]] = field(default_factory=dict)
    fitted: Mapping[str, pl.DataType] = field(default_factory=dict)
    derived: Mapping[str, DerivedColumn] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._check_mappings()
        if self.delimiter is not None:
            _one_character("delimiter", self.delimiter)
        _one_character("quote", self.quote)
        if self.delimiter == self.quote:
            raise ParameterError("The delimiter and the quote of ReadOptions must differ.")
        self._check_first_lines()
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError, ValueError):
            raise ParameterError(
                "[[The 'encoding' parameter of ReadOptions|--encoding]] must name an encoding that "
                "Python knows.",
                hint='Try "utf-8", "utf-16", "latin-1" or "cp1252".',
            ) from None
        if isinstance(self.missing, str):
            raise ParameterError(
                "The 'missing' parameter of ReadOptions must be a tuple of texts. Got one text.",
                hint='Write missing=("?",).',
            )
        if self.missing is not None:
            list_of("texts", is_text, owner="ReadOptions", missing=self.missing)
            object.__setattr__(self, "missing", tuple(self.missing))
        typed = {name: _dtype(name, dtype) for name, dtype in self.dtypes.items()}
        object.__setattr__(self, "dtypes", typed)
        steps = {name: check_steps(name, given) for name, given in self.normalize.items()}
        object.__setattr__(self, "normalize", steps)
        check_lists(self.lists)
        self._check_formats()
        self._check_coerced()

    def _check_mappings(self) -> None:
        for name, (what, types) in _BY_COLUMN.items():
            given = {} if getattr(self, name) is None else getattr(self, name)
            named: dict[str, Any] = {name: given}
            mapping_of(what, partial(_is_of, types), owner="ReadOptions", **named)
            object.__setattr__(self, name, dict(given))

    def _check_formats(self) -> None:
        for name in (*self.date_formats, *self.first_years):
            check_date_format(name, self.date_formats.get(name), self.first_years.get(name))
        for name, format_ in self.number_formats.items():
            check_number_format(name, format_)
            if name in self.date_formats:
                raise ParameterError(f"Column {name!r} has a date format and a number format.")

    def _check_coerced(self) -> None:
        if isinstance(self.coerce, str):
            raise ParameterError(
                "The 'coerce' parameter of ReadOptions must be a tuple of names. Got one text.",
                hint='Write coerce=("age",).',
            )
        list_of("names of columns", is_text, owner="ReadOptions", coerce=self.coerce)
        object.__setattr__(self, "coerce", tuple(self.coerce))
        free = [name for name in self.coerce if name not in self.declarations()]
        if free:
            raise ParameterError(
                f"Nothing is declared for the column {free[0]!r} that is listed under coerce.",
                hint="Declare its type under dtypes, or how its dates or numbers are written.",
            )

    def _check_first_lines(self) -> None:
        integer_at_least(0, owner="ReadOptions", skip_rows=self.skip_rows)
        comment = self.comment
        if comment is not None and not _is_comment(comment, self.quote):
            raise ParameterError(
                "The 'comment' parameter of ReadOptions must be a text that no row starts with, "
                "without line ends and quotes.",
                hint='Write comment="#".',
            )
        names: object = self.column_names
        if names is None:
            return
        if isinstance(names, str):
            raise ParameterError(
                "The 'column_names' parameter of ReadOptions must be a tuple of names. Got one "
                "text.",
                hint='Write column_names=("age", "sex").',
            )
        if self.header is None:
            raise ParameterError(
                "column_names needs header=True or header=False.",
                hint="Say whether the file has a header, whose names are then replaced: "
                "[[header=True or header=False|--header or --no-header]].",
            )
        object.__setattr__(self, "column_names", tuple(self.column_names or ()))

    def typed(self) -> dict[str, pl.DataType]:
        """Return the declared types as polars has them; a format declares one, too."""
        return {name: each.dtype for name, each in self.declarations().items()}

    def declarations(self) -> dict[str, Declaration]:
        """Return the declaration of each column, including what a fit saw."""
        of_dates = {name: dtype_of_format(each) for name, each in self.date_formats.items()}
        of_numbers = dict.fromkeys(self.number_formats, pl.Float64())
        declared: dict[str, pl.DataType] = of_dates | of_numbers
        declared |= {name: _dtype(name, dtype) for name, dtype in self.dtypes.items()}
        return {
            name: Declaration(
                dtype=dtype,
                date_format=self.date_formats.get(name),
                first_year=self.first_years.get(name),
                number_format=self.number_formats.get(name),
                fitted=name not in declared,
            )
            for name, dtype in {**self.fitted, **declared}.items()
        }

    def of(self, columns: Container[str]) -> Self:
        """Return the options of a table that has only some of the columns.

        Parameters
        ----------
        columns
            The columns that the table has, or that are made of those that it has.
        """
        derived = (each for name, each in self.derived.items() if name in columns)
        read = {name for each in derived for name in each.reads}
        kept: dict[str, Any] = {
            each: {
                name: value
                for name, value in getattr(self, each).items()
                if name in columns or name in read
            }
            for each in _BY_COLUMN
        }
        coerce = tuple(name for name in self.coerce if name in columns or name in read)
        return replace(self, coerce=coerce, **kept)


def _is_of(types: type | UnionType, value: object) -> bool:
    return isinstance(value, types)


def _one_character(name: str, value: object) -> None:
    if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n"):
        raise ParameterError(
            f"[[The {name!r} parameter of ReadOptions|--{name}]] must be one ASCII character that "
            "is no line end."
        )


def _is_comment(comment: object, quote: str) -> bool:
    return (
        isinstance(comment, str)
        and comment.strip() != ""
        and not any(char in comment for char in (quote, "\r", "\n"))
    )


def _dtype(column: str, dtype: object) -> pl.DataType:
    if isinstance(dtype, str) and dtype in _WORDS:
        return _WORDS[dtype]
    if isinstance(dtype, str) and dtype.startswith(_ZONED):
        zone = dtype.removeprefix(_ZONED)
        return pl.Datetime("us", _known_zone(column, "UTC" if zone == "utc" else zone))
    if isinstance(dtype, type) and issubclass(dtype, pl.DataType):
        dtype = dtype()
    if isinstance(dtype, pl.DataType) and not dtype.is_nested():
        return dtype
    raise ParameterError(
        f"The type of column {column!r} in ReadOptions must be a plain polars type or one of "
        f"{', '.join(map(repr, _WORDS))}, 'datetime_utc'. Got a {type(dtype).__name__}.",
        hint="Times with another zone are declared as datetime_Europe/Berlin.",
    )


def _known_zone(column: str, zone: str) -> str:
    try:
        return ZoneInfo(zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ParameterError(
            f"The type of column {column!r} names a time zone that isn't known.",
            hint='Write a name of the IANA data base, such as "datetime_Europe/Berlin".',
        ) from None

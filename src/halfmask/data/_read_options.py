"""What a reader has to be told of a file that the file itself doesn't say."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from halfmask._errors import ParameterError
from halfmask.data._date_formats import check_date_format, dtype_of_format

__all__ = ["ReadOptions"]

_WORDS: dict[str, pl.DataType] = {
    "string": pl.String(),
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
}


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
        The encoding of a text file, by the name that Python gives it. A byte-order mark goes
        before it.
    missing
        The texts that mean a missing cell, compared whole, quoted or not. ``None`` is the empty
        text in CSV and nothing elsewhere. What is given here holds for string columns of every
        format.
    header
        Whether the first row of a CSV file holds the names. Without, columns are called
        ``column_1``, ``column_2``, ...
    dtypes
        Types of columns by name: a polars type, or one of ``"string"``, ``"integer"``,
        ``"float"``, ``"boolean"``, ``"date"``, ``"datetime"``. A cell that doesn't fit is an error.
    date_formats
        How columns of text spell their dates, by name, in the letters of ``strftime``: such as
        ``"%d.%m.%Y"``, or ``"%m/%d/%Y %H:%M"``. A cell that doesn't fit is an error. ISO 8601
        needs none.

    Raises
    ------
    ParameterError
        If one of them can't be.

    Examples
    --------
    >>> ReadOptions(missing=("?", ""), dtypes={"zip": "string"}).dtypes["zip"]
    String
    """

    delimiter: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    missing: tuple[str, ...] | None = None
    header: bool = True
    dtypes: Mapping[str, pl.DataType | type[pl.DataType] | str] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            _one_character("delimiter", self.delimiter)
        _one_character("quote", self.quote)
        if self.delimiter == self.quote:
            raise ParameterError("The delimiter and the quote of ReadOptions must differ.")
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError, ValueError):
            raise ParameterError(
                "The 'encoding' parameter of ReadOptions must name an encoding that Python knows.",
                hint='Try "utf-8", "utf-16", "latin-1" or "cp1252".',
            ) from None
        if isinstance(self.missing, str):
            raise ParameterError(
                "The 'missing' parameter of ReadOptions must be a tuple of texts. Got one text.",
                hint='Write missing=("?",).',
            )
        if self.missing is not None:
            object.__setattr__(self, "missing", tuple(self.missing))
        typed = {name: _dtype(name, dtype) for name, dtype in (self.dtypes or {}).items()}
        object.__setattr__(self, "dtypes", typed)
        for name, format_ in self.date_formats.items():
            check_date_format(name, format_)
        object.__setattr__(self, "date_formats", dict(self.date_formats))

    def typed(self) -> dict[str, pl.DataType]:
        """Return the declared types as polars has them; a date format declares one, too."""
        of_dates = {name: dtype_of_format(each) for name, each in self.date_formats.items()}
        return of_dates | {name: _dtype(name, dtype) for name, dtype in self.dtypes.items()}


def _one_character(name: str, value: object) -> None:
    if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n"):
        raise ParameterError(
            f"The {name!r} parameter of ReadOptions must be one ASCII character that is no line "
            "end."
        )


def _dtype(column: str, dtype: object) -> pl.DataType:
    if isinstance(dtype, str) and dtype in _WORDS:
        return _WORDS[dtype]
    if isinstance(dtype, type) and issubclass(dtype, pl.DataType):
        dtype = dtype()
    if isinstance(dtype, pl.DataType) and not dtype.is_nested():
        return dtype
    raise ParameterError(
        f"The type of column {column!r} in ReadOptions must be a plain polars type or one of "
        f"{', '.join(map(repr, _WORDS))}. Got a {type(dtype).__name__}.",
    )

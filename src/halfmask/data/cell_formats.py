"""Numbers, dates and times as people write them, read by a format alone."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from halfmask._errors import ParameterError

#: ISO 8601 in any of its usual spellings; with a zone or without, as the column's type says.
ISO = "ISO 8601"
_DAY = r"[1-9]\d{3}-\d{2}-\d{2}"
# Microseconds are kept: a seventh digit must be a zero.
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,6}0*)?)?"
_OFFSET = r"(?:[Zz]| ?UTC|[+-]\d{2}(?::?\d{2})?)"
# A time in all its digits, so that what a format doesn't hold shows.
_KNOWN = dt.datetime(2001, 10, 23, 14, 35, 42)  # noqa: DTZ001 - tables hold local times
_KNOWN_UTC = _KNOWN.replace(tzinfo=dt.UTC)
_WHOLE = {
    "%T": "%H:%M:%S", "%X": "%H:%M:%S", "%R": "%H:%M", "%r": "%I:%M:%S %p", "%F": "%Y-%m-%d",
    "%D": "%m/%d/%y", "%x": "%m/%d/%y", "%h": "%b", "%P": "%p", "%c": "%a %b %e %H:%M:%S %Y",
    "%:z": "%z", "%#z": "%z",
}  # fmt: skip
_DIGITS = {
    "%d": r"\d{1,2}", "%m": r"\d{1,2}", "%H": r"\d{1,2}", "%I": r"\d{1,2}", "%M": r"[0-5]?\d",
    "%S": r"[0-5]?\d", "%Y": r"[1-9]\d{3}", "%y": r"\d{2}", "%j": r"\d{1,3}",
}  # fmt: skip
_OTHERS = {
    "%e": r" ?\d{1,2}", "%k": r" ?\d{1,2}", "%l": r" ?\d{1,2}", "%b": r"\p{L}+", "%B": r"\p{L}+",
    "%a": r"\p{L}+", "%A": r"\p{L}+", "%p": r"(?i:[ap]m)", "%.f": r"(?:\.\d{1,6}0*)?",
    "%z": r"(?:[+-]\d{2}:?\d{2}|Z)", "%%": "%",
}  # fmt: skip
_PARTS = re.compile(r"%[.:#]?[A-Za-z%]|[^%]+|%")
_HOURS = ("%H", "%I", "%k", "%l")


def dtype_of_format(format_: str) -> pl.DataType:
    """Return the type of what a format spells: a date, a time of day, or one in UTC with a zone.

    Examples
    --------
    >>> dtype_of_format("%d.%m.%Y"), dtype_of_format("%d.%m.%Y %H:%M")
    (Date, Datetime(time_unit='us', time_zone=None))
    >>> dtype_of_format("%d/%b/%Y:%H:%M:%S %z")
    Datetime(time_unit='us', time_zone='UTC')
    """
    parts = _parts(format_)
    if "%z" in parts:
        return pl.Datetime("us", "UTC")
    return pl.Datetime("us") if any(part in _HOURS for part in parts) else pl.Date()


def check_date_format(column: str, format_: object, first_year: object = None) -> None:
    """Raise unless the format spells whole dates, and says the century of two-digit years."""
    if not isinstance(format_, str) or not _is_whole(format_):
        raise ParameterError(
            f"The date format of column {column!r} must spell a day, a month and a year.",
            hint='Write %d for the day, %m for the month, %Y for the year, such as "%d.%m.%Y".',
        )
    short = "%y" in _parts(format_)
    if short and first_year is None:
        raise ParameterError(
            f"The date format of column {column!r} has years of two digits, which have no century.",
            hint=f"Declare the first year of their century: first_years = {{ {column} = "
            f"{dt.datetime.now(tz=dt.UTC).year - 99} }}[[|, or --first-year]].",
        )
    if first_year is not None and not (
        short and type(first_year) is int and 1000 <= first_year <= 9900
    ):
        raise ParameterError(
            f"The first year of column {column!r} must be a year from 1000 to 9900, and its date "
            "format must have %y.",
            hint="Four-digit years (%Y) need no first year.",
        )


def read_dates(
    texts: pl.Series, format_: str, dtype: pl.DataType, *, first_year: int | None = None
) -> pl.Series:
    """Return the dates or times that texts spell by a format; null where one doesn't."""
    texts = texts.str.strip_chars()
    if format_ == ISO:
        return _read_iso(texts, dtype)
    strict, reading = _strict(format_)
    texts = texts.set(~texts.str.contains(strict), None)
    if first_year is not None:
        texts = _with_centuries(texts, format_, first_year)
        reading = reading.replace("%y", "%Y")
    if dtype == pl.Date:
        return texts.str.to_date(reading, strict=False)
    return texts.str.to_datetime(reading, time_unit="us", strict=False)


def pattern_of(format_: str) -> str:
    """Return what each text matches, without spaces around it, that a format reads."""
    return _strict(format_)[0]


def _read_iso(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Date:
        whole = texts.set(~texts.str.contains(f"^{_DAY}$"), None)
        return whole.str.to_date("%Y-%m-%d", strict=False)
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    pattern = f"^{_DAY}[Tt ]{_CLOCK}{_OFFSET if zoned else ''}$"
    fits = texts.set(~texts.str.contains(pattern), None)
    # In one spelling: seconds, a point, an offset with a colon.
    fits = fits.str.replace(" ?UTC$", "Z").str.replace("[Tt]", " ")
    fits = fits.str.replace(",", ".", literal=True)
    fits = fits.str.replace(r" (\d\d:\d\d)([^:]|$)", " ${1}:00${2}") if not zoned else fits
    if not zoned:
        return fits.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    fits = fits.str.replace(r" (\d\d:\d\d)(Z|z|[+-])", " ${1}:00${2}")
    fits = fits.str.replace("[Zz]$", "+00:00").str.replace(r"([+-]\d\d)$", "${1}:00")
    return fits.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", time_unit="us", strict=False)


def _is_whole(format_: str) -> bool:
    try:
        dtype = dtype_of_format(format_)
        _strict(format_)
        known = _KNOWN_UTC if isinstance(dtype, pl.Datetime) and dtype.time_zone else _KNOWN
        written = pl.Series([known]).dt.strftime(_spell_out(format_))
        first_year = _KNOWN.year - 50 if "%y" in _parts(format_) else None
        day = read_dates(written, format_, dtype, first_year=first_year).dt.date()
    except (pl.exceptions.PolarsError, ParameterError, ValueError):
        return False
    return day.to_list() == [_KNOWN.date()]


def _spell_out(format_: str) -> str:
    return "".join(_parts(format_))


def _parts(format_: str) -> list[str]:
    """Return a format's directives and the texts between them, composed ones taken apart."""
    return [
        each
        for part in _PARTS.findall(format_)
        for each in (_PARTS.findall(_WHOLE[part]) if part in _WHOLE else [part])
    ]


@lru_cache(maxsize=256)
def _strict(format_: str) -> tuple[str, str]:
    """Return what a text must match that the format spells, and the format that polars reads.

    polars reads ``31.12.48`` by ``%Y`` as the year 48, and a missing zero as part of the next
    number. A pattern says how many digits there are.
    """
    return f"^{''.join(_patterns(format_))}$", _spell_out(format_).replace("%z", "%#z")


def _patterns(format_: str) -> list[str]:
    parts = _parts(format_)
    patterns = []
    for place, part in enumerate(parts):
        beside = {*parts[max(0, place - 1) : place], *parts[place + 1 : place + 2]}
        if part in _DIGITS:
            digits = _DIGITS[part]
            # Numbers that nothing parts have all their digits.
            packed = digits.replace("{1,", "{").replace("?", "")
            patterns.append(packed if beside & set(_DIGITS) else digits)
        elif part in _OTHERS:
            patterns.append(_OTHERS[part])
        elif part.startswith("%"):
            raise ParameterError(f"{part} isn't known in a date format.")
        else:
            patterns.append(re.sub(r"(?:\\ )+", r"\\s+", re.escape(part)))
    return patterns


def _with_centuries(texts: pl.Series, format_: str, first_year: int) -> pl.Series:
    """Return the texts with years of four digits, in the hundred years from the first one."""
    patterns, place = _patterns(format_), _parts(format_).index("%y")
    before, after = "".join(patterns[:place]), "".join(patterns[place + 1 :])
    cut = rf"^({before})(\d{{2}})({after})$"
    century, first = divmod(first_year, 100)
    early = texts.str.extract(cut, 2).cast(pl.Int64) < first
    late = texts.str.replace(cut, f"${{1}}{century}${{2}}${{3}}")
    return texts.str.replace(cut, f"${{1}}{century + 1}${{2}}${{3}}").zip_with(early, late)


_EXAMPLE = re.compile(
    r"(?P<before>[^\d+\-]*?)\s*(?<!\d)1(?P<group>[.,'\u2019\u00a0\u202f _]?)234(?P<point>[.,])5"
    r"(?!\d)\s*(?P<after>[^\d]*)",
)
_BLANKS = "\u00a0\u202f "
_QUOTES = "'\u2019"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What stands between the digits of numbers and around them."""

    group: str
    point: str
    before: str
    after: str

    @property
    def pattern(self) -> str:
        """What a text of this format matches; groups 1 to 4 are its signs, digits and decimals."""
        sign = "[+\\-\u2212]?"
        whole = r"\d+"
        if self.group:
            # Blanks and quotes of all kinds are taken for each other: they look alike.
            kinds = next((each for each in (_BLANKS, _QUOTES) if self.group in each), self.group)
            whole = rf"\d{{1,3}}(?:[{re.escape(kinds)}]\d{{3}})+|\d+"
        before, after = re.escape(self.before), re.escape(self.after)
        decimals = rf"(?:{re.escape(self.point)}(\d+))?"
        return rf"^({sign})\s*{before}\s*({sign})\s*({whole}){decimals}\s*{after}$"


def check_number_format(column: str, format_: object) -> None:
    """Raise unless the format is an example of a number."""
    if not isinstance(format_, str) or _format_of(format_) is None:
        raise ParameterError(
            f"The number format of column {column!r} must be how the column writes 1234.5.",
            hint='Such as "1.234,5", "1,234.5 EUR" or "1234,5%".',
        )


@lru_cache(maxsize=256)
def _format_of(example: str) -> NumberFormat | None:
    found = _EXAMPLE.fullmatch(example.strip())
    if found is None or found["group"] == found["point"]:
        return None
    return NumberFormat(found["group"], found["point"], found["before"], found["after"])


def read_numbers(texts: pl.Series, example: str, dtype: pl.DataType) -> pl.Series:
    """Return the numbers that texts spell by a format; null where one doesn't."""
    format_ = _format_of(example)
    if format_ is None:
        raise ParameterError("A number format must be how a column writes 1234.5.")
    names = ("sign", "second", "whole", "decimals")
    found = texts.str.strip_chars().str.extract_groups(format_.pattern)
    parts = {name: found.struct[place].fill_null("") for place, name in enumerate(names)}
    signs = parts["sign"] + parts["second"]
    whole = parts["whole"].str.replace_all(r"\D", "").str.strip_chars_start("0")
    decimals = parts["decimals"].str.strip_chars_end("0")
    fits = (parts["whole"] != "") & (signs.str.len_chars() <= 1)
    if dtype.is_float():
        fits &= whole.str.len_chars() + decimals.str.len_chars() <= 15
    minus = signs.is_in(["-", "\u2212"]).cast(pl.String).replace({"true": "-", "false": ""})
    point = (decimals != "").cast(pl.String).replace({"true": ".", "false": ""})
    written = minus + "0" + whole + point + decimals
    numbers = written.set(~fits, None).cast(dtype, strict=False)
    return numbers.alias(texts.name)

"""Numbers as people write them, read by an example: how the column writes 1234.5."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from halfmask._errors import ParameterError

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

"""Dates in texts: days that are in the calendar, in figures or with the month's name."""

from __future__ import annotations

import calendar
import re
from typing import Final

from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern
from halfmask.masks.text._reading import SIGN

_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|"
    "januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|"
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|"
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|"
    "janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|"
    "gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|"
    "januari|februari|maart|mars|mei|maj|juni|juli|augusti|augustus|oktober|"
    "stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|"
    "listopada|grudnia|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|"
    "ноября|декабря"
)
_GAP: Final = r"\s{1,2}"  # a line may end within a date
_TIME: Final = r"(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_YEAR: Final = r"(?:1[89]|20)\d\d"
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_FIGURES: Final = re.compile(r"\d+")


def _length(text: str) -> int:
    """Return the length of a date whose first three numbers are a day of the calendar."""
    first, second, third = (int(it) for it in _FIGURES.findall(text)[:3])
    parts = [(first, second, third), (third, first, second), (third, second, first)]
    return len(text) if any(_is_day(*it) for it in parts) else 0


def _is_day(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12:
        return False
    # A year of two digits may be of any century: every fourth of them is a leap year.
    return 1 <= day <= calendar.monthrange(year or 2000, month)[1]


def _compact(text: str) -> int:
    """Return the length of a date in eight digits, with the digits of a time or without."""
    return len(text) if _is_day(int(text[:4]), int(text[4:6]), int(text[6:8])) else 0


def _in_figures(by: str, *forms: str) -> DetailPattern:
    """Return the dates whose numbers a sign parts: it stands before or after no other number."""
    apart = rf"\s?{by}\s?"
    return DetailPattern(
        rf"\d{apart}\d{{1,2}}{apart}\d",
        re.compile(
            rf"{BEFORE}(?<!\d{by})({'|'.join(it.replace('~', apart) for it in forms)})"
            rf"{AFTER}(?!{by}\d)"
        ),
        _length,
    )


DATES: Final = (
    # 2024-02-29, 2024-02-29T12:30:00Z, 29.02.2024, 29. 2. 24, 2/29/24 (ISO 8601-1, section 5.2.2)
    _in_figures("-", rf"{_YEAR}-\d\d?-\d\d?{_TIME}", rf"\d\d?~\d\d?~{_YEAR}", r"\d\d-\d\d-\d\d"),
    _in_figures(r"\.", rf"{_YEAR}\.\d\d?\.\d\d?", rf"\d\d?~\d\d?~(?:{_YEAR}|\d\d)"),
    _in_figures("/", rf"{_YEAR}/\d\d?/\d\d?", rf"\d\d?~\d\d?~(?:{_YEAR}|\d\d)"),
    # 20240229 and 20240229103000, as HL7 and DICOM write
    DetailPattern(
        r"\d{8}",
        re.compile(rf"{BEFORE}({_YEAR}[01]\d[0-3]\d(?:T?\d{{4}}(?:\d\d)?)?){AFTER}"),
        _compact,
    ),
    # 2024 with the signs for year, month and day of China, Japan and Korea
    DetailPattern(
        rf"\d{SIGN}\s?\d",
        re.compile(rf"{BEFORE}({_YEAR}\s?{SIGN}\s?\d\d?\s?{SIGN}\s?\d\d?(?:\s?{SIGN})?){AFTER}"),
        _length,
    ),
    # 3 May 2024, May 3rd, 2024, 3. Mai 2024, 3 de mayo de 2024
    DetailPattern(
        rf"(?i)\d(?:\p{{L}}{{2}}|[.º])?(?:{_GAP}(?:de|of))?\s{{0,2}}(?:{_MONTHS})"
        rf"|(?:{_MONTHS})[.]?{_GAP}\d",
        re.compile(
            rf"{BEFORE}(?<!\d\.)({_DAY}(?:(?:st|nd|rd|th|er|º)?(?:{_GAP}(?:de|of))?{_GAP}|[.]\s{{0,2}})"
            rf"(?:{_MONTHS})\b[.,]?(?:(?:{_GAP}de)?{_GAP}{_YEAR}|{_GAP}['\u2019]\d\d)?"
            rf"|(?:{_MONTHS})[.]?{_GAP}{_DAY}(?:st|nd|rd|th)?(?:,\s{{0,2}}{_YEAR}|{_GAP}{_YEAR})?)"
            rf"{AFTER}",
            re.IGNORECASE,
        ),
    ),
    # 29-Feb-2024, 29-Feb-24, 29/Feb/2024, 29FEB2024, 2024-Feb-29, as Oracle, SAS and logs write
    DetailPattern(
        rf"(?i)\d[\-./]?(?:{_MONTHS})|(?:{_MONTHS})-\d",
        re.compile(
            rf"{BEFORE}({_DAY}(?P<by>[\-./]?)(?:{_MONTHS})(?P=by){_YEAR}"
            rf"|{_DAY}-(?:{_MONTHS})-\d\d|{_YEAR}-(?:{_MONTHS})-{_DAY}|(?:{_MONTHS})-{_DAY}-{_YEAR})"
            rf"{AFTER}",
            re.IGNORECASE,
        ),
    ),
)

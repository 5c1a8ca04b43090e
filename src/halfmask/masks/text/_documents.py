"""Numbers of passports and licences, and postal codes: by their form or by the word before them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern, whole

#: Words between the one that announces a number and the number: "no.", "is", "number:".
_GAP: Final = r"(?:[\W_]{1,3}(?:no|nr|num|number|id|is|was|are|code)(?![^\W_])){0,3}[\W_]{1,4}"
_ANY_CASE: Final = re.IGNORECASE


def _has_digits(text: str) -> bool:
    return sum(map(str.isdigit, text)) >= 4  # words of a sentence have none


def _mrz(text: str) -> bool:
    """Return whether a passport's second line has its three check digits (ICAO 9303-4, 4.2.2)."""
    parts = ((text[0:9], text[9]), (text[13:19], text[19]), (text[21:27], text[27]))
    return all(_check_digit(part) == digit for part, digit in parts)


def _check_digit(part: str) -> str:
    """Return the check digit with the weights 7, 3, 1 (ICAO 9303-3, section 4.9)."""
    values = (0 if it == "<" else int(it, 36) for it in part)
    return str(sum(it * (7, 3, 1)[at % 3] for at, it in enumerate(values)) % 10)


#: Six to nine letters and digits after the word, and the line that machines read.
PASSPORTS: Final = (
    DetailPattern(
        r"(?i)pass(port|aporte|eport)|reisepass",
        re.compile(
            rf"(?:passports?|reisepass|passeport|pasaporte){_GAP}([A-Z0-9]{{6,9}}){AFTER}",
            _ANY_CASE,
        ),
        whole(_has_digits),
    ),
    DetailPattern(
        r"[A-Z0-9<]{9}\d[A-Z]{3}",
        re.compile(
            rf"{BEFORE}(?<!<)([A-Z0-9<]{{9}}\d[A-Z<]{{3}}\d{{7}}[MFX<]\d{{7}}[A-Z0-9<]{{14}}[0-9<]\d)"
            rf"{AFTER}"
        ),
        whole(_mrz),
    ),
)
#: Five to eighteen letters and digits after the word, and the British form.
DRIVING_LICENCES: Final = (
    DetailPattern(
        r"(?i)driv|führerschein|permis|licencia",
        re.compile(
            r"(?:driv(?:er|er['\u2019]?s|ing)\W{1,2}licen[cs]e|führerschein|permis de conduire"
            rf"|licencia de conducir){_GAP}([A-Z0-9](?:[ \-]?[A-Z0-9]){{4,17}}){AFTER}",
            _ANY_CASE,
        ),
        whole(_has_digits),
    ),
    DetailPattern(
        r"[A-Z9]{5}\d",
        re.compile(
            rf"{BEFORE}([A-Z]{{1,5}}9{{0,4}}(?<=[A-Z9]{{5}})\d[0156]\d[0-3]\d{{2}}"
            rf"[A-Z9]{{2}}[A-Z0-9]\d?[A-Z]{{2}}){AFTER}"
        ),
    ),
)
#: Codes whose form is no other number's, by country (ISO 3166-1).
POSTCODES: Final[Mapping[str, DetailPattern]] = {
    country: DetailPattern(needs, re.compile(rf"{BEFORE}(?<![^\W_]-)({form})(?!-?[^\W_])"))
    for country, needs, form in (
        ("BR", r"\d{5}-\d{3}", r"\d{5}-\d{3}"),
        ("CA", r"\d[A-Z] ?\d", r"[ABCEGHJ-NPRSTVXY]\d[A-CEGHJ-NPRSTV-Z] ?\d[A-CEGHJ-NPRSTV-Z]\d"),
        ("CZ", r"\d{3} \d\d", r"[1-7]\d\d \d\d"),
        ("GB", r"\d[A-Z]{2}", r"[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}|GIR ?0AA"),
        ("IE", r"[A-Z]\d[\dW] ?[\dA-Z]{4}", r"[AC-FHKNPRTV-Y]\d[\dW] ?[\dAC-FHKNPRTV-Y]{4}"),
        ("NL", r"\d{4} ?[A-Z]{2}", r"[1-9]\d{3} ?(?!SA|SD|SS|AD|BC|CE|KM|PM|AM)[A-Z]{2}"),
        ("PL", r"\d\d-\d{3}", r"\d\d-\d{3}"),
        ("PT", r"\d{4}-\d{3}", r"[1-9]\d{3}-\d{3}"),
        ("SE", r"\d{3} \d\d", r"[1-9]\d\d \d\d"),
        ("SK", r"\d{3} \d\d", r"[089]\d\d \d\d"),
        ("US", r"\d{5}", r"\d{5}-\d{4}|(?<=[A-Z]{2} )\d{5}|(?<=[A-Z]{2}, )\d{5}"),
    )
}
#: Any code of three to ten letters and digits after the word.
POSTCODE_AFTER_WORD: Final = DetailPattern(
    r"(?i)zip|post|plz|cep\b",
    re.compile(
        rf"{BEFORE}(?:zip(?: ?code)?|post(?:al)? ?code|postleitzahl|plz|code postal|cep){_GAP}"
        rf"([A-Z0-9]{{1,5}}\d(?:[ \-]?\d[A-Z0-9]{{1,3}})?){AFTER}",
        _ANY_CASE,
    ),
    whole(lambda text: sum(map(str.isdigit, text)) >= 2),
)

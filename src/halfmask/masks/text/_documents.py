"""Numbers of accounts, documents and nations in texts."""

from __future__ import annotations

import functools
import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from halfmask.data.value_patterns import iban, luhn
from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


_BORN: Final = r"\d\d[01]\d[0-3]\d"  # year, month, day; some countries add to the month
_BORN_ABROAD: Final = r"[0-7]\d[01]\d\d\d"  # day, month, year; some countries add to the day

#: By country (ISO 3166-1): modules of python-stdnum, and the form that each is written in.
_NUMBERS: Final[dict[str, dict[str, str]]] = {
    "AT": {"at.vnr": rf"\d{{4}} ?{_BORN_ABROAD}"},
    "AU": {"au.tfn": r"\d{3} ?\d{3} ?\d{3}"},
    "BE": {"be.nn": r"\d\d[.]?\d\d[.]?\d\d[ \-]?\d{3}[. ]?\d\d"},
    "BG": {"bg.egn": r"\d{10}"},
    "BR": {"br.cpf": r"\d{3}[.]?\d{3}[.]?\d{3}-?\d\d"},
    "CA": {"ca.sin": r"\d{3}(?:[ \-]?)\d{3}(?:[ \-]?)\d{3}"},
    "CH": {"ch.ssn": r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d\d"},
    "CL": {"cl.rut": r"\d{1,2}[.]?\d{3}[.]?\d{3}-?[\dKk]"},
    "CN": {"cn.ric": r"\d{17}[\dXx]"},
    "CZ": {"cz.rc": r"\d{6}/?\d{3,4}"},
    "DE": {"de.idnr": r"\d\d ?\d{3} ?\d{3} ?\d{3}"},
    "DK": {"dk.cpr": rf"{_BORN_ABROAD}-?\d{{4}}"},
    "EE": {"ee.ik": rf"[1-8]{_BORN}\d{{4}}"},
    "ES": {"es.dni": r"\d{8}[ \-]?[A-Za-z]", "es.nie": r"[XYZxyz][ \-]?\d{7}[ \-]?[A-Za-z]"},
    "FI": {"fi.hetu": rf"{_BORN_ABROAD}[-+A-FU-Ya-fu-y]\d{{3}}[0-9A-Za-z]"},
    "FR": {"fr.nir": r"[1-478] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d"},
    "GB": {"gb.nhs": r"\d{3}[ \-]?\d{3}[ \-]?\d{4}"},
    "GR": {"gr.amka": rf"{_BORN_ABROAD}\d{{5}}"},
    "HR": {"hr.oib": r"\d{11}"},
    "IE": {"ie.pps": r"\d{7} ?[A-Wa-w][A-IWa-iw]?"},
    "IL": {"il.idnr": r"\d{9}"},
    "IN": {"in_.aadhaar": r"[2-9]\d{3}[ \-]?\d{4}[ \-]?\d{4}", "in_.pan": r"[A-Z]{5}\d{4}[A-Z]"},
    "IS": {"is_.kennitala": rf"{_BORN_ABROAD}-?\d{{4}}"},
    "IT": {"it.codicefiscale": r"[A-Za-z]{6}\d\d[A-Za-z]\d\d[A-Za-z]\d{3}[A-Za-z]"},
    "KR": {"kr.rrn": rf"{_BORN}-?\d{{7}}"},
    "LT": {"lt.asmens": rf"[1-6]{_BORN}\d{{4}}"},
    "MX": {"mx.curp": rf"[A-Za-z]{{4}}{_BORN}[A-Za-z]{{6}}[0-9A-Za-z]\d"},
    "MY": {"my.nric": rf"{_BORN}-?\d\d-?\d{{4}}"},
    "NL": {"nl.bsn": r"\d{9}|\d{4}[. ]\d\d[. ]\d{3}"},
    "NO": {"no.fodselsnummer": rf"{_BORN_ABROAD} ?\d{{5}}"},
    "PL": {"pl.pesel": r"\d\d[0-9]\d[0-3]\d\d{5}"},
    "PT": {"pt.cc": r"\d{8} ?\d ?[A-Za-z0-9]{2}\d"},
    "RO": {"ro.cnp": rf"[1-9]{_BORN}\d{{6}}"},
    "SE": {"se.personnummer": r"(?:19|20)?\d{6}[-+]?\d{4}"},
    "SI": {"si.emso": r"[0-3]\d[01]\d{10}"},
    "SK": {"sk.rc": r"\d{6}/?\d{3,4}"},
    "TH": {"th.pin": r"\d-?\d{4}-?\d{5}-?\d\d-?\d"},
    "TR": {"tr.tckimlik": r"[1-9]\d{10}"},
    # Without its hyphens any nine digits would do: the number has no check digit.
    "US": {"us.ssn": r"\d{3}-\d\d-\d{4}", "us.itin": r"9\d\d-\d\d-\d{4}"},
    "ZA": {"za.idnr": rf"{_BORN} ?\d{{4}} ?\d ?\d ?\d"},
}
#: The British number for work and taxes has no check digit, and letters that make it rare.
_NINO: Final = DetailPattern(
    r"[A-Za-z]{2} ?\d\d ?\d\d ?\d\d",
    re.compile(
        rf"{BEFORE}((?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
        rf" ?\d\d ?\d\d ?\d\d ?[A-D]){AFTER}"
    ),
)
#: Countries with a number that is looked for.
NATIONAL_COUNTRIES: Final = frozenset(_NUMBERS)


@functools.cache
def national_numbers(country: str) -> tuple[DetailPattern, ...]:
    """Return the patterns of a country's numbers for people.

    Notes
    -----
    The checks are those of python-stdnum. Most have a check digit of one in 10 or 11, and many
    hold a date of birth, which is checked as well.

    Examples
    --------
    >>> [list(it.spans("SSN 536-90-4399, not 666-90-4399.")) for it in national_numbers("US")]
    [[(4, 15)], []]
    """
    found = [_of_module(module, form) for module, form in _NUMBERS[country].items()]
    return (*found, _NINO) if country == "GB" else tuple(found)


def _of_module(module: str, form: str) -> DetailPattern:
    is_valid: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid

    def accepts(text: str) -> bool:
        try:
            return is_valid(text)
        except (LookupError, ValueError):
            # Some modules fail on digits of other scripts, and on places that they don't list.
            return False

    regex = re.compile(rf"{BEFORE}(?<!\d[.\-/])(?=({form}){AFTER}(?![\-/.]\d))")
    return DetailPattern(form, regex, whole(accepts))


#: Lengths of IBANs by country (SWIFT IBAN registry, ISO 13616-2).
_REGISTRY: Final = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26
IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28
NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25
SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
_IBAN_LENGTHS: Final = {each[:2]: int(each[2:]) for each in _REGISTRY.split()}
#: First digits and lengths of the card schemes, Luhn's checksum aside (ISO/IEC 7812-1).
_SCHEMES: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}(?:\d{3})?"  # Discover
    r"|35\d{14}(?:\d{3})?|(?:1800|2131)\d{11}"  # JCB
    r"|3(?:0[0-59]|6\d|[89]\d)\d{11}(?:\d{2}|\d{5})?"  # Diners Club
    r"|(?:50|5[6-9]|6\d)\d{10,17}"  # Maestro, UnionPay and others
    r"|220[0-4]\d{12,15}"  # Mir
)
#: Between the groups of a number: a blank or a new line, or another sign, perhaps between blanks.
_BY: Final = r"[\s._\-/]{1,3}"
_SEPARATORS: Final = re.compile(_BY)
_LEAST_DIGITS: Final = 12


def _card(text: str) -> int:
    """Return how many characters at the start are a card number."""
    gaps = list(_SEPARATORS.finditer(text))
    while len(text) >= _LEAST_DIGITS:
        digits = _SEPARATORS.sub("", text)
        if _SCHEMES.fullmatch(digits) and _is_even(gaps) and luhn(digits):
            return len(text)
        # The last group may be something else, such as the month that a card is valid to.
        text = text[: gaps.pop().start()] if gaps else ""
    return 0


def _is_even(gaps: list[re.Match[str]]) -> bool:
    """Return whether one sign stands between all groups; blanks and hyphens may change."""
    found = {it.group().strip() or " " for it in gaps}
    return found <= {" ", "-"} or len(found) == 1


def _account(text: str) -> int:
    """Return how many characters at the start are an IBAN of its country's length."""
    wanted = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    places = [at for at, each in enumerate(text) if each.isalnum()]
    if not wanted or len(places) < wanted:
        return 0
    stop = places[wanted - 1] + 1
    ends = not text[stop : stop + 1].isalnum()
    return stop if ends and iban("".join(text[it] for it in places[:wanted])) else 0


#: Card numbers of 12 to 19 digits: a scheme's first digits and Luhn's checksum. After a point they
#: are decimals.
CARD: Final = DetailPattern(
    rf"\d(?:(?:{_BY})?\d){{11}}",
    re.compile(rf"(?<!\d)(?<!\d\.)(?=[1-6])(?=(\d+(?:{_BY}\d+){{0,7}}))"),
    _card,
)
#: Accounts by their country's length and checksum (ISO 13616, ISO 7064 MOD 97-10).
IBAN: Final = DetailPattern(
    rf"[A-Za-z]{{2}}\d{{2}}|[A-Z]{{2}}{_BY}\d{{2}}",
    re.compile(
        rf"{BEFORE}(?=((?:[A-Za-z]{{2}}|[A-Z]{{2}}{_BY})\d{{2}}(?:(?:{_BY})?[A-Za-z0-9]){{11,30}}))"
    ),
    _account,
)

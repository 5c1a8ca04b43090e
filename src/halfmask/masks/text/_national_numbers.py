"""Numbers that states give to people, by country: form and check digits."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import import_module
from typing import Final

from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern, whole

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

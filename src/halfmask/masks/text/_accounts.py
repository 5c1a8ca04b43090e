"""Numbers of cards and bank accounts in texts, by their checksums."""

from __future__ import annotations

import re
from typing import Final

from halfmask.data.value_patterns import iban, luhn
from halfmask.masks.text._pattern import BEFORE, DetailPattern

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

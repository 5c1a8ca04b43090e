"""Addresses of the internet in texts: e-mail, web, IP; and the numbers of devices."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern, whole
from halfmask.masks.text._reading import SIGN

#: Zeros that a decimal number begins with.
_ZEROS: Final = re.compile(r"(?<![0-9A-Fa-f:])0+(?=\d+(?:\.|$))")


def _is_ip(text: str) -> bool:
    try:
        if "." in text:  # logs pad numbers: 010.000.000.001
            text = _ZEROS.sub("", text)
        return not ipaddress.ip_address(text).is_unspecified  # "::" stands in code, too
    except ValueError:
        return False


def _ipv6(text: str) -> int:
    """Return how many characters at the start are an address: a colon may follow it."""
    plain = text if _is_ip(text) else text.removesuffix(":")
    return len(plain) if _is_ip(plain) else 0


#: Apostrophes that people type: straight, curly, a backtick, an accent, full width.
_APOSTROPHES: Final = "'`\u00b4\u2018\u2019\uff07"
#: Before the @: an apostrophe or the like stands between others; in scripts without blanks, a run.
_LOCAL: Final = (
    rf"[\w+](?:[\w.%+\-]|[{_APOSTROPHES}&!#$?^~*](?=[\w.%+\-])){{0,63}}|{SIGN}{{1,64}}"
    r"|\"(?:[^\"\\\r\n]|\\.){1,62}\""
)
#: All but the last may hold a low line, as names of hosts do.
_HOST: Final = rf"(?:[^\W_](?:[\w\-]{{0,61}}[^\W_])?|{SIGN}{{1,63}})\."
_LABEL: Final = rf"(?:[^\W_](?:(?:[^\W_]|-){{0,61}}[^\W_])?|{SIGN}{{1,63}})"
#: Addresses as mail programs accept them (RFC 5321, sections 4.1.2 and 4.5.3.1: 64 characters
#: before the @), quoted ones and those of a number, too; in a URL the @ is written %40.
EMAIL: Final = DetailPattern(
    "@|%40",
    re.compile(
        rf"((?:{_LOCAL})(?:@|%40)(?:(?:{_HOST}){{1,8}}{_LABEL}|\[(?:IPv6:)?[0-9A-Fa-f.:]{{2,45}}\]))"
    ),
)
#: Punctuation of scripts without blanks, which ends an address.
_CLOSING: Final = "\u3001\u3002\u300a-\u300d\u3010\u3011\uff01\uff0c\uff1b\uff1f\u201c\u201d"
_PATH: Final = rf"[^\s<>\"'{_CLOSING}{SIGN}]|(?<=[\w/?#=&.%~+\-{SIGN}]){SIGN}"
#: Web addresses with a scheme or ``www.``, without the punctuation that ends a sentence. A sign of
#: a script without blanks is part of one inside a path or a name, not after a bracket.
URL: Final = DetailPattern(
    r"(?i)https?://|ftp://|www\.",
    re.compile(
        rf"((?:(?:https?|ftp)://|{BEFORE}www\.)(?:{_PATH})*"
        rf"[^\s<>\"'.,;:!?)\]{_CLOSING}])", re.IGNORECASE,
    ),
)  # fmt: skip
#: Not after another group of an address.
_NO_GROUP: Final = "(?<!::)" + "".join(rf"(?<!{BEFORE}[0-9A-Fa-f]{{{it}}}:)" for it in range(1, 5))
#: Addresses of version 4 and 6 (RFC 4291, section 2.2). A port or a mask after them stays.
IP: Final = (
    DetailPattern(
        r"\d\.\d{1,3}\.\d",
        re.compile(rf"{BEFORE}(?<!\d\.)(?=(\d{{1,3}}(?:\.\d{{1,3}}){{3}}){AFTER}(?!\.\d))"),
        whole(_is_ip),
    ),
    DetailPattern(
        r":[0-9A-Fa-f]{0,4}:",
        re.compile(
            rf"{BEFORE}{_NO_GROUP}(?=[0-9A-Fa-f]{{0,4}}:)"
            rf"(?=([0-9A-Fa-f:]{{2,39}}(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}})?){AFTER}(?!\.\d))"
        ),
        _ipv6,
    ),
)
#: Addresses of network devices (IEEE 802, EUI-48).
MAC: Final = DetailPattern(
    r"[0-9A-Fa-f]{2}[:\-][0-9A-Fa-f]{2}[:\-]",
    re.compile(
        rf"{BEFORE}(?<!{BEFORE}[0-9A-Fa-f]{{2}}[:\-])"
        r"([0-9A-Fa-f]{2}(?P<by>[:\-])(?:[0-9A-Fa-f]{2}(?P=by)){4}[0-9A-Fa-f]{2})"
        rf"{AFTER}(?!(?P=by)[0-9A-Fa-f]{{2}}{AFTER})"
    ),
)
#: Identifiers of accounts, devices and sessions (RFC 9562).
UUID: Final = DetailPattern(
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-",
    re.compile(rf"(?i){BEFORE}([0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}){AFTER}"),
)

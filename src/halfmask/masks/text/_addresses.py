"""Addresses of the internet in texts: e-mail, web, IP; and the numbers of devices."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from halfmask.masks.text._pattern import DetailPattern, whole

__all__ = ["EMAIL", "IP", "MAC", "URL", "UUID"]


def _is_ip(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_unspecified  # "::" stands in code, too
    except ValueError:
        return False


#: Addresses as mail programs accept them (RFC 5321, section 4.5.3.1: 64 characters before the @).
EMAIL: Final = DetailPattern(
    "@", re.compile(r"([\w.%+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8})")
)
#: Web addresses with a scheme or ``www.``, without the punctuation that ends a sentence.
URL: Final = DetailPattern(
    r"(?i)https?://|ftp://|www\.",
    re.compile(
        r"((?:(?:https?|ftp)://|\bwww\.)[^\s<>\"']*[^\s<>\"'.,;:!?)\]])", re.IGNORECASE
    ),
)  # fmt: skip
#: Addresses of version 4 and 6 (RFC 4291, section 2.2).
IP: Final = DetailPattern(
    r"\d\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:",
    re.compile(
        r"(?<![\w.:])(\d{1,3}(?:\.\d{1,3}){3}"
        r"|(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?)(?![\w:]|\.\d)"
    ),
    whole(_is_ip),
)
#: Addresses of network devices (IEEE 802, EUI-48).
MAC: Final = DetailPattern(
    r"[0-9A-Fa-f]{2}[:\-][0-9A-Fa-f]{2}[:\-]",
    re.compile(
        r"(?<![\w:\-])([0-9A-Fa-f]{2}(?P<by>[:\-])(?:[0-9A-Fa-f]{2}(?P=by)){4}[0-9A-Fa-f]{2})"
        r"(?![\w:\-])"
    ),
)
#: Identifiers of accounts, devices and sessions (RFC 9562).
UUID: Final = DetailPattern(
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-",
    re.compile(r"(?i)(?<![\w\-])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w\-])"),
)

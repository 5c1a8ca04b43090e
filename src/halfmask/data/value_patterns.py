"""Forms that values have, counted: e-mail addresses, card numbers, coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

#: What a program writes where it knows nobody, in the syntax of Python and of Rust's regex crate:
#: blanks, which are more in Python, and truth values. Those who have them are many.
NOBODY: Final = r"^[\s\x1c-\x1f]*(?:true|false)?[\s\x1c-\x1f]*$"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A form of text."""

    about: str
    regex: str
    identifies: bool
    least: float
    check: Callable[[str], bool] | None = None


def luhn(text: str) -> bool:
    """Tell whether the digits satisfy Luhn's checksum (ISO/IEC 7812-1, annex B).

    Examples
    --------
    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [d * 2 - 9 * (d > 4) for d in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """Tell whether the text satisfies the checksum of an IBAN (ISO 13616, ISO 7064 mod 97-10).

    Examples
    --------
    >>> iban("GB82 WEST 1234 5698 7654 32"), iban("GB82 WEST 1234 5698 7654 33")
    (True, False)
    """
    plain = text.replace(" ", "").upper()
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


OCTET = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
PATTERNS = {
    "email": Pattern(
        "an e-mail address", r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$", identifies=True, least=0.1
    ),
    "url": Pattern("a web address", r"^(?i:https?://|www\.)\S+$", identifies=True, least=0.3),
    "ip": Pattern(
        "an IP address",
        rf"^({OCTET}\.){{3}}{OCTET}$|^([0-9A-Fa-f]{{0,4}}:){{3,7}}[0-9A-Fa-f]{{0,4}}$",
        identifies=True,
        least=0.1,
    ),
    "mac": Pattern(
        "a device's address",
        r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
        identifies=True,
        least=0.3,
    ),
    "uuid": Pattern(
        "a UUID",
        r"^(?i)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
        identifies=True,
        least=0.3,
    ),
    "iban": Pattern(
        "an IBAN with a right checksum",
        r"^[A-Z]{2}\d{2} ?([A-Za-z0-9]{1,4} ?){3,8}$",
        identifies=True,
        least=0.1,
        check=iban,
    ),
    # A tenth of random digits passes Luhn's check; a column of cards passes throughout.
    "card": Pattern(
        "a card number with a right checksum",
        r"^[2-6]\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}$|^3\d{3}[ -]?\d{6}[ -]?\d{5}$",
        identifies=True,
        least=0.5,
        check=luhn,
    ),
    "ssn": Pattern(
        "a US social security number",
        r"^(00[1-9]|0[1-9]\d|[1-578]\d{2}|6[0-57-9]\d|66[0-57-9])-\d{2}-\d{4}$",
        identifies=True,
        least=0.1,
    ),
    "phone": Pattern(
        "a telephone number",
        r"^(\+|00)\d[\d ()./-]{6,18}$|^\(?0?\d{1,4}\)?[ ./-]\(?\d{2,4}\)?([ ./-]?\d{2,4}){1,4}$",
        identifies=True,
        least=0.6,
    ),
    # A number of a house and a word for a street, in either order.
    "address": Pattern(
        "a street with a number",
        r"^(?i)\d{1,5}[a-z]?,? ([\p{L}\d.'-]+ ){1,4}(street|st|avenue|ave|road|rd|lane|ln|drive|dr|"
        r"boulevard|blvd|court|ct|way|terrace|crescent|close|square)\b|"
        r"^(?i)\d{1,5}( bis| ter)?,? (rue|avenue|av\.|boulevard|bd|chemin|allée|impasse) \p{L}|"
        r"^(?i)(calle|c/|avenida|av\.|via|viale|piazza|rua|ulica|ul\.) ?\p{L}.*\d|"
        r"^(?i)\p{L}[\p{L} .'-]*(straße|strasse|str\.|weg|gasse|allee|platz|ring|straat|laan|plein|"
        r"gracht|gatan|vägen|gade|vej|veien|katu) \d{1,4} ?[a-z]?\b",
        identifies=True,
        least=0.3,
    ),
    "coordinates": Pattern(
        "a pair of coordinates",
        r"^[(\[]?-?\d{1,3}\.\d{2,}[,; ]\s*-?\d{1,3}\.\d{2,}[)\]]?$|"
        r"^(?i)(SRID=\d+;)?\s*POINT\s*(Z\s*)?\(\s*-?\d+(\.\d+)?\s+-?\d+(\.\d+)?[\s\d.-]*\)$",
        identifies=False,
        least=0.5,
    ),
    "degrees": Pattern(
        "a coordinate in degrees and minutes",
        r"^\s*[NSEWO+-]?\s*\d{1,3}\s*[°º˚]\s*\d",
        identifies=False,
        least=0.5,
    ),
    "h3": Pattern("a cell of H3", r"^8[0-9a-f]{14}$", identifies=False, least=0.9),
    "postcode": Pattern(
        "a postal code",
        r"^\d{5}(-\d{3,4})?$|^\d{3}(\*\*|xx)$|^[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}$|"
        r"^[A-Z]\d[A-Z] ?\d[A-Z]\d$|^\d{4} ?[A-Z]{2}$|^\d{2}-\d{3}$|^\d{3} \d{2}$|"
        r"^[A-Z]\d[\dW] ?[A-Z\d]{4}$|^(D|DE|CH|AT|FR|IT|ES|BE|NL|LU|DK|SE|FI)-\d{4,5}$",
        identifies=False,
        least=0.6,
    ),
    "missing": Pattern(
        "a marker of a missing value",
        r"^(?i:\?+|n/?a|nan|null|none|-+|\.+|#n/a|unknown|missing|not available|k\.? ?a\.?)$|^\s*$",
        identifies=False,
        least=1.1,
    ),
}


def names_nobody(persons: pl.Series) -> pl.Series:
    """Return where a column of persons names nobody: missing, blank, or a truth value."""
    if persons.dtype == pl.Boolean:
        return pl.repeat(True, len(persons), eager=True)
    if persons.dtype in (pl.String, pl.Categorical, pl.Enum):
        return persons.cast(pl.String).str.contains(NOBODY).fill_null(value=True)
    return persons.is_null()


def pattern_shares(texts: pl.Series) -> dict[str, float]:
    """Return the share of texts, none of them missing, that have each form; none for no text."""
    if texts.is_empty():
        return {}
    shares = {}
    for name, pattern in PATTERNS.items():
        fits = texts.filter(texts.str.contains(pattern.regex))
        n = fits.len() if pattern.check is None else sum(map(pattern.check, fits))
        if n:
            shares[name] = n / texts.len()
    return shares

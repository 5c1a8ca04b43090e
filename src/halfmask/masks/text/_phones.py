"""Telephone numbers in texts: by the numbering plans of countries, or by their form."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from halfmask._errors import ParameterError
from halfmask.masks.text._pattern import AFTER, BEFORE, DetailPattern

_NEEDS: Final = r"\d(?:[\s\-./()]{0,3}\d){5}"
_LAST_GROUP: Final = re.compile(r"[\s(./\-]+[^\s(./\-]*$")
_LAST_PART: Final = re.compile(r"[\s(/]+[^\s(/]*$")
_LEAST_DIGITS: Final = 6
_MOST_DIGITS: Final = 20  # with an extension

#: Anything that is written as telephone numbers are: 7 to 15 digits (ITU-T E.164).
PHONE_FORM: Final = DetailPattern(
    _NEEDS, re.compile(rf"{BEFORE}(?<!\d\.)((?:\+|\(|0)?\d(?:[ \-./()]{{0,2}}\d){{6,14}}){AFTER}")
)


@functools.cache
def phones(regions: tuple[str, ...]) -> DetailPattern:
    """Return the pattern of numbers of some countries, and of those with a country code.

    Notes
    -----
    The numbering plans are those of libphonenumber.

    Examples
    --------
    >>> list(phones(("GB",)).spans("Call 020 7946 0018 or +1 202-555-0134."))
    [(5, 18), (22, 37)]
    """
    regex = re.compile(
        rf"{BEFORE}(?<!\+)(?<!\d[.\-](?!\+))(?<!\d/(?![+0(]))"
        r"(?=(\+?(?:\(\d{1,5}\)[\s./\-]?)?\d+(?:[\s()./\-]{1,3}\d+){0,7}"
        rf"(?:\s?(?:x|ext\.?)\s?\d{{1,6}})?){AFTER})",
        re.IGNORECASE,
    )
    return DetailPattern(_NEEDS, regex, functools.partial(_length, regions))


def check_regions(countries: Sequence[str]) -> None:
    """Raise if a country has no numbering plan."""
    import phonenumbers as plans  # noqa: PLC0415 # an extra, and slow to import

    unknown = [it for it in countries if it not in plans.SUPPORTED_REGIONS]
    if unknown:
        raise ParameterError(
            f"There is no country {unknown[0]!r} with a numbering plan.",
            hint="Take codes of ISO 3166-1, such as GB for the United Kingdom.",
        )


def _length(regions: tuple[str, ...], text: str) -> int:
    while text:
        n_digits = sum(map(str.isdigit, text))
        if n_digits < _LEAST_DIGITS:
            return 0
        # The plans' library stops reading where a line ends.
        if n_digits <= _MOST_DIGITS and _is_number(regions, " ".join(text.split())):
            return len(text)
        text = _shortened(text)
    return 0


def _shortened(text: str) -> str:
    """Return a number without its last part, which may be something else, such as a time."""
    for last in (_LAST_GROUP, _LAST_PART):
        found = last.search(text)
        if found is None:
            break
        rest = text[: found.start()]
        # Hyphens and points that part the other groups, too, belong to the number.
        if text.startswith("+") or found.group()[0] not in "-." or found.group()[0] not in rest:
            return rest
    return ""


@functools.lru_cache(maxsize=100_000)
def _is_number(regions: tuple[str, ...], text: str) -> bool:
    import phonenumbers as plans  # noqa: PLC0415 # an extra, and slow to import

    # After a plus nothing but a telephone number stands: its length decides. Elsewhere it must be
    # one that the country's plan assigns.
    coded = text.startswith("+")
    accepts = plans.is_possible_number if coded else plans.is_valid_number
    for region in (None,) if coded else regions:
        try:
            if accepts(plans.parse(text, region)):
                return True
        except plans.NumberParseException:
            continue
    return False

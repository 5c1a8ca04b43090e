"""Lists in one option: commas part the items, and double quotes stand around one with a comma."""

from __future__ import annotations

import re
from typing import Final

from halfmask.cli._failures import UsageError

#: An item, quoted or not, up to the next comma.
_ITEM: Final = re.compile(r' *(?:"((?:[^"]|"")*)"|([^",]*?)) *(?=,|$)')
#: Bare items of which nobody can say whether single quotes are part of them: 'A', and 'A, b'.
_IN_SINGLE_QUOTES: Final = re.compile(r"(?:^|,)'.*'(?:,|$)", re.DOTALL)


def items_of(text: str, what: str) -> tuple[str, ...]:
    """Return the items of a list; ``what`` says in errors what an item is."""
    found: list[str] = []
    bare: list[str] = []
    at = 0
    while at <= len(text):
        match = _ITEM.match(text, at)
        if match is None or not match[0].strip():
            raise UsageError(
                f"{what} is empty, or has a double quote within.",
                hint='Write ITEM,ITEM. Quote an item with a comma, "A, b", and double a quote, '
                '"5""".',
            )
        quoted = match[1] is not None
        found.append(match[1].replace('""', '"') if quoted else match[2])
        bare.append("" if quoted else match[2])
        at = match.end() + 1
    if _IN_SINGLE_QUOTES.search(",".join(bare)):
        raise UsageError(
            f"{what} stands in single quotes, which are no quotes in a list.",
            hint='Use double quotes: "A, b", or "\'A\'" if single ones are part of it.',
        )
    return tuple(found)

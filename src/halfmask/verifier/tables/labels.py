"""What is written for a class, read back: a range, a set, a value, and whether missing fits."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from halfmask._errors import VerificationError

#: What is written for all values of a column without a hierarchy; a value like it is quoted.
ROOT: Final = "*"
OR_MISSING: Final = " or missing"
#: A set that is cut short names its first members and how many it has.
CUT_SHORT: Final = re.compile(r"\.\.\. \d+ in all\}")


@dataclass(frozen=True, slots=True)
class Label:
    """One label: a range of two ends, or the values that it names; and whether missing fits.

    The upper end of an open range isn't in it. A set that isn't whole has more members than it
    names.
    """

    form: Literal["range", "open range", "values"]
    parts: tuple[str, ...]
    missing: bool
    is_whole: bool = True


def read_label(text: str) -> Label:
    """Return what a label says; one that can't be read raises."""
    missing = text.endswith(OR_MISSING)
    rest = text.removesuffix(OR_MISSING)
    if rest.startswith("["):
        ends = rest[1:-1].split(", ")
        if not rest.endswith(("]", ")")) or len(ends) != 2:
            raise VerificationError("A range of the release can't be read.")
        form = "range" if rest.endswith("]") else "open range"
        return Label(form, tuple(ends), missing)  # type: ignore[arg-type] # one of both
    if rest.startswith("{"):
        members, is_whole = _members(rest)
        return Label("values", tuple(members), missing, is_whole)
    if rest.startswith('"'):
        return Label("values", (_quoted(rest, 0)[0],), missing)
    return Label("values", (rest,), missing)


def _members(text: str) -> tuple[list[str], bool]:
    """Return the members that a set names, and whether these are all."""
    members, at = [], 1
    while True:
        if text[at : at + 1] == '"':
            member, at = _quoted(text, at)
        else:
            found = re.compile(r"[^,{}\[\]\"\\]*").match(text, at)
            end = at if found is None else found.end()
            member, at = text[at:end], end
        members.append(member)
        if text[at:] == "}":
            return members, True
        if not text.startswith(", ", at):
            raise VerificationError("A set of the release can't be read.")
        at += 2
        if CUT_SHORT.fullmatch(text, at):
            return members, False


def _quoted(text: str, at: int) -> tuple[str, int]:
    try:
        member, end = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        raise VerificationError("A quoted label of the release can't be read.") from None
    return str(member), end

"""What is wrong with a section of an events' policy, said by place and in our words.

Each section says its own faults; the section around it puts the place before them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from halfmask._errors import HalfmaskError, PolicyError

if TYPE_CHECKING:
    import tomllib

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["near", "policy_error", "toml_error", "word"]

#: How many faults one error names; the others are counted.
_NAMED: Final = 5
#: Words longer than this aren't misspelt words of ours.
_LONGEST_WORD: Final = 40
_MOST_LISTED: Final = 20

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "too_short": "a list that isn't empty",
    "string_too_short": "text that isn't empty",
    "string_too_long": "a shorter text",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}


def toml_error(error: tomllib.TOMLDecodeError, what: str) -> PolicyError:
    """Return what may be said of a file that isn't TOML: the place, not the text there."""
    at = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
    return PolicyError(
        f"{what} isn't valid TOML{f' at {at.group(1)}' if at else ''}.",
        hint="Look for a missing quote or bracket, or for a key or section that stands twice.",
    )


def policy_error(error: ValidationError, model: type[BaseModel]) -> PolicyError:
    """Return the faults of a section, by place, each in one sentence, with the likeliest repair."""
    faults = error.errors(include_url=False)
    said = [_sentence(fault, model) for fault in faults[:_NAMED]]
    more = len(faults) - len(said)
    sentences = [sentence for sentence, _ in said] + ([f"There are {more} more."] if more else [])
    hints = [hint for _, hint in said if hint is not None]
    return PolicyError(" ".join(sentences), hint=hints[0] if hints else None)


def near(wrong: object, known: Sequence[str]) -> str | None:
    """Return a hint of what was probably meant, or of all that there is where it isn't much."""
    spelt = (wrong, wrong.lower()) if isinstance(wrong, str) else ()
    close = [it for text in spelt for it in difflib.get_close_matches(text, known, n=1)]
    if close:
        return f"Did you mean {close[0]!r}?"
    listed = 0 < len(known) <= _MOST_LISTED
    return f"There are {', '.join(map(repr, known))}." if listed else None


def _sentence(fault: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """Return what is wrong, and a hint."""
    kind, loc = fault["type"], fault["loc"]
    where, context = _place(loc), fault.get("ctx", {})
    hint = None
    if kind == "missing":
        what = f"the key {str(loc[-1])!r} is lacking."
    elif kind == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        what, hint = f"there is no key {word(loc[-1])}.", near(loc[-1], known)
    elif kind == "value_error":
        what, hint = _own(where, context.get("error"))
    elif kind == "union_tag_not_found":
        what = f"{where}the key 'do' is lacking."
    elif kind == "union_tag_invalid":
        given = fault["input"]
        tag = given.get("do") if isinstance(given, Mapping) else None
        # Anything but text isn't a misspelt word of ours.
        shown = f"action {word(tag)}" if isinstance(tag, str) else "such action"
        what = f"{where}there is no {shown}."
        hint = near(tag, _quoted(context["expected_tags"]))
    else:
        hint = near(fault["input"], _quoted(context.get("expected", "")))
        what = f"{where}must be {_wanted(kind, context)}. Got {_got(fault)}."
    return what, hint


def _place(loc: Sequence[int | str]) -> str:
    """Return where something stands below its section, to be put before what is wrong."""
    where = ""
    match list(loc):
        case [] | ["do", 0, *_]:
            pass
        case ["rule", int(number), *_]:
            where = f"[[rule]] number {number + 1}: "
        case ["do", int(number), *_]:
            where = f"then number {number}: "
        case ["stream", *_]:
            where = "[stream]: "
        case [key, int(number), *_]:
            where = f"{str(key)!r} number {number + 1}: "
        case [key, *_]:
            where = f"{str(key)!r}: "
    return where


def _own(where: str, error: object) -> tuple[str, str | None]:
    """Say what a check of ours said, with the place before it."""
    if isinstance(error, HalfmaskError):
        return where + error.what, error.hint
    return f"{where}isn't what it may be.", None


def _wanted(kind: str, context: Mapping[str, object]) -> str:
    if kind == "literal_error":
        return str(context["expected"])
    if kind in _BOUNDS:
        key, relation = _BOUNDS[kind]
        return f"{relation} {context[key]}"
    return _TYPES.get(kind, "text, a number, a list or a table")


def _got(fault: ErrorDetails) -> str:
    """Return what may be said of a value: a number, or a word where only few are possible."""
    value = fault["input"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if len(repr(value)) < _LONGEST_WORD else "a very long number"
    if isinstance(value, str):
        return word(value) if fault["type"] == "literal_error" else "text"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def _quoted(said: object) -> list[str]:
    return re.findall(r"'([^']*)'", str(said))


def word(value: object) -> str:
    """Return what may be shown of a key: itself, if it can be a misspelt word of ours."""
    text = str(value)
    return repr(text) if len(text) < _LONGEST_WORD else f"of {len(text)} characters"

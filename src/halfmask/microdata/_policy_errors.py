"""What is wrong with a policy file, said by place and in our words.

Pydantic's and tomllib's own messages quote what was given. A policy can hold category levels (in
hierarchies and markers of missing values), and levels must not reach a log.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from halfmask._errors import HalfmaskError, PolicyError
from halfmask.microdata._policy_sections import kinds_having, section_at

if TYPE_CHECKING:
    import tomllib

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["policy_error", "toml_error"]

#: How many faults one error names; the others are counted.
NAMED: Final = 5
#: Words longer than this aren't misspelt words of ours.
LONGEST_WORD: Final = 40

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
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
    "string_too_short": "one character",
    "string_too_long": "one character",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}


def toml_error(error: tomllib.TOMLDecodeError) -> PolicyError:
    """Return what may be said of a file that isn't TOML: the place, not the text there."""
    at = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
    return PolicyError(
        f"The policy isn't valid TOML{f' at {at.group(1)}' if at else ''}.",
        hint="Look for a missing quote or bracket, or for a key or section that stands twice.",
    )


def policy_error(error: ValidationError, model: type[BaseModel]) -> PolicyError:
    """Return the faults of a policy, by place, each in one sentence, with the likeliest repair."""
    faults = error.errors(include_url=False)
    said = [_sentence(fault, model) for fault in faults[:NAMED]]
    more = len(faults) - len(said)
    sentences = [sentence for sentence, _ in said] + ([f"There are {more} more."] if more else [])
    hints = [hint for _, hint in said if hint is not None]
    return PolicyError(" ".join(sentences), hint=hints[0] if hints else None)


def _sentence(fault: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """Return what is wrong, and a hint."""
    kind, raw = fault["type"], fault["loc"]
    loc = [part for i, part in enumerate(raw) if not _is_tag(raw, i)]
    if kind in {"missing", "extra_forbidden"}:
        where, key = _place(loc[:-1]), loc[-1]
        if kind == "missing":
            return f"{where} lacks the key {key!r}.", None
        chosen = loc[0] in {"guarantees", "method", "recoding"} or "recoding" in loc[2:3]
        others = kinds_having(str(key)) if chosen else []
        if others:
            return f"{where} has no key {key!r}.", f"It goes with {' or '.join(others)}: remove it."
        shown = "such key" if _holds_levels(raw) else f"key {_word(key)}"
        return f"{where} has no {shown}.", _near([key], _known_keys(raw[:-1], model))
    where = _place(loc)
    context = fault.get("ctx", {})
    if kind == "value_error":
        return _own(where, context.get("error"))
    if kind.startswith("union_tag"):
        return _tag_sentence(where, context)
    hint = _near([fault["input"]], _quoted(context["expected"])) if "expected" in context else None
    sentence = f"{where} must be {_wanted(kind, context)}. Got {_got(fault)}."
    if kind in _BOUNDS and loc[0] == "guarantees":
        sentence += " It would promise nothing."
    return sentence, hint


def _wanted(kind: str, context: Mapping[str, object]) -> str:
    if kind == "literal_error":
        return str(context["expected"])
    if kind in _BOUNDS:
        key, relation = _BOUNDS[kind]
        return f"{relation} {context[key]}"
    return _TYPES.get(kind, "text, a number, a list or a table")


def _tag_sentence(where: str, context: Mapping[str, object]) -> tuple[str, str | None]:
    """Say that a section lacks the word that tells its kind, or has none that is known."""
    key = str(context["discriminator"]).strip("'")
    if "tag" not in context:
        return f"{where} lacks the key {key!r}.", None
    wrong = context["tag"]
    return f"{where} has no {key} {_word(wrong)}.", _near(
        [wrong], _quoted(context["expected_tags"])
    )


def _quoted(said: object) -> list[str]:
    return re.findall(r"'([^']*)'", str(said))


def _own(where: str, error: object) -> tuple[str, str | None]:
    """Say what a check of ours said, with the place before it."""
    if isinstance(error, HalfmaskError):
        what = error.what
        return (what if where == "The policy" else f"{where}: {what}"), error.hint
    return f"{where} isn't what it may be.", None


def _got(fault: ErrorDetails) -> str:
    """Return what may be said of a value: a number, or a word where only few are possible."""
    value = fault["input"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if len(repr(value)) < LONGEST_WORD else "a very long number"
    if isinstance(value, str):
        is_word = fault["type"] == "literal_error" and not _holds_levels(fault["loc"])
        return _word(value) if is_word else "text"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def _holds_levels(loc: Sequence[int | str]) -> bool:
    """Return whether a place lies in a hierarchy, where keys and words may be category levels."""
    return loc[0] == "columns" and "hierarchy" in loc[2:]


def _word(value: object) -> str:
    text = str(value)
    return repr(text) if len(text) < LONGEST_WORD else f"of {len(text)} characters"


def _near(wrong: Sequence[object], known: Sequence[str]) -> str | None:
    near = [
        close
        for word in wrong
        if isinstance(word, str)
        for close in difflib.get_close_matches(word, known, n=1)
    ]
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"There are {', '.join(map(repr, known))}." if 0 < len(known) <= 12 else None


def _place(loc: Sequence[int | str]) -> str:
    """Return where something stands, as the file writes it: ``[columns.age] role``.

    What lies below a hierarchy's rule is left out: there, keys are category levels.
    """
    if not loc:
        return "The policy"
    section, *rest = loc
    if section == "columns" and rest:
        name, *keys = rest
        shown = str(name) if _BARE_KEY.fullmatch(str(name)) else f'"{name}"'
        depth = 2 if keys[:1] == ["hierarchy"] else 1
        return " ".join([f"[columns.{shown}]", ".".join(map(str, keys[:depth]))]).rstrip()
    if section == "guarantees" and rest:
        number, *keys = rest
        return " ".join([f"[[guarantees]] number {int(number) + 1}", *map(str, keys[:1])])
    if section == "halfmask":
        return "The key 'halfmask'"
    return " ".join([f"[{section}]", *map(str, rest[:1])])


def _is_tag(loc: Sequence[int | str], i: int) -> bool:
    """Return whether a part of a place is the tag that pydantic adds for a kind of section."""
    if loc[0] == "columns":
        return i == 3 and loc[2] == "recoding"  # behind column, name and key
    return (loc[0] == "guarantees" and i == 2) or (loc[0] in {"method", "recoding"} and i == 1)


def _known_keys(loc: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """Return the keys of the section that a place lies in."""
    section = section_at(loc) or model
    return [field.alias or name for name, field in section.model_fields.items()]

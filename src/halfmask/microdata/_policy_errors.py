"""Errors of a policy file: the place, and a sentence without values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from halfmask import _policy_files
from halfmask._errors import HalfmaskError, PolicyError
from halfmask._policy_files import BOUNDS, got, quoted, wanted, word
from halfmask.microdata._policy_sections import kinds_having, section_at

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_MOST_LISTED: Final = 12
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TEXTS = {"string_too_short": "one character", "string_too_long": "one character"}


def policy_error(error: ValidationError, model: type[BaseModel]) -> PolicyError:
    """Return the faults of a policy, by place, each in one sentence, with the likeliest repair."""
    return _policy_files.policy_error(error, lambda fault: _sentence(fault, model))


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
        shown = "such key" if _holds_levels(raw) else f"key {word(key)}"
        return f"{where} has no {shown}.", _near(key, _known_keys(raw[:-1], model))
    where = _place(loc)
    context = fault.get("ctx", {})
    if kind == "value_error":
        return _own(where, context.get("error"))
    if kind.startswith("union_tag"):
        return _tag_sentence(where, context)
    hint = _near(fault["input"], quoted(context["expected"])) if "expected" in context else None
    shown = got(fault, may_show=not _holds_levels(raw))
    sentence = f"{where} must be {wanted(kind, context, _TEXTS)}. Got {shown}."
    if kind in BOUNDS and loc[0] == "guarantees":
        sentence += " It would guarantee nothing."
    return sentence, hint


def _tag_sentence(where: str, context: Mapping[str, object]) -> tuple[str, str | None]:
    """Say that a section lacks the word that tells its kind, or has none that is known."""
    key = str(context["discriminator"]).strip("'")
    if "tag" not in context:
        return f"{where} lacks the key {key!r}.", None
    wrong = context["tag"]
    return f"{where} has no {key} {word(wrong)}.", _near(wrong, quoted(context["expected_tags"]))


def _near(wrong: object, known: Sequence[str]) -> str | None:
    return _policy_files.near(wrong, known, most=_MOST_LISTED)


def _own(where: str, error: object) -> tuple[str, str | None]:
    """Return the sentence of a check of ours, with the place before it."""
    if isinstance(error, HalfmaskError):
        what = error.what
        return (what if where == "The policy" else f"{where}: {what}"), error.hint
    return f"{where} isn't what it may be.", None


def _holds_levels(loc: Sequence[int | str]) -> bool:
    """Return whether a place lies in a hierarchy, where keys and words may be category levels."""
    return loc[0] == "columns" and "hierarchy" in loc[2:]


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
    if section in {"guarantees", "masks"} and rest:
        number, *keys = rest
        return " ".join([f"[[{section}]] number {int(number) + 1}", *map(str, keys[:1])])
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

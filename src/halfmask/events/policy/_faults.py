"""Errors of a section of an events policy: the place, and a sentence without values.

Each section says its own faults; the section around it puts the place before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from halfmask import _policy_files
from halfmask._errors import HalfmaskError, PolicyError
from halfmask._policy_files import got, near, quoted, wanted, word

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_TEXTS = {"string_too_short": "text that isn't empty", "string_too_long": "a shorter text"}


def policy_error(error: ValidationError, model: type[BaseModel]) -> PolicyError:
    """Return the faults of a section, by place, each in one sentence, with the likeliest repair."""
    faults = error.errors(include_url=False)
    return _policy_files.policy_error(faults, lambda fault: _sentence(fault, model))


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
        hint = near(tag, quoted(context["expected_tags"]))
    else:
        hint = near(fault["input"], quoted(context.get("expected", "")))
        what = f"{where}must be {wanted(kind, context, _TEXTS)}. Got {got(fault)}."
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
    """Return the sentence of a check of ours, with the place before it."""
    if isinstance(error, HalfmaskError):
        return where + error.what.written, error.hint
    return f"{where}isn't what it may be.", None

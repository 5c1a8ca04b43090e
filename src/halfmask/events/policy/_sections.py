"""What every section of an events' policy is: frozen keys, errors in our words, durations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import AfterValidator, Field, ValidationError

from halfmask import _policy_files
from halfmask._errors import HalfmaskError, ParameterError, PolicyError
from halfmask._policy_files import got, near, quoted, wanted, word
from halfmask._sections import Section

if TYPE_CHECKING:
    from pydantic import BaseModel
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


if TYPE_CHECKING:
    from halfmask._errors import PolicyError

Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]


class EventSection(Section):
    """A section that says itself what is wrong with it.

    Raises
    ------
    PolicyError
        If anything in it can't be. The message says where, what was got by its type or number, and
        what was probably meant; it never quotes a text, which may be a category.
    """

    def __init__(self, **keys: object) -> None:
        try:
            super().__init__(**keys)
        except ValidationError as error:
            raise self._refused(error) from None

    @classmethod
    def _refused(cls, error: ValidationError) -> PolicyError:
        return policy_error(error, cls)


def table_of(section: EventSection) -> dict[str, Any]:
    """Return a section as TOML has it, without what is the default."""
    return section.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)


_MICROS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_PART = re.compile(r"(\d{1,9}) ?([a-z]+)")
#: A thousand years.
_MOST = 1_000 * 366 * _MICROS["day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time: so many microseconds, or so many months of the calendar; not both.

    Examples
    --------
    >>> Duration.parse("-4 minutes 30 seconds").micros
    -270000000
    >>> Duration.parse("1 quarter").months
    3
    """

    micros: int = 0
    months: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a duration."""
        stripped = text.strip()
        sign = -1 if stripped.startswith("-") else 1
        rest = stripped.removeprefix("-").removeprefix("+").strip()
        parts = _PART.findall(rest)
        micros = months = 0
        for number, unit in parts:
            word = unit.removesuffix("s")
            if word not in _MICROS and word not in _MONTHS:
                raise _unread()
            micros += int(number) * _MICROS.get(word, 0)
            months += int(number) * _MONTHS.get(word, 0)
        left = _PART.sub("", rest).strip()
        both = micros and months
        if not parts or left or both or micros > _MOST or months > 12_000:
            raise _unread()
        return cls(micros=sign * micros, months=sign * months)


def _unread() -> ParameterError:
    return ParameterError(
        "A duration must be numbers with units, and not months or years together with others.",
        hint='Write such as "15 minutes", "1 day", "1 month" or "-4 minutes 30 seconds".',
    )


def _checked(text: str) -> str:
    Duration.parse(text)
    return text


DurationText: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(_checked)]

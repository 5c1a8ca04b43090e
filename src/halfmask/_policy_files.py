"""Policy files: read as TOML, made of sections, their faults said by place and in our words.

Pydantic's and tomllib's own messages quote what was given. A policy can hold categories (in
hierarchies, conditions and markers of missing values), and categories must not reach a log.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from halfmask._errors import HalfmaskError, PolicyError
from halfmask._sections import (
    REPLACED_KEYS,
    ApprovalSection,
    OneOf,
    Section,
    held_by,
    parts_of,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


FileKind: TypeAlias = Literal[
    "halfmask", "halfmask-database", "halfmask-events", "halfmask-table", "halfmask-tables"
]

_SAID: Final[Mapping[str, tuple[str, str]]] = {
    "halfmask": ("a policy of tables", "halfmask protect"),
    "halfmask-database": (
        "a policy of a database",
        "halfmask protect and reverse with URLs of databases",
    ),
    "halfmask-events": ("a policy of events", "halfmask events run, verify and reverse"),
    "halfmask-table": ("a secret table of events", "halfmask events table set"),
    "halfmask-tables": ("a policy of tables of counts and sums", "halfmask protect"),
}


def check_kind(said: Mapping[str, object], wanted: FileKind, error: type[HalfmaskError]) -> None:
    """Raise where what a file says is of another kind of ours than is wanted.

    Examples
    --------
    >>> from halfmask._errors import PolicyError
    >>> try:
    ...     check_kind({"halfmask-events": 1}, "halfmask", PolicyError)
    ... except PolicyError as error:
    ...     print(error.what)
    This is a policy of events; a policy of tables is wanted.
    """
    if wanted in said:
        return
    for key, (what, commands) in _SAID.items():
        if key in said:
            raise error(
                f"This is {what}; {_SAID[wanted][0]} is wanted.",
                hint=f"{what.capitalize()} is for: {commands}.",
            )


#: How many faults one error names; the others are counted.
_NAMED: Final = 5
#: Words longer than this aren't misspelt words of ours.
_LONGEST_WORD: Final = 40
_MOST_LISTED: Final = 20
#: Of keys and words of one section.
_MOST_NAMES: Final = 12
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

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
    "string_too_long": "one character",
    **dict.fromkeys(("date_type", "date_from_datetime_parsing"), "a date such as 2026-11-29"),
    "date_from_datetime_inexact": "a date without a time",
}
#: Pydantic's words for a number beyond a bound, and ours.
BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}


class WrittenPolicy(Section):
    """A policy as a file has it."""

    file_kind: ClassVar[FileKind]
    """The key that files of such a policy begin with."""

    approval: ApprovalSection = Field(
        default_factory=ApprovalSection,
        description="Who approved the release, for whom, and why its thresholds were chosen.",
    )

    _folder: Path | None = PrivateAttr(None)
    _path: Path | None = PrivateAttr(None)
    _text: str | None = PrivateAttr(None)
    _known: ClassVar[object] = None

    def __init__(self, **sections: object) -> None:
        self._know_all_kinds()
        try:
            super().__init__(**sections)
        except ValidationError as error:
            raise self._refused(error) from None

    @model_validator(mode="after")
    def _has_one_receiver(self) -> Self:
        booked = getattr(getattr(self, "book", None), "receiver", None)
        if self.approval.receiver is not None and booked not in {None, self.approval.receiver}:
            raise PolicyError(
                "has another receiver in [approval] than in [book].",
                hint="Leave it out of [approval]: that of [book] counts.",
            )
        return self

    @property
    def path(self) -> Path | None:
        """The file that it was loaded from."""
        return self._path

    @property
    def text(self) -> str:
        """What its file says; of a policy that was made in Python, its keys as JSON."""
        if self._text is not None:
            return self._text
        return self.model_dump_json(by_alias=True, exclude_defaults=True, indent=1, fallback=str)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The names of columns that it drops."""
        return ()

    def labels(self) -> dict[str, list[list[str]]]:
        """Return the labels of listed hierarchies: of each level above the values."""
        return {}

    @classmethod
    def __pydantic_init_subclass__(cls, **more: object) -> None:
        """Remember the kinds that sections were made of."""
        super().__pydantic_init_subclass__(**more)
        cls._known = kinds_in(parts_of(cls))

    @classmethod
    def _know_all_kinds(cls) -> None:
        """Make the sections of kinds that were registered since."""
        parts = parts_of(cls)
        known = kinds_in(parts)
        if known != cls._known:
            for part in (*parts, cls):
                if not isinstance(part, OneOf):
                    part.model_rebuild(force=True)
            cls._known = known

    @classmethod
    def _refused(cls, error: ValidationError) -> PolicyError:
        faults = sorted(error.errors(include_url=False), key=lambda it: it["type"] == "missing")
        return policy_error(faults, lambda fault: _sentence(fault, cls))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of policy files, for editors."""
        cls._know_all_kinds()
        schema = cls.model_json_schema(by_alias=True)
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a policy file; hierarchy files are looked for next to it.

        Parameters
        ----------
        path
            A TOML file in UTF-8.

        Raises
        ------
        PolicyError
            If the file can't be read, isn't TOML, or says something that can't be.
        """
        where = Path(path)
        try:
            text = where.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise PolicyError(
                f"The policy file can't be read: {error.strerror or 'the system refused'}."
            ) from None
        except UnicodeDecodeError:
            raise PolicyError("The policy file isn't in UTF-8.") from None
        made = cls.from_toml(text, folder=where.parent)
        made._path = where  # noqa: SLF001 # of this class
        return made

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path | None = None) -> Self:
        """Read a policy from TOML text.

        Parameters
        ----------
        text
            The text of a policy file.
        folder
            Where hierarchy files are looked for.

        Raises
        ------
        PolicyError
            If it isn't TOML, or says something that can't be.
        """
        if not isinstance(text, str):
            raise PolicyError(f"A policy is read from text. Got a {type(text).__name__}.")
        try:
            sections = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _toml_error(error) from None
        except RecursionError:
            raise PolicyError("The policy nests its values too deeply.") from None
        check_kind(sections, cls.file_kind, PolicyError)
        policy = cls(**sections)
        policy._folder, policy._text = None if folder is None else Path(folder), text
        return policy


def _toml_error(error: tomllib.TOMLDecodeError) -> PolicyError:
    """Return what may be said of a file that isn't TOML: the place, not the text there."""
    at = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
    return PolicyError(
        f"The policy isn't valid TOML{f' at {at.group(1)}' if at else ''}.",
        hint="Look for a missing quote or bracket, or for a key or section that stands twice.",
    )


def kinds_in(parts: Iterable[OneOf | type[Section]]) -> list[tuple[object, ...]]:
    """Return the kinds of all choices among the parts of a policy."""
    return [tuple(it.kinds.items()) for it in parts if isinstance(it, OneOf)]


def policy_error(
    faults: Sequence[ErrorDetails], sentence: Callable[[ErrorDetails], tuple[str, str | None]]
) -> PolicyError:
    """Return the faults of a policy or section, each in one sentence, with the likeliest repair."""
    said = dict(map(sentence, faults[:_NAMED]))
    more = len(faults) - _NAMED
    sentences = [*said, *([f"There are {more} more."] if more > 0 else [])]
    hints = [hint for hint in said.values() if hint is not None]
    return PolicyError(" ".join(sentences), hint=hints[0] if hints else None)


def _sentence(fault: ErrorDetails, model: type[Section]) -> tuple[str, str | None]:
    """Return what is wrong, and a hint."""
    kind, loc, context = fault["type"], fault["loc"], fault.get("ctx", {})
    if kind in {"missing", "extra_forbidden"}:
        return _wrong_key(PolicyPlace(model, loc[:-1]), str(loc[-1]), is_missing=kind == "missing")
    place = PolicyPlace(model, loc)
    if kind == "value_error":
        return _own(place, context.get("error"))
    if kind.startswith("union_tag") and place.choice is not None:
        return _wrong_kind(place, place.choice, fault)
    hint = near(fault["input"], quoted(context["expected"])) if "expected" in context else None
    shown = got(fault, may_show=not place.has_categories)
    texts = {"too_short": "a table that isn't empty"} if shown == "a table" else {}
    if (least := context.get("min_length", 1)) > 1:
        texts = {kind: f"a list of {least} or more"}
    sentence = f"{place} must be {wanted(kind, context, texts)}. Got {shown}."
    if kind in BOUNDS and place.choice is not None and place.choice.beyond:
        sentence += f" {place.choice.beyond}"
    return sentence, hint


def _wrong_key(place: PolicyPlace, key: str, *, is_missing: bool) -> tuple[str, str | None]:
    known = {it.alias or name: it for name, it in place.section.model_fields.items()}
    if is_missing:
        return f"{place} lacks the key {key!r}.", known[key].description if key in known else None
    others = place.choice.kinds_having(key) if place.choice is not None else []
    if others:
        return f"{place} has no key {key!r}.", f"It goes with {' or '.join(others)}: remove it."
    now, hint = REPLACED_KEYS.get(key, ("", ""))
    if now in known:
        return f"{place} has no key {key!r}.", hint
    shown = "such key" if place.has_categories else f"key {word(key)}"
    return f"{place} has no {shown}.", near(key, list(known), most=_MOST_NAMES)


def _wrong_kind(place: PolicyPlace, choice: OneOf, fault: ErrorDetails) -> tuple[str, str | None]:
    """Say that a section lacks the word that tells its kind, or has none that is known."""
    if not isinstance(section := fault["input"], Mapping):
        return f"{place} must be a table. Got {got(fault)}.", None
    wrong = section.get(choice.key)
    if wrong is None:
        return f"{place} lacks the key {choice.key!r}.", None
    hint = near(wrong, choice.words, most=_MOST_NAMES)
    if not isinstance(wrong, str):  # no misspelt word of ours
        return f"{place} has no such {choice.key}.", hint
    names, where = choice.elsewhere
    if wrong in names:
        hint = where.format(repr(wrong))
    return f"{place} has no {choice.key} {word(wrong)}.", hint


def _own(place: PolicyPlace, error: object) -> tuple[str, str | None]:
    """Return the sentence of a check of ours, with the place before it."""
    if isinstance(error, HalfmaskError):
        what = error.what.written
        return (f"{place}: {what}" if place.loc else what), error.hint
    return f"{place} isn't what it may be.", None


@dataclass(slots=True)
class PolicyPlace:
    """Where something stands in a policy, as the file writes it: ``[columns.age] role``.

    What lies below a key that holds no section is left out: there, keys may be categories.
    """

    model: type[Section]
    loc: Sequence[int | str]
    section: type[Section] = field(init=False)
    choice: OneOf | None = field(init=False, default=None)
    has_categories: bool = field(init=False, default=False)
    _words: list[tuple[int | str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.section = self.model
        self._words = list(self._followed())

    def _followed(self) -> Iterator[tuple[int | str, str]]:
        """Yield each key and what it is. Pydantic also names the kinds of sections on the way."""
        at: OneOf | type[Section] | None = self.model
        is_many = False
        for part in self.loc:
            if is_many:
                is_many = False
                yield part, "number" if isinstance(part, int) else "name"
            elif isinstance(at, OneOf):
                at = at.section(part)
                self.section = at or self.section
            elif at is None:
                return
            else:
                at, is_many = held_by(at, part)
                if at is not None:
                    self.choice = at if isinstance(at, OneOf) else None
                    self.section = self.section if isinstance(at, OneOf) else at
                    self.has_categories |= self.section.has_categories
                yield part, "key"

    def __str__(self) -> str:
        """Return it as the file writes it."""
        if not self._words:
            return "The policy"
        (first, _), *words = self._words
        if not words and held_by(self.model, first) == (None, False):
            return f"The key {first!r}"
        table, keys = str(first), ""
        for part, what in words:
            if what == "name":
                shown = str(part) if _BARE_KEY.fullmatch(str(part)) else f'"{part}"'
                table, keys = ".".join([table, *keys.split(), shown]), ""
            elif what == "number":
                keys += f" number {int(part) + 1} "
            else:
                keys += f"{'' if keys[-1:] in ('', ' ') else '.'}{part}"
        is_list = bool(words) and words[0][1] == "number"
        return f"{f'[[{table}]]' if is_list else f'[{table}]'} {keys.strip()}".rstrip()


def wanted(kind: str, context: Mapping[str, object], texts: Mapping[str, str]) -> str:
    """Return what a value must be; ``texts`` says it of texts that are too short or too long."""
    if kind == "literal_error":
        return str(context["expected"])
    if kind in BOUNDS:
        key, relation = BOUNDS[kind]
        return f"{relation} {context[key]}"
    return texts.get(kind) or _TYPES.get(kind, "text, a number, a list or a table")


def got(fault: ErrorDetails, *, may_show: bool = True) -> str:
    """Return what may be said of a value: a number, or a word where only few are possible."""
    value = fault["input"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if len(repr(value)) < _LONGEST_WORD else "a very long number"
    if isinstance(value, str):
        return word(value) if may_show and fault["type"] == "literal_error" else "text"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def near(wrong: object, known: Sequence[str], *, most: int = _MOST_LISTED) -> str | None:
    """Return a hint of what was probably meant, or of all that there is where it isn't much."""
    spelt = (wrong, wrong.lower()) if isinstance(wrong, str) else ()
    close = [it for text in spelt for it in difflib.get_close_matches(text, known, n=1)]
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"There are {', '.join(map(repr, known))}." if 0 < len(known) <= most else None


def quoted(said: object) -> list[str]:
    """Return the words that pydantic puts in quotes."""
    return re.findall(r"'([^']*)'", str(said))


def word(value: object) -> str:
    """Return what may be shown of a key: itself, if it can be a misspelt word of ours."""
    text = str(value)
    return repr(text) if len(text) < _LONGEST_WORD else f"of {len(text)} characters"

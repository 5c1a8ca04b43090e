"""Policy files: read as TOML, made of sections, their faults said by place and in our words.

Pydantic's and tomllib's own messages quote what was given. A policy can hold categories (in
hierarchies, conditions and markers of missing values), and categories must not reach a log.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StrictStr

from halfmask._errors import PolicyError
from halfmask._file_kinds import FileKind, check_kind

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole: TypeAlias = Annotated[int, Field(strict=True)]
Names: TypeAlias = tuple[StrictStr, ...]
Character: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1)]

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
}
#: Pydantic's words for a number beyond a bound, and ours.
BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}


class Section(BaseModel):
    """A table of a policy file: no key that isn't named, no value that its type doesn't have."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class WrittenPolicy(Section):
    """A policy as a file has it."""

    file_kind: ClassVar[FileKind]
    """The key that files of such a policy begin with."""

    _folder: Path | None = PrivateAttr(None)

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
        return cls.from_toml(text, folder=where.parent)

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
        policy._folder = None if folder is None else Path(folder)
        return policy


def _toml_error(error: tomllib.TOMLDecodeError) -> PolicyError:
    """Return what may be said of a file that isn't TOML: the place, not the text there."""
    at = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
    return PolicyError(
        f"The policy isn't valid TOML{f' at {at.group(1)}' if at else ''}.",
        hint="Look for a missing quote or bracket, or for a key or section that stands twice.",
    )


def policy_error(
    error: ValidationError, sentence: Callable[[ErrorDetails], tuple[str, str | None]]
) -> PolicyError:
    """Return the faults of a policy or section, each in one sentence, with the likeliest repair."""
    faults = error.errors(include_url=False)
    said = [sentence(fault) for fault in faults[:_NAMED]]
    more = len(faults) - len(said)
    sentences = [what for what, _ in said] + ([f"There are {more} more."] if more else [])
    hints = [hint for _, hint in said if hint is not None]
    return PolicyError(" ".join(sentences), hint=hints[0] if hints else None)


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

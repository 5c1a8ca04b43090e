"""Options: one parameter in Python, several on the command line; and lists in one option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Final, TypeGuard, get_type_hints

import typer
from typer.models import OptionInfo

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


#: Where a field holds its option or argument.
_ASKED: Final = "asked"


def as_number(text: str) -> float:
    """Return a whole number as one: a policy's l is none otherwise."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def option(said: str, default: Any = None, **more: Any) -> Any:  # noqa: ANN401 # as dataclasses.field
    """Return an option, such as ``"--out -o FILE: Where it is written."``, as `--help` has it.

    It is a field of a group, or the default of a parameter, which has its type. What else
    `typer.Option` takes is handed on.
    """
    names, about = said.split(": ", 1)
    words = names.split(" ")
    flags = [word for word in words if word.startswith("-")]
    metavar = words[-1] if len(flags) < len(words) else None
    return _asked(default, typer.Option(*flags, metavar=metavar, help=about, **more))


def flag(said: str) -> Any:  # noqa: ANN401 # as above
    """Return an option that is on where it is given."""
    return option(said, default=False)


def required(said: str, **more: Any) -> Any:  # noqa: ANN401 # as above
    """Return an option that must be given."""
    return option(said, MISSING, show_default=False, **more)


def argument(said: str, default: Any = MISSING) -> Any:  # noqa: ANN401 # as above
    """Return an argument, such as ``"TABLE: What is read."``, a must unless it has a default."""
    metavar, about = said.split(": ", 1)
    return _asked(default, typer.Argument(metavar=metavar, show_default=False, help=about))


def _asked(default: object, info: object) -> object:
    return field(default=default, metadata={_ASKED: info})


def spreads_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command its options, and those of each parameter whose type is a group.

    A group is a dataclass whose fields are options or other groups. Its other fields keep their
    defaults. Its `heading`, if it has one, is that of its options in the help.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: each.annotation
        for name, each in signature.parameters.items()
        if _is_group(each.annotation)
    }
    parameters = [
        spread
        for name, each in signature.parameters.items()
        for spread in (_parameters(groups[name]) if name in groups else (_plain(each),))
    ]

    @wraps(command)
    def run(**given: object) -> int:
        made = {name: _made(group, given) for name, group in groups.items()}
        return command(**given, **made)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # typer reads it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _is_group(hint: object) -> TypeGuard[type]:
    return isinstance(hint, type) and is_dataclass(hint)


def _plain(parameter: inspect.Parameter, heading: str | None = None) -> inspect.Parameter:
    """Return a parameter as typer reads it, with its option in the type."""
    each = parameter.default
    if not isinstance(each, Field):
        return parameter
    default = inspect.Parameter.empty if each.default is MISSING else each.default
    asked = copy(each.metadata[_ASKED])  # commands may have it under other headings
    asked.rich_help_panel = heading
    hint = Annotated[parameter.annotation, asked]  # type: ignore[name-defined] # no type of a name
    return parameter.replace(default=default, annotation=hint)


def _parameters(group: type, above: str | None = None) -> Iterator[inspect.Parameter]:
    heading = getattr(group, "heading", above)
    for name, (hint, default) in _options(group).items():
        if _is_group(hint):
            yield from _parameters(hint, heading)
        else:
            given = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint)
            yield _plain(given.replace(default=default), heading)


def _made(group: type, given: dict[str, object]) -> object:
    """Return the group with the given options, which are taken out of the rest."""
    return group(
        **{
            name: _made(hint, given) if _is_group(hint) else given.pop(name)
            for name, (hint, _) in _options(group).items()
            if _is_group(hint) or name in given  # typer keeps what is not exposed
        }
    )


def _options(group: type) -> dict[str, tuple[Any, object]]:
    """Return the fields that the command line has: their types, and fields or defaults."""
    hints = get_type_hints(group, include_extras=True)
    return {
        each.name: (hints[each.name], each if _ASKED in each.metadata else each.default)
        for each in fields(group)
        if _ASKED in each.metadata
        or _is_group(hints[each.name])
        or any(isinstance(it, OptionInfo) for it in getattr(hints[each.name], "__metadata__", ()))
    }

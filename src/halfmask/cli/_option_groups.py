"""Options that several commands share: one parameter in Python, several on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, TypeGuard, get_type_hints

from typer.models import OptionInfo


def spreads_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of each parameter whose type is a group.

    A group is a dataclass that has fields annotated with `typer.Option`, or with another group. Its
    other fields keep their defaults.
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
        for spread in (_parameters(groups[name]) if name in groups else (each,))
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


def _parameters(group: type) -> Iterator[inspect.Parameter]:
    for name, (hint, default) in _options(group).items():
        if _is_group(hint):
            yield from _parameters(hint)
        else:
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )


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
    """Return the fields that the command line has: their types and defaults."""
    hints = get_type_hints(group, include_extras=True)
    defaults = {
        each.name: inspect.Parameter.empty if each.default is MISSING else each.default
        for each in fields(group)
    }
    return {
        name: (hint, defaults[name])
        for name, hint in hints.items()
        if _is_group(hint)
        or any(isinstance(each, OptionInfo) for each in getattr(hint, "__metadata__", ()))
    }

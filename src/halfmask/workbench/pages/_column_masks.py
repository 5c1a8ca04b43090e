"""The mask of a column: forms that are made from the parameters of each mask."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from halfmask._errors import ParameterError
from halfmask.claims import WEAKNESSES
from halfmask.masks import MASKS
from halfmask.microdata.mask_section import mask_parameters
from halfmask.workbench._policy_edits import inline, set_column_key
from halfmask.workbench._release_kinds import change_kind

if TYPE_CHECKING:
    from halfmask.masks import Mask
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

_DESCRIBED: Final = re.compile(r"^(\w+(?:, \w+)*)\n((?:    .+\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a mask, as a field of a form."""

    name: str
    about: str
    style: Literal["choice", "yes", "number", "whole", "text", "lines"]
    options: tuple[str, ...]
    is_required: bool
    usual: Any


@dataclass(frozen=True, slots=True)
class MaskForm:
    """A mask that may be chosen: what it does, its fields, its weaknesses in words."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    weaknesses: tuple[str, ...]


def show(mask: Mask | None) -> dict[str, Any]:
    """Return the forms of all masks, and the one in force with its parameters."""
    return {
        "forms": [_form_of(name) for name in MASKS],
        "name": None if mask is None else mask.name,
        "given": {} if mask is None else mask_parameters(mask),
        "weaknesses": () if mask is None else _in_words(mask.weaknesses),
    }


def choose(project: Project, name: str, given: Fields) -> str:
    """Write the mask of a form into the policy, if it suits the column.

    A guarantee and a mask of one column may not go together, nor may a policy have neither: one
    step makes the release one of masks.
    """
    kind = MASKS.get(given.text("mask"))
    if kind is None:
        raise ParameterError("There is no such mask.", hint="Choose one of the list.")
    values = {it.name: _value_of(it, given) for it in _form_of(kind.name).parameters}
    made = kind(**{key: value for key, value in values.items() if value is not None})
    rows = project.rows()
    if name in rows.columns:
        made.written(name, rows.schema[name])  # raises where it isn't for such columns
    with project.editing(f"{name}: mask {kind.name}") as document:
        set_column_key(document, name, "mask", inline(mask_parameters(made)))
        if given.has("masks"):
            return change_kind(document, project.policy(), "masks", rows.height)
    said = ", ".join(f"{key} = {it}" for key, it in mask_parameters(made).items() if key != "name")
    return f"The mask {kind.name} is in force{f', with {said}' if said else ''}."


@cache
def _form_of(name: str) -> MaskForm:
    kind: Any = MASKS[name]
    hints, about = get_type_hints(kind), _described(kind)
    found = [(it, _simple_type(hints[it.name])) for it in fields(kind)]
    left_out = {it.name for it, hint in found if hint is None}
    parameters = tuple(
        Parameter(
            name=it.name,
            about=about.get(it.name, ""),
            style=_style_of(hint),
            options=get_args(hint) if get_origin(hint) is Literal else (),
            is_required=it.default is MISSING,
            usual=None if it.default is MISSING else it.default,
        )
        for it, hint in found
        # What is only for a parameter that no form has could but fail.
        if hint is not None
        and not (hint is bool and left_out & set(re.findall(r"\w+", about[it.name])))
    )
    # Some depend on the parameters, and are shown with the mask in force.
    weaknesses = kind.weaknesses if isinstance(kind.weaknesses, tuple) else ()
    sentence = (inspect.getdoc(kind) or "").partition("\n")[0]
    return MaskForm(name, sentence, parameters, _in_words(weaknesses))


def _simple_type(hint: Any) -> Any:  # noqa: ANN401 # a type
    """Return what a field of a form can hold; a dictionary is written in the policy file."""
    members = (
        (hint,) if get_origin(hint) in (Literal, tuple) or not get_args(hint) else get_args(hint)
    )
    simple = [it for it in members if get_origin(it) is not dict and it is not type(None)]
    return simple[0] if simple else None


def _style_of(hint: Any) -> Literal["choice", "yes", "number", "whole", "text", "lines"]:  # noqa: ANN401 # a type
    if get_origin(hint) is Literal:
        return "choice"
    if get_origin(hint) is tuple:
        return "lines"
    if hint is bool:
        return "yes"
    return "number" if hint is float else "whole" if hint is int else "text"


def _value_of(parameter: Parameter, given: Fields) -> Any:  # noqa: ANN401 # of any type
    """Return what a form has for a parameter; ``None`` where it is left empty."""
    text = given.text(parameter.name)
    if parameter.style == "yes":
        return given.has(parameter.name)
    if not text:
        if parameter.is_required:
            raise ParameterError(f"The mask needs a value for {parameter.name!r}.")
        return None
    if parameter.style == "lines":
        return tuple(it.strip() for it in text.splitlines() if it.strip())
    if parameter.style in {"number", "whole"}:
        return (
            given.number(parameter.name)
            if parameter.style == "number"
            else given.whole(parameter.name)
        )
    if parameter.style == "choice" and text not in parameter.options:
        raise ParameterError(
            f"The mask can't have that {parameter.name!r}.", hint="Choose one of the list."
        )
    return text


def _described(kind: type[Any]) -> dict[str, str]:
    """Return what the docstrings of a mask say of its parameters."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        section = (inspect.getdoc(each) or "").partition("Parameters\n----------\n")[2]
        for names, about in _DESCRIBED.findall(section.partition("\n\n")[0]):
            words = " ".join(about.split()).replace("``", "")
            if "see `" not in words:  # the class above says it
                found |= dict.fromkeys(names.split(", "), words)
    return found


def _in_words(weaknesses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(WEAKNESSES[word] for word in weaknesses)

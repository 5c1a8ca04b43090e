"""What the fields of masks say of their parameters, checked in Python and in policies alike."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from halfmask._errors import ParameterError
from halfmask._validation import check_fields, is_text, list_of, one_of, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedMask:
    """A mask whose parameters keep to their annotations, and to the bounds of their metadata."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name, hint in hints_of(type(self)).items():
            given = {name: getattr(self, name)}
            if get_origin(hint) is Literal:
                one_of(get_args(hint), owner=owner, **given)
            elif hint == tuple[str, ...] or (hint == _NAMES_OR_NONE and given[name] is not None):
                check_names(mask=getattr(self, "name", owner), **given)
                # An array has no truth value, and texts of its own.
                object.__setattr__(self, name, tuple(map(str, given[name])))
            elif hint in _PLAIN and not isinstance(given[name], hint):
                raise ParameterError(
                    f"The {name!r} parameter of {owner} must be {_PLAIN[hint]}. "
                    f"Got {shown(given[name])}."
                )
        check_fields(self)
        self._check_together()

    def _check_together(self) -> None:
        """Raise unless the parameters go together."""


_NAMES_OR_NONE = tuple[str, ...] | None
_PLAIN: dict[Any, str] = {bool: "true or false", str: "a text", str | None: "a text or none"}


def hints_of(mask: type[Any]) -> dict[str, Any]:
    """Return the types of a mask's parameters, by name."""
    hints = get_type_hints(mask)
    return {each.name: hints[each.name] for each in fields(mask)}


def check_names(*, mask: str, **named: object) -> None:
    """Raise unless each named parameter of a mask is a list of texts: one text has letters."""
    owner = f"the mask {mask!r}"
    list_of("texts", is_text, owner=owner, hint='Write ("age",) for one of them.', **named)

"""Facts: frozen dataclasses whose numbers go into JSON under the names of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

#: What a risk has that reads missing cells in both ways.
READINGS = ("missing_as_value=as_value", "missing_as_wildcard=as_wildcard")


class Facts:
    """Base of values that become JSON by name."""

    __slots__ = ()
    #: What is in it, in order, fields and properties; ``key=name`` under another key. All fields by
    #: default.
    facts: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers under their names, for JSON."""
        named = self.facts or [each.name for each in fields(self)]  # type: ignore[arg-type] # each is a dataclass
        return facts_of(self, named)


def facts_of(value: object, named: Sequence[str]) -> dict[str, Any]:
    """Return attributes of a value for JSON; ``key=name`` under another key."""
    pairs = (each.partition("=") for each in named)
    return {key: for_json(getattr(value, name or key)) for key, _, name in pairs}


def for_json(value: Any) -> Any:  # noqa: ANN401 # whatever a field holds
    """Return a value as JSON holds it: facts and dataclasses by name, tuples as lists.

    Examples
    --------
    >>> for_json({"widths": (1, 2), "of": None})
    {'widths': [1, 2], 'of': None}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: for_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(each) for each in value]
    if is_dataclass(value):
        return {each.name: for_json(getattr(value, each.name)) for each in fields(value)}
    return value

"""Paths: where in an event something stands, and which such places are meant."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Self

from halfmask._errors import PolicyError
from halfmask.events.block._values import Kind

#: Of a name that needs no quotes.
_NAME = re.compile(r'[^\s.\[\]"*:\\]+')
_QUOTED = re.compile(r'\["(?:[^"\\]|\\.)*"\]')
_MOST_STEPS = 128
_KINDS: dict[str, frozenset[Kind]] = {
    "null": frozenset({Kind.NULL}),
    "boolean": frozenset({Kind.FALSE, Kind.TRUE}),
    "integer": frozenset({Kind.INTEGER}),
    "number": frozenset({Kind.INTEGER, Kind.NUMBER}),
    "string": frozenset({Kind.STRING}),
    "object": frozenset({Kind.OBJECT}),
    "array": frozenset({Kind.ARRAY}),
}
_ALL_KINDS = frozenset(Kind) - {Kind.MISSING}


class Step(Enum):
    """A step of a path that isn't one field's name."""

    ELEMENT = "[]"
    FIELD = "*"
    BENEATH = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Where something stands in an event, or a pattern of such places.

    ``a.b`` is field b of the object in field a; ``a[]`` each element of the array in field a, and
    ``a[].b`` field b of each; ``a[][]`` elements of elements. ``["odd.name"]`` is a field whose
    name has dots, brackets, stars, colons, quotes or white space: a string of JSON in brackets.
    ``*`` is any field; ``**`` is any run of fields and elements: none or more of them before
    something, one or more at the end. ``:string`` at the end means values of that type alone (null,
    boolean, integer, number, string, object, array).

    Notes
    -----
    **Guarantees.** Two paths are equal exactly if they mean the same places in the same words,
    however the names were quoted. `str` gives a text that `parse` reads as the same path.

    **Edge cases.** ``""`` is the event itself. A type isn't part of a place: `places` is the path
    without it.

    Examples
    --------
    >>> path = Path.parse('products[].["odd.name"]')
    >>> path.steps[1], path.steps[2], str(path)
    (<Step.ELEMENT: '[]'>, 'odd.name', 'products[]["odd.name"]')
    >>> Path.parse("**.email").matches(Path.parse("a.b[].email"))
    True
    """

    steps: tuple[str | Step, ...]
    type: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a path."""
        steps, type_ = _parsed(text)
        return cls(steps=steps, type=type_)

    def __str__(self) -> str:
        return self.place + ("" if self.type is None else f":{self.type}")

    @property
    def place(self) -> str:
        """The path's text without its type."""
        return _joined(self.steps)

    @property
    def concrete(self) -> bool:
        """Whether it is one place: no stars and no type."""
        stars = Step.FIELD in self.steps or Step.BENEATH in self.steps
        return not stars and self.type is None

    @property
    def level(self) -> str:
        """The path of the elements among which it is, ``""`` if it isn't in an array.

        An element is among elements: the level of ``"a[]"`` is ``"a[]"``.
        """
        last = max((i for i, step in enumerate(self.steps) if step is Step.ELEMENT), default=-1)
        return _joined(self.steps[: last + 1])

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of values that are meant."""
        return _ALL_KINDS if self.type is None else _KINDS[self.type]

    def matches(self, place: Path) -> bool:
        """Return whether a concrete path is one of the places that this one means."""
        return len(self.steps) in self.reached(place)

    def reached(self, place: Path) -> set[int]:
        """Return how many of its steps lead to a concrete path; empty for none."""
        found = closure(self.steps, {0})
        for step in place.steps:
            found = advance(self.steps, found, step)
        return found


def closure(steps: tuple[str | Step, ...], reached: set[int]) -> set[int]:
    """Add how far one is where a `**` that isn't at the end stands for nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(steps) - 1 and steps[at] is Step.BENEATH:
            at += 1  # noqa: PLW2901 # it runs on from where it was
            found.add(at)
    return found


def advance(steps: tuple[str | Step, ...], reached: set[int], step: str | Step) -> set[int]:
    """Return how far along a pattern one is after a step into an event."""
    found = set()
    for at in reached:
        if at == len(steps):
            continue
        wanted = steps[at]
        if wanted is Step.BENEATH:
            found.add(at)
            if at == len(steps) - 1:
                found.add(at + 1)
        elif wanted == step or (wanted is Step.FIELD and isinstance(step, str)):
            found.add(at + 1)
    return closure(steps, found)


@lru_cache(maxsize=4096)
def _joined(steps: tuple[str | Step, ...]) -> str:
    text = ""
    for step in steps:
        if step is Step.ELEMENT:
            text += "[]"
        elif isinstance(step, Step) or _NAME.fullmatch(step):
            word = step.value if isinstance(step, Step) else step
            text += f".{word}" if text else word
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[tuple[str | Step, ...], str | None]:
    place, type_ = text, None
    if found := re.search(r":([a-z]+)$", text):
        place, type_ = text[: found.start()], found[1]
        if type_ not in _KINDS:
            raise PolicyError(
                f"The path {text!r} ends in a type that doesn't exist.",
                hint=f"Types are {', '.join(_KINDS)}; a name with a colon needs quotes.",
            )
    steps = tuple(_steps(place, text))
    if len(steps) > _MOST_STEPS:
        raise PolicyError(f"A path has {len(steps)} steps; {_MOST_STEPS} are the most.")
    if steps and steps[0] is Step.ELEMENT:
        raise PolicyError(
            f"The path {text!r} begins with an element.",
            hint="Each line is an object: begin with the name of a field.",
        )
    return steps, type_


def _steps(place: str, text: str) -> list[str | Step]:
    steps: list[str | Step] = []
    at = 0
    while at < len(place):
        if place.startswith("[]", at):
            steps.append(Step.ELEMENT)
            at += 2
            continue
        dotted = place[at] == "."
        if dotted and not steps:
            break
        if quoted := _QUOTED.match(place, at + dotted):
            steps.append(_name_in(quoted[0], text))
            at = quoted.end()
            continue
        if steps and not dotted:
            break
        at += dotted
        if place.startswith("**", at):
            steps.append(Step.BENEATH)
            at += 2
        elif place.startswith("*", at):
            steps.append(Step.FIELD)
            at += 1
        elif name := _NAME.match(place, at):
            steps.append(name[0])
            at = name.end()
        else:
            at -= dotted
            break
    if at < len(place):
        raise PolicyError(
            f"The path {text!r} can't be read from character {at + 1} on.",
            hint='Paths are like a.b, a[].b, a.*, a.** and ["odd name"].',
        )
    return steps


def _name_in(quoted: str, text: str) -> str:
    try:
        name = str(json.loads(quoted[1:-1]))
        name.encode()
    except ValueError:
        raise PolicyError(f"The path {text!r} has quotes with no string of JSON in them.") from None
    return name

"""Which places of an event the manifest names, whatever stars are in its fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import VerificationError
from halfmask.verifier.events._forms import has_form, knows
from halfmask.verifier.events._reading import Number

if TYPE_CHECKING:
    from halfmask.claims import ReleasedField

_HASHED: Final = re.compile(r"f[0-9a-f]{16}")
_STARS: Final = ("*", "**", "#", "##", "[]")
#: So many answers are remembered.
_MOST: Final = 100_000
_State = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class EventCheck:
    """What is wrong with an event: how many fields that aren't named, values of no form, gaps."""

    unknown: int
    formless: int
    gaps: int


class Places:
    """The fields of a manifest, by which the verifier goes through events."""

    def __init__(self, fields: Sequence[ReleasedField], *, exact: bool, dense: bool) -> None:
        self._exact, self._dense = exact, dense
        self._steps = [field.steps for field in fields]
        self._forms = [field.form for field in fields]
        named = all(
            step in _STARS or step.startswith(".") for steps in self._steps for step in steps
        )
        if not named or not all(self._steps) or not all(map(knows, self._forms)):
            raise VerificationError(
                "The manifest has a field that this halfmask can't check.",
                hint="Verify it with the halfmask that made it, or a later one.",
            )
        self._start = self._closed({(entry, 0) for entry in range(len(fields))})
        self._after: dict[tuple[_State, str | None], _State] = {}
        self._known: dict[tuple[_State, object, bool], bool] = {}
        self._numbers: dict[_State, list[int]] = {}
        self._unknown = self._formless = 0

    def check(self, event: dict[str, Any]) -> EventCheck:
        """Go through an event."""
        self._unknown = self._formless = 0
        self._numbers.clear()
        self._look(event, self._start, is_event=True)
        gaps = sum(map(_has_gap, self._numbers.values()))
        return EventCheck(unknown=self._unknown, formless=self._formless, gaps=gaps)

    def _look(self, value: Any, state: _State, *, is_event: bool = False) -> None:  # noqa: ANN401 # what JSON held
        if isinstance(value, dict) and (value or is_event):
            for name, inner in value.items():
                self._enter(inner, self._advanced(state, name))
        elif isinstance(value, list) and value:
            under = self._advanced(state, None)
            for inner in value:
                self._enter(inner, under)
        elif not self._accepted(value, state):
            self._formless += 1

    def _enter(self, value: Any, state: _State) -> None:  # noqa: ANN401 # what JSON held
        if state:
            self._look(value, state)
        else:
            self._unknown += 1

    def _accepted(self, value: Any, state: _State) -> bool:  # noqa: ANN401 # what JSON held
        container = isinstance(value, dict | list)
        whole = [entry for entry, at in state if at == len(self._steps[entry])]
        if container and len(whole) < len({entry for entry, _ in state}):
            return True  # an object or array of fields that aren't there
        if self._dense and len(whole) == 1 and isinstance(value, Number) and value.isdigit():
            form = self._forms[whole[0]]
            if form["do"] == "sequence" and form["scope"] == "event":
                self._numbers.setdefault(state, []).append(int(value))
        key = (state, None if container else value, isinstance(value, Number | bool))
        if container:
            return any(has_form(value, self._forms[entry]) for entry in whole)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = any(
                has_form(value, self._forms[entry], exact=self._exact) for entry in whole
            )
        return self._known[key]

    def _advanced(self, state: _State, name: str | None) -> _State:
        """Return where one is after a field, or after an element of an array: None."""
        key = state, name
        if key not in self._after:
            if len(self._after) >= _MOST:
                self._after.clear()
            found = {then for entry, at in state for then in self._one(entry, at, name)}
            self._after[key] = self._closed(found)
        return self._after[key]

    def _one(self, entry: int, at: int, name: str | None) -> list[tuple[int, int]]:
        steps = self._steps[entry]
        if at == len(steps):
            return []
        step = steps[at]
        is_name = name is not None and (step in {"*", "**"} or bool(_HASHED.fullmatch(name)))
        if step in {"**", "##"}:
            ends = [(entry, at + 1)] if at == len(steps) - 1 else []
            return [(entry, at), *ends] if name is None or is_name else []
        if step == "[]":
            return [(entry, at + 1)] if name is None else []
        if step in {"*", "#"}:
            return [(entry, at + 1)] if is_name else []
        return [(entry, at + 1)] if name is not None and step == f".{name}" else []

    def _closed(self, state: set[tuple[int, int]]) -> _State:
        """Add how far one is where a run of fields that isn't at the end stands for nothing."""
        found = set(state)
        for entry, start in state:
            steps, at = self._steps[entry], start
            while at < len(steps) - 1 and steps[at] in {"**", "##"}:
                at += 1
                found.add((entry, at))
        return frozenset(found)


def _has_gap(numbers: Sequence[int]) -> bool:
    """Return whether a number stands before one that is smaller by one first does."""
    most = 0
    for number in numbers:
        if number > most + 1:
            return True
        most = max(most, number)
    return False

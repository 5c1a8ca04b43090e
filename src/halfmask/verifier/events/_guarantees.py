"""Recount guarantees of events: session-k, k-m and distinct."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal

from halfmask.verifier.events._reading import Number, same_text
from halfmask.verifier.events._verdict import Check, claim_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import GuaranteeClaim

_NOTHING = None
_ABSENT = object()
_NOBODY = {"", "true", "false"}


class GuaranteeRecount:
    """Counts one guarantee in one group of lines after the other."""

    def __init__(self, number: int, claim: GuaranteeClaim) -> None:
        self._claim = claim
        self._name = f"{claim.model} {number}"
        self._k = claim.k
        self._least: int | None = None
        self._failures = 0
        self._windows = 0
        self._counted = self._countable()

    def _countable(self) -> Literal["entities", "sessions", "events", "nothing"]:
        claim = self._claim
        by_event = claim.unit == "event"
        if by_event or claim.session is not None:
            units: Literal["events", "sessions"] = "events" if by_event else "sessions"
            return units if claim.entity is None else "entities"
        # Who shows a value shows it in an event; what a whole session shows isn't known.
        return "events" if claim.model == "k-m" and claim.m == 1 else "nothing"

    def add(self, events: Sequence[dict[str, Any]]) -> None:
        """Count in events that left together."""
        self._windows += 1
        if self._counted == "nothing":
            return
        shown: dict[Hashable, set[Hashable]] = {}
        owner: dict[Hashable, str] = {}
        for number, event in enumerate(events):
            unit = self._unit(number, event)
            shown.setdefault(unit, set()).update(_points(event, self._claim.fields))
            if self._counted == "entities":
                entity = _who(event, self._claim.entity or ())
                if entity is not None:
                    owner.setdefault(unit, entity)
        owners: dict[Hashable, set[Hashable]] = defaultdict(set)
        for unit, points in shown.items():
            for key in SHARED[self._claim.model](points, self._claim.m or 1):
                # A set of nobody known has an empty set of owners.
                known = {unit} if self._counted != "entities" else {owner.get(unit)} - {None}
                owners[key] |= known
        for found in owners.values():
            count = len(found)
            self._least = count if self._least is None else min(self._least, count)
            self._failures += count < self._k

    def _unit(self, number: int, event: dict[str, Any]) -> Hashable:
        steps = self._claim.session
        session = None if steps is None else _who(event, steps)
        # An event without a session is one of its own.
        return number if session is None else session

    def check(self) -> Check:
        """Return what was found."""
        problem = self._contradiction()
        return Check(
            claim=self._claim.stated(),
            called=self._name,
            holds=not self._failures and not problem,
            counted=self._counted,
            least=self._least,
            failures=self._failures,
            guarantee=claim_text(self._claim),
            windows=self._windows,
            stated=self._claim.min_entities,
            problem=problem,
            unverified="" if problem else self._unconfirmed(),
        )

    def _contradiction(self) -> str:
        """Return why the stated smallest class is false; empty if nothing speaks against it.

        Sessions and events are at least one for each entity, so they bound entities, too.
        """
        stated = self._claim.min_entities
        if stated is None:
            return ""
        if stated < self._k:
            return f"Its evidence states {stated} entities, fewer than its k."
        if self._counted != "nothing" and stated > (self._least or 0):
            found = f"at most {self._least or 0} were counted, in {self._counted}"
            return f"Its evidence states {stated} entities; {found}."
        return ""

    def _unconfirmed(self) -> str:
        stated = self._claim.min_entities
        if stated is None or self._counted == "entities":
            return ""
        return f"Its evidence of {stated} entities isn't verified: the lines don't show entities."


def _together(points: set[Hashable], m: int) -> Iterable[Hashable]:  # noqa: ARG001 # as every model
    return [frozenset(points)]


def _sets(points: set[Hashable], m: int) -> Iterable[Hashable]:
    values = sorted(
        str(point[0]) for point in points if isinstance(point, tuple) and point[0] is not _NOTHING
    )
    return [it for size in range(1, m + 1) for it in combinations(values, size)]


#: What there must be k of, by model: all that is shown, or each set of at most m values. A model
#: that isn't here fails.
SHARED: Final[Mapping[str, Callable[[set[Hashable], int], Iterable[Hashable]]]] = {
    "session-k": _together,
    "k-m": _sets,
    "distinct": _sets,
}


def _points(event: dict[str, Any], fields: Sequence[Sequence[str]]) -> set[Hashable]:
    """Return what an event shows in fields that stand together: a point for each element."""
    array = max((at for at, step in enumerate(fields[0]) if step == "[]"), default=-1)
    around: list[Any] = [event]
    for step in fields[0][: array + 1]:
        around = [inner for outer in around for inner in _inner(outer, step)]
    rest = [field[array + 1 :] for field in fields]
    return {tuple(_at(element, steps) for steps in rest) for element in around}


def _inner(outer: object, step: str) -> list[Any]:
    if step == "[]":
        return outer if isinstance(outer, list) else []
    return [outer[step]] if isinstance(outer, dict) and step in outer else []


def _at(value: Any, steps: Sequence[str]) -> str | None:  # noqa: ANN401 # what JSON held
    """Return what stands somewhere, as JSON; `_NOTHING` where nothing does."""
    found = _value(value, steps)
    if found is _ABSENT:
        return _NOTHING
    return json.dumps(found)


def _who(event: dict[str, Any], steps: Sequence[str]) -> str | None:
    """Return the text that the same entities or sessions have in common; None where none is.

    Blanks and truth values name nobody.
    """
    value = _value(event, steps)
    found = same_text(Number(value[1]) if isinstance(value, tuple) else value)
    return None if found is None or found.strip() in _NOBODY else found


def _value(value: Any, steps: Sequence[str]) -> Any:  # noqa: ANN401 # what JSON held
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return _ABSENT
        value = value[step]
    return value

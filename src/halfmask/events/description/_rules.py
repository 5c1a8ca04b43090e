"""The rule that is proposed for a field: on the careful side, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from halfmask.events.block._paths import Step
from halfmask.events.block._times import OWN
from halfmask.events.description._times import grid_of, has_own_clocks, zoneless

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.events.description._facts import FieldFacts
    from halfmask.events.description._identifying import Rarity
    from halfmask.events.description._kinds import KindVerdict
    from halfmask.events.description._roles import StreamRole

#: A value that is kept is met in so many events, and with so many entities.
LEAST_EVENTS: Final = 10
LEAST_ENTITIES: Final = 5
MOST_KEPT: Final = 50
#: A field with which so many more events are unique helps to single out.
GAIN: Final = 0.05
#: Times of day of several clocks can only be compared with their offsets.
_WITHIN_A_DAY: Final = {"1 hour"}
#: More names than this aren't followed in one block of a run.
MOST_NAMES: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldContext:
    """What is known of the sample around a field."""

    role: StreamRole | None
    gain: float
    rarity: Rarity
    entities: NDArray[np.int64] | None
    names: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What is proposed for a field."""

    rule: Mapping[str, Any] | None
    reason: str
    otherwise: str | None = field(default=None)


def suggested(facts: FieldFacts, verdict: KindVerdict, context: FieldContext) -> Suggestion:
    """Return the rule for a field."""
    if context.names > MOST_NAMES:
        return _out("A map of more than 1,000 names can't be followed name by name: left out.")
    match verdict.kind:
        case "identifier":
            found = _identifier(facts, context.role)
        case "time":
            found = _time(facts, verdict, context)
        case "number":
            found = _number(facts, context.gain)
        case "boolean" | "category" if context.role not in {"entity", "session", "tenant"}:
            found = _kept_if_common(facts, context)
        case "boolean" | "category" | "quasi-identifier":
            found = _grouping(context.role)
        case "free-text":
            found = _out(
                "Free text is left out.",
                'do = "free-text"  # takes out what looks like an address or a number, not names',
            )
        case _:
            found = _out("It is left out.")
    starred = Step.FIELD in facts.place.steps
    if found.rule is not None and starred:
        return Suggestion(rule={**found.rule, "names": "hash"}, reason=found.reason)
    return found


def _out(reason: str, otherwise: str | None = None) -> Suggestion:
    return Suggestion(rule=None, reason=reason, otherwise=otherwise)


def _identifier(facts: FieldFacts, role: StreamRole | None) -> Suggestion:
    if role in {"entity", "session"}:
        return Suggestion(
            rule={"do": "token"},
            reason="A token joins the events of one, so that they can be studied together; "
            "leave it out where that isn't needed.",
        )
    if role == "tenant":
        return _grouping(role)
    if facts.place.level and facts.place.concrete and facts.profile.distinct > 1:
        return Suggestion(
            rule={"do": "sequence", "scope": "event"},
            reason="Each event numbers its values from 1: equal ones within it stay equal.",
        )
    return _out("It is left out.", 'do = "token"  # where events must be joined by it')


def _grouping(role: StreamRole | None) -> Suggestion:
    if role in {"entity", "session"}:
        return Suggestion(rule={"do": "token"}, reason="Tokens distinguish its groups.")
    if role == "tenant":
        return Suggestion(
            rule={"do": "sequence", "scope": "stream"},
            reason="Tenants are numbered as they come.",
        )
    return _out(
        "It is left out.",
        'do = "generalize"  # to groups that are large enough, by a hierarchy of yours',
    )


def _time(facts: FieldFacts, verdict: KindVerdict, context: FieldContext) -> Suggestion:
    if context.role == "time":
        every, reason = grid_of(facts, verdict.unit, context.entities)
    elif facts.hint is not None and facts.hint.topic.about == "birth":
        every, reason = "1 year", "Of a birth, the year is left."
    else:
        every, reason = "1 month", "Of another time than the event's, the month is left."
    rule: dict[str, Any] = {"do": "coarsen-time", "every": every, "zone": "UTC"}
    if verdict.unit is not None:
        rule |= {"unit": verdict.unit, "write": verdict.unit}
        return Suggestion(rule=rule, reason=reason)
    if has_own_clocks(facts):
        rule["zone"] = OWN
        reason += " Its texts have UTC offsets: days and hours are of each text's own clock."
        if every in _WITHIN_A_DAY:
            rule["write"] = "offset"
    else:
        reason += " It is in UTC."
    if zoneless(facts):
        rule["zoneless"] = "UTC"
        reason += " Its texts don't say their zone: write which it is in place of UTC."
    return Suggestion(rule=rule, reason=reason)


def _number(facts: FieldFacts, gain: float) -> Suggestion:
    if facts.profile.dtype.is_numeric():
        digits = 1 if gain >= GAIN else 2
        reason = f"It is rounded to {digits} significant digit{'s' if digits > 1 else ''}"
        if gain >= GAIN:
            reason += f": with it, up to {gain:.1%} more of the events are unique"
        return Suggestion(rule={"do": "round", "significant": digits}, reason=f"{reason}.")
    return _out("Its numbers are texts: left out.")


def _kept_if_common(facts: FieldFacts, context: FieldContext) -> Suggestion:
    rarity, profile = context.rarity, facts.profile
    rare = rarity.rarest_events < LEAST_EVENTS or (
        rarity.rarest_entities is not None and rarity.rarest_entities < LEAST_ENTITIES
    )
    if rare or profile.distinct > MOST_KEPT:
        why = (
            f"It has more than {MOST_KEPT} different values: left out."
            if profile.distinct > MOST_KEPT
            else "Some of its values are rare, and rare ones single out: left out."
        )
        return _out(why, 'do = "generalize"  # to groups that are large enough, by a hierarchy')
    among = "" if rarity.rarest_entities is None else f" of at least {LEAST_ENTITIES} entities"
    return Suggestion(
        rule={"do": "keep"},
        reason=f"Each of its values is met in at least {LEAST_EVENTS} events{among}. A value that "
        "the sample hasn't would be kept, too.",
    )

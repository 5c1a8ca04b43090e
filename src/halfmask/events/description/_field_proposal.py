"""FieldProposal and EventsDescription: what is proposed for a stream of events, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError
from halfmask.description import thresholds
from halfmask.events.block._paths import Step
from halfmask.events.block._times import OWN
from halfmask.events.description._fields import grid_of, has_own_clocks, lacks_zone
from halfmask.events.description._policy_text import policy_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.description import SinglingOut
    from halfmask.events.description._fields import FieldFacts, Rarity
    from halfmask.events.description._kinds import FieldKind, KindVerdict, StreamRole
    from halfmask.events.policy._policy import EventPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProposal:
    """What was counted of one path, and what is proposed for it. No value is in it.

    Parameters
    ----------
    path
        Where it is. A star stands for names that were taken for values.
    kind
        What its values are.
    role
        What it is in the stream, if anything.
    types
        How often it was met as each type of JSON.
    events
        In how many events it was met.
    values, distinct
        Its scalars that aren't null, and how many different ones they are.
    share_unique
        The share of its scalars whose value no other has, in [0, 1].
    mean_length, longest
        Letters of its different values on average, and of its longest text.
    one_entity
        The share of its different values that are met with one entity alone, in [0, 1]; None
        where no entity is known.
    names
        Of a map, how many names it had; else 0.
    rule
        The proposed rule without its path, as the policy has it; None: it is left out.
    reasons
        Sentences that say why.
    otherwise
        What may be written instead, as TOML.
    certain
        Whether name or values say clearly what it is.
    """

    path: str
    kind: FieldKind
    role: StreamRole | None
    types: Mapping[str, int]
    events: int
    values: int
    distinct: int
    share_unique: float
    mean_length: float
    longest: int
    one_entity: float | None
    names: int
    rule: Mapping[str, Any] | None
    reasons: tuple[str, ...]
    otherwise: str | None
    certain: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "path": self.path,
            "kind": self.kind,
            "role": self.role,
            "types": dict(self.types),
            "events": self.events,
            "values": self.values,
            "distinct": self.distinct,
            "share_unique": self.share_unique,
            "mean_length": self.mean_length,
            "longest": self.longest,
            "one_entity": self.one_entity,
            "names": self.names,
            "rule": None if self.rule is None else dict(self.rule),
            "reasons": list(self.reasons),
            "certain": self.certain,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EventsDescription:
    """What `describe_events` proposes: counts and names of fields, no value.

    Parameters
    ----------
    fields
        One proposal for each path, in the order in which paths were met.
    lines, events
        Lines that were read, and events among them that were looked at.
    refused
        Lines that are no events, by reason.
    whole
        Whether all lines that were given were looked at.
    singling_out
        Minimal sets of paths on which at least 5 % of the events are unique; of a path in an array
        all values of the event together count.
    share_unique
        The share of events that are unique in all paths together but identifiers and free text.
    zone_lacking
        Whether times of the event lack their zone.
    """

    fields: tuple[FieldProposal, ...]
    lines: int
    events: int
    refused: Mapping[str, int]
    whole: bool
    singling_out: tuple[SinglingOut, ...]
    share_unique: float
    zone_lacking: bool

    def __getitem__(self, path: str) -> FieldProposal:
        for proposal in self.fields:
            if proposal.path == path:
                return proposal
        raise ParameterError("The description has no such path.")

    def __repr__(self) -> str:
        left = sum(it.rule is not None for it in self.fields)
        return (
            f"<EventsDescription of {self.events:,} events; {len(self.fields)} paths, "
            f"rules for {left}>"
        )

    @property
    def stream(self) -> dict[StreamRole, str]:
        """The paths of the event's time, tenant, session and entity, if found."""
        return {it.role: it.path for it in self.fields if it.role is not None}

    def policy_toml(self, *, release: str | None = None) -> str:
        """Return a commented policy with what is proposed, for the owner to edit.

        Parameters
        ----------
        release
            The word of the release's keys; None: ``name-this-release``, which `run_events` refuses
            until the owner has put another in its place.
        """
        from halfmask.events.policy._policy import UNNAMED  # noqa: PLC0415 # the policy reads texts, too

        return policy_text(self, release=UNNAMED if release is None else release)

    def policy(self, *, release: str) -> EventPolicy:
        """Return the proposed policy.

        Parameters
        ----------
        release
            The word of the release's keys.
        """
        from halfmask.events.policy._policy import EventPolicy  # noqa: PLC0415 # the policy reads texts, too

        return EventPolicy.from_toml(self.policy_toml(release=release))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "lines": self.lines,
            "events": self.events,
            "refused": dict(self.refused),
            "whole": self.whole,
            "stream": dict(self.stream),
            "share_unique": self.share_unique,
            "singling_out": [
                {"paths": list(it.columns), "share_unique": it.share_unique}
                for it in self.singling_out
            ],
            "fields": [it.to_dict() for it in self.fields],
        }


#: Times of day of several clocks can only be compared with their offsets.
_WITHIN_A_DAY: Final = {"1 hour"}


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


def suggest_rule(facts: FieldFacts, verdict: KindVerdict, context: FieldContext) -> Suggestion:
    """Return the rule for a field."""
    if context.names > thresholds.MOST_NAMES:
        return _leave_out(
            "A map of more than 1,000 names can't be followed name by name: left out."
        )
    match verdict.kind:
        case "identifier":
            found = _suggest_for_identifier(facts, context.role)
        case "time":
            found = _suggest_for_time(facts, verdict, context)
        case "number":
            found = _suggest_for_number(facts, context.gain)
        case "boolean" | "category" if context.role not in {"entity", "session", "tenant"}:
            found = _keep_if_common(facts, context)
        case "boolean" | "category" | "quasi-identifier":
            found = _suggest_for_group(context.role)
        case "free-text":
            found = _leave_out(
                "Free text is left out.",
                'do = "free-text"  # takes out what looks like an address or a number, not names',
            )
        case _:
            found = _leave_out("It is left out.")
    starred = Step.FIELD in facts.place.steps
    if found.rule is not None and starred:
        return Suggestion(rule={**found.rule, "names": "hash"}, reason=found.reason)
    return found


def _leave_out(reason: str, otherwise: str | None = None) -> Suggestion:
    return Suggestion(rule=None, reason=reason, otherwise=otherwise)


def _suggest_for_identifier(facts: FieldFacts, role: StreamRole | None) -> Suggestion:
    if role in {"entity", "session"}:
        return Suggestion(
            rule={"do": "token"},
            reason="A token joins the events of one, so that they can be studied together; "
            "leave it out where that isn't needed.",
        )
    if role == "tenant":
        return _suggest_for_group(role)
    if facts.place.level and facts.place.concrete and facts.profile.distinct > 1:
        return Suggestion(
            rule={"do": "sequence", "scope": "event"},
            reason="Each event numbers its values from 1: equal ones within it stay equal.",
        )
    return _leave_out("It is left out.", 'do = "token"  # where events must be joined by it')


def _suggest_for_group(role: StreamRole | None) -> Suggestion:
    if role in {"entity", "session"}:
        return Suggestion(rule={"do": "token"}, reason="Tokens distinguish its groups.")
    if role == "tenant":
        return Suggestion(
            rule={"do": "sequence", "scope": "stream"},
            reason="Tenants are numbered as they come.",
        )
    return _leave_out(
        "It is left out.",
        'do = "generalize"  # to groups that are large enough, by a hierarchy of yours',
    )


def _suggest_for_time(facts: FieldFacts, verdict: KindVerdict, context: FieldContext) -> Suggestion:
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
    if lacks_zone(facts):
        rule["zoneless"] = "UTC"
        reason += " Its texts don't say their zone: write which it is in place of UTC."
    return Suggestion(rule=rule, reason=reason)


def _suggest_for_number(facts: FieldFacts, gain: float) -> Suggestion:
    if facts.profile.dtype.is_numeric():
        digits = 1 if gain >= thresholds.SINGLES_OUT else 2
        reason = f"It is rounded to {digits} significant digit{'s' if digits > 1 else ''}"
        if gain >= thresholds.SINGLES_OUT:
            reason += f": with it, up to {gain:.1%} more of the events are unique"
        return Suggestion(rule={"do": "round", "significant": digits}, reason=f"{reason}.")
    return _leave_out("Its numbers are texts: left out.")


def _keep_if_common(facts: FieldFacts, context: FieldContext) -> Suggestion:
    rarity, profile = context.rarity, facts.profile
    rare = rarity.rarest_events < thresholds.LEAST_EVENTS or (
        rarity.rarest_entities is not None and rarity.rarest_entities < thresholds.LEAST_ENTITIES
    )
    if rare or profile.distinct > thresholds.MOST_KEPT:
        why = (
            f"It has more than {thresholds.MOST_KEPT} different values: left out."
            if profile.distinct > thresholds.MOST_KEPT
            else "Some of its values are rare, and rare ones single out: left out."
        )
        return _leave_out(
            why, 'do = "generalize"  # to groups that are large enough, by a hierarchy'
        )
    least = f"{thresholds.LEAST_EVENTS} events"
    if rarity.rarest_entities is not None:
        least += f" of at least {thresholds.LEAST_ENTITIES} entities"
    return Suggestion(
        rule={"do": "keep"},
        reason=f"Each of its values is met in at least {least}. A value that the sample hasn't "
        "would be kept, too.",
    )

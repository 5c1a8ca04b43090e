"""FieldProposal and EventsDescription: what is proposed for a stream of events, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError
from halfmask.events.description._policy_text import policy_text

if TYPE_CHECKING:
    from halfmask.description import SinglingOut
    from halfmask.events.description._kinds import FieldKind
    from halfmask.events.description._roles import StreamRole
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

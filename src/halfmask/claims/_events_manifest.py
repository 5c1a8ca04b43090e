"""What the manifest of an output of events holds: fields, counts, and claims about its lines.

It holds names of released fields, options of actions and counts; no value, no name of a field as
the input had it, no name of a table and no condition of a rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from halfmask.claims._claim import Claim, Json
from halfmask.claims._manifest import DataFile, Manifest
from halfmask.claims._weaknesses import weakness_sentence

#: The kind of these releases.
EVENTS: Final = "events"
#: The models of their claims.
GUARANTEES: Final = ("session-k", "k-m", "distinct")
CELLS: Final = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedField:
    """A field of the output as one rule writes it.

    Attributes
    ----------
    steps
        Where it is in the output: ``.name`` for a field, ``[]`` for elements, ``*`` for any field
        and ``#`` for any hashed one, ``**`` and ``##`` for any run of these and of elements.
    rule
        The number of the rule in the policy, from 1 on; 0 for what an aggregate writes.
    form
        ``do``, the last action, and those of its options that say what its values look like.
    weaknesses
        What it doesn't protect from, in words of the registry.
    """

    steps: tuple[str, ...]
    rule: int
    form: Mapping[str, Any]
    weaknesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeClaim:
    """What is shown in some fields is shown of k entities at least, in each window.

    Attributes
    ----------
    model
        ``"session-k"``, ``"k-m"`` or ``"distinct"``.
    k, m
        How many at least; how many values are known together, of ``"k-m"`` alone.
    fields
        The fields of the output: names, ``[]`` for elements.
    unit
        What shows them: ``"event"`` or ``"session"``.
    session, entity
        Where these stand in the output; None where it doesn't distinguish them.
    fails
        What was held back where there were fewer.
    min_entities
        Of how many entities the smallest was, as the run counted; None: there was nothing to count.
    """

    model: str
    k: int
    fields: tuple[tuple[str, ...], ...]
    unit: str
    fails: str
    m: int | None = None
    session: tuple[str, ...] | None = None
    entity: tuple[str, ...] | None = None
    min_entities: int | None = None

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        return Claim(
            model=self.model,
            parameters={"k": self.k} | ({} if self.m is None else {"m": self.m}),
            about={
                "fields": [list(steps) for steps in self.fields],
                "unit": self.unit,
                "session": None if self.session is None else list(self.session),
                "entity": None if self.entity is None else list(self.entity),
                "fails": self.fails,
            },
            basis="counted",
            evidence={"min_entities": self.min_entities},
        )

    def without_evidence(self) -> GuaranteeClaim:
        """Return the claim without what the run counted."""
        return dataclasses.replace(self, min_entities=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsClaim:
    """Each cell of an aggregate is of so many events, or entities, at least.

    Attributes
    ----------
    name
        What the lines call the aggregate; None where there is one alone.
    window, by, count, entities
        The fields that hold the window, the keys and the two counts; None: it isn't written.
    min_events, min_entities
        How many at least.
    totals
        Whether lines of totals are written, too.
    """

    name: str | None
    window: str
    by: tuple[str, ...]
    count: str | None
    entities: str | None
    min_events: int | None
    min_entities: int | None
    totals: bool

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        least = {"min-events": self.min_events, "min-entities": self.min_entities}
        return Claim(
            model=CELLS,
            parameters={word: count for word, count in least.items() if count is not None},
            about={
                "name": self.name,
                "window": self.window,
                "by": list(self.by),
                "count": self.count,
                "entities": self.entities,
                "totals": self.totals,
            },
            basis="counted",
            evidence={},
        )

    def without_evidence(self) -> CellsClaim:
        """Return the claim: the run counts nothing for it."""
        return self


EventClaim: TypeAlias = GuaranteeClaim | CellsClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class EventClaims:
    """What the stage of a run claims of its lines.

    Attributes
    ----------
    claims
        Guarantees, or aggregates; none without a stage.
    panes
        Of guarantees: how many lines left together, one window after the other.
    """

    claims: tuple[EventClaim, ...] = ()
    panes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGuarantees:
    """What a policy guarantees of any output of it, whatever a run met.

    Attributes
    ----------
    policy_sha256, release, fields
        As of `EventsManifest`.
    claims
        Without what a run counts.
    """

    policy_sha256: str
    release: str
    fields: tuple[ReleasedField, ...]
    claims: tuple[EventClaim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """What a run counted.

    Attributes
    ----------
    lines, events
        How many were read.
    passed, held
        Events that passed the rules, and that a rule refused.
    bad
        Lines that are no events, by reason.
    clock_went_back
        Events that are earlier than the one before.
    stage
        What the stage counted, by name.
    """

    lines: int
    events: int
    passed: int
    held: int
    bad: Mapping[str, int]
    clock_went_back: int
    stage: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesRisk:
    """How many lines and traces are unique, in the first lines of an output.

    Attributes
    ----------
    events
        How many events were counted, from the start of the output.
    unique_events
        How many events equal no other event in all released fields.
    by
        What a trace belongs to: ``entity`` or ``session``; None if the output has neither.
    traces
        How many traces these events have.
    unique_traces
        How many traces have content that no other trace has.
    known
        One tuple for each number of known events: this number, how many traces have that many
        different events, and the share of them, in [0, 1], that the known events single out.
    """

    events: int
    unique_events: int
    by: str | None = None
    traces: int = 0
    unique_traces: int = 0
    known: tuple[tuple[int, int, float], ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return it as the manifest has it."""
        return {
            "events": self.events,
            "unique_events": self.unique_events,
            "by": self.by,
            "traces": self.traces,
            "unique_traces": self.unique_traces,
            "known": [
                {"points": points, "traces": traces, "singled_out": share}
                for points, traces, share in self.known
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsManifest:
    """All that an output of events says of itself.

    Attributes
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Names and versions.
    policy_sha256, release
        `EventPolicy.sha256` of the policy that it was made by, and its word for the release.
    files
        Of the output, in the order of their lines.
    fields
        What is written where, and what it looks like.
    counts
        Of the run.
    failures
        Values that a rule couldn't work on: rule, reason, how many.
    claimed
        What is claimed of the lines.
    risk
        What was counted in the first lines.

    Examples
    --------
    >>> manifest = EventsManifest(
    ...     created="2026-11-21T09:00:00Z", software={"halfmask": "0.2.0"}, policy_sha256="0" * 64,
    ...     release="orders", files=(), fields=(), failures=(), claimed=EventClaims(), risk=None,
    ...     counts=RunCounts(
    ...         lines=0, events=0, passed=0, held=0, bad={}, clock_went_back=0, stage={}
    ...     ),
    ... )
    >>> manifest.stated().kind
    'events'
    """

    created: str
    software: Mapping[str, str]
    policy_sha256: str
    release: str
    files: tuple[DataFile, ...]
    fields: tuple[ReleasedField, ...]
    counts: RunCounts
    failures: tuple[tuple[int, str, int], ...]
    claimed: EventClaims
    risk: LinesRisk | None

    @property
    def lines(self) -> int:
        """How many lines the output has."""
        return sum(file.n_rows for file in self.files)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What the fields don't protect from, in words of the registry."""
        return tuple(sorted({word for field in self.fields for word in field.weaknesses}))

    @property
    def guarantees(self) -> EventGuarantees:
        """What a policy is compared with."""
        return EventGuarantees(
            policy_sha256=self.policy_sha256,
            release=self.release,
            fields=self.fields,
            claims=tuple(each.without_evidence() for each in self.claimed.claims),
        )

    def stated(self) -> Manifest:
        """Return the manifest as every kind of release has it."""
        return Manifest(
            kind=EVENTS,
            created=self.created,
            software=self.software,
            policy_sha256=self.policy_sha256,
            files=self.files,
            claims=tuple(each.stated() for each in self.claimed.claims),
            weaknesses=tuple(map(weakness_sentence, self.weaknesses)),
            details={
                "release": self.release,
                "counts": dataclasses.asdict(self.counts),
                "fields": [
                    dataclasses.asdict(each)
                    | {"steps": list(each.steps), "weaknesses": list(each.weaknesses)}
                    for each in self.fields
                ],
                "failures": [
                    {"rule": rule, "reason": reason, "values": count}
                    for rule, reason, count in self.failures
                ],
                "panes": list(self.claimed.panes),
                "risk": None if self.risk is None else self.risk.to_dict(),
            },
        )

"""What the manifest of an output of events holds: fields, counts, and claims about its lines.

It holds names of released fields, options of actions and counts; no value, no name of a field as
the input had it, no name of a table and no condition of a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from halfmask._errors import VerificationError
from halfmask.claims._details import Details, key, one_of, read_claim, stated_claim, written
from halfmask.claims.claim import WEAKNESSES, weakness_sentence
from halfmask.claims.manifest import EVENTS, DataFile, Manifest

if TYPE_CHECKING:
    from halfmask.claims._details import At
    from halfmask.claims.claim import Claim, Json

#: The models of their claims.
GUARANTEES: Final = ("session-k", "k-m", "distinct")
CELLS: Final = "cells"


def _weakness(at: At) -> str:
    word = at.text()
    if word not in WEAKNESSES:
        at.refuse("a weakness that this version knows")
    return word


Weakness: TypeAlias = Annotated[str, _weakness]
Model: TypeAlias = Annotated[str, one_of(GUARANTEES)]
Unit: TypeAlias = Annotated[str, one_of(("event", "session"))]


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
    weaknesses: tuple[Weakness, ...] = ()


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

    model: Model
    k: int = field(metadata=key(part="parameters"))
    m: int | None = field(default=None, metadata=key(part="parameters", optional=True))
    fields: tuple[tuple[str, ...], ...]
    unit: Unit
    session: tuple[str, ...] | None = None
    entity: tuple[str, ...] | None = None
    fails: str
    min_entities: int | None = field(default=None, metadata=key(part="evidence"))

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        return stated_claim(self, model=self.model)

    def without_evidence(self) -> GuaranteeClaim:
        """Return the claim without what the run counted."""
        return replace(self, min_entities=None)


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
    totals: bool
    min_events: int | None = field(
        default=None, metadata=key("min-events", part="parameters", optional=True)
    )
    min_entities: int | None = field(
        default=None, metadata=key("min-entities", part="parameters", optional=True)
    )

    def stated(self) -> Claim:
        """Return the claim as any release states one."""
        return stated_claim(self, model=CELLS)

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


Known: TypeAlias = Annotated[tuple[int, int, float], ("points", "traces", "singled_out")]
Failure: TypeAlias = Annotated[tuple[int, str, int], ("rule", "reason", "values")]


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
    known: tuple[Known, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return it as the manifest has it."""
        return written(self, LinesRisk)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDetails(Details):
    """What only the manifest of an output of events has.

    Attributes
    ----------
    release
        The policy's word for the release.
    counts
        Of the run.
    fields
        What is written where, and what it looks like.
    failures
        Values that a rule couldn't work on: rule, reason, how many.
    panes
        Of guarantees: how many lines left together, one window after the other.
    risk
        What was counted in the first lines.
    """

    kind = EVENTS
    called = "events"

    release: str
    counts: RunCounts
    fields: tuple[ReleasedField, ...]
    failures: tuple[Failure, ...]
    panes: tuple[int, ...] = ()
    risk: LinesRisk | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsManifest(EventsDetails):
    """All that an output of events says of itself.

    Attributes
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Names and versions.
    policy_sha256
        `EventPolicy.sha256` of the policy that it was made by.
    files
        Of the output, in the order of their lines.
    claims
        What is claimed of the lines.
    approval
        As of `Manifest`.
    release, counts, fields, failures, panes, risk
        As of the details.

    Examples
    --------
    >>> manifest = EventsManifest(
    ...     created="2026-11-21T09:00:00Z", software={"halfmask": "0.2.0"}, policy_sha256="0" * 64,
    ...     release="orders", files=(), fields=(), failures=(), claims=(), risk=None,
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
    files: tuple[DataFile, ...]
    claims: tuple[EventClaim, ...] = ()
    approval: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """How many lines the output has."""
        return sum(file.n_rows for file in self.files)

    @property
    def claimed(self) -> EventClaims:
        """What is claimed of the lines, and in which windows."""
        return EventClaims(claims=self.claims, panes=self.panes)

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
            claims=tuple(each.without_evidence() for each in self.claims),
        )

    def stated(self) -> Manifest:
        """Return the manifest as every kind of release has it."""
        return Manifest(
            kind=EVENTS,
            created=self.created,
            software=self.software,
            policy_sha256=self.policy_sha256,
            files=self.files,
            claims=tuple(each.stated() for each in self.claims),
            weaknesses=tuple(map(weakness_sentence, self.weaknesses)),
            details=self.to_details(),
            approval=self.approval,
        )


def events_manifest(manifest: Manifest) -> EventsManifest:
    """Read the manifest of an output of events.

    Parameters
    ----------
    manifest
        A manifest of an output of events.

    Raises
    ------
    VerificationError
        If the manifest is of another kind, or its details or claims aren't those of events.
    """
    details = EventsDetails.of(manifest)
    if manifest.report_sha256 is not None:
        raise VerificationError("The manifest names a report, and that of events isn't released.")
    found = EventsManifest(
        created=manifest.created,
        software=manifest.software,
        policy_sha256=manifest.policy_sha256,
        files=manifest.files,
        approval=manifest.approval,
        claims=tuple(_claim(it, n) for n, it in enumerate(manifest.claims, start=1)),
        **{each.name: getattr(details, each.name) for each in fields(EventsDetails)},
    )
    if found.panes and not any(isinstance(it, GuaranteeClaim) for it in found.claims):
        raise VerificationError("The manifest has panes, but no guarantee that is counted in them.")
    if not set(found.weaknesses) <= {each.partition(":")[0] for each in manifest.weaknesses}:
        raise VerificationError("The manifest doesn't name a weakness that its fields have.")
    return found


def _claim(claim: Claim, number: int) -> EventClaim:
    if claim.model == CELLS:
        return read_claim(CellsClaim, claim, number)
    found = read_claim(GuaranteeClaim, claim, number)
    if (found.m is None) == (found.model == "k-m"):
        raise VerificationError("A claim states how many values are known, or lacks it.")
    return found

"""Propose a policy for a stream of events from a sample, with the reason for each field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import DataError
from halfmask._validation import integer_at_least
from halfmask.description.singling_out import codes_of
from halfmask.events.block._bad_lines import Limits
from halfmask.events.block._block import scan_block
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._paths import Step
from halfmask.events.description._field_proposal import (
    EventsDescription,
    FieldContext,
    FieldProposal,
    Suggestion,
    suggest_rule,
)
from halfmask.events.description._fields import (
    FieldFacts,
    Identifying,
    count_identifying,
    facts_of,
    lacks_zone,
    rarity_of,
)
from halfmask.events.description._kinds import KindVerdict, StreamRole, judge_field, roles_of
from halfmask.events.description._tree import SampleTree
from halfmask.events.running._transforming import Transform
from halfmask.vault import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MOST_EVENTS: Final = 100_000
MOST_VALUES: Final = 3_000_000
MOST_BYTES: Final = 1 << 27
_BLOCK_BYTES: Final = 1 << 22
#: Python converts longer texts into integers in quadratic time, and refuses.
_LONGEST_INT: Final = 400


def describe_events(
    lines: bytes | Iterable[bytes], *, max_events: int = MOST_EVENTS, limits: Limits | None = None
) -> EventsDescription:
    r"""Propose a rule for each field of events, with its reasons.

    Parameters
    ----------
    lines
        Whole lines of JSON, or several pieces of whole lines, such as the chunks of a source.
    max_events
        After so many events no more are looked at, at least 1; nor after 3 million scalars or
        128 MiB of lines.
    limits
        Beyond what a line is refused.

    Returns
    -------
    EventsDescription
        A proposal for each path, and the sets of paths that single events out.

    Raises
    ------
    DataError
        If there is no event.
    ParameterError
        If `max_events` isn't an integer of 1 or more.

    Notes
    -----
    **Guarantees.** The proposed policy can be read, and its rules fail on no value of the sample.
    Neither the description nor the policy has a value of the sample. Names of fields are in it,
    except for those of maps: of objects with more than 200 names, with names that often have the
    form of a number, day or address, or with eight or more mostly rare names. Where all that stands
    under names is alike, a map is also an object that has at most half of eight names or more, or
    of whose names half, and at least two, are values elsewhere.

    **Edge cases.** A map that each event has whole, or of less than eight names, is taken for a
    record if its names are no values elsewhere. Its names then stand in the proposal. The sample is
    the first of the stream; it overstates how much is unique. **False negatives are possible**:
    nobody but the owner knows what fields mean.

    Examples
    --------
    >>> lines = b'{"user": "ann", "n": 1}\n{"user": "bob", "n": 2}\n{"user": "ann", "n": 3}\n'
    >>> [(it.path, it.kind, it.rule) for it in describe_events(lines).fields]
    [('user', 'identifier', {'do': 'token'}), ('n', 'number', {'do': 'round', 'significant': 1})]
    """
    integer_at_least(1, owner="describe_events", max_events=max_events)
    sample = _Sample(max_events, limits or Limits())
    for piece in _cut_pieces([lines] if isinstance(lines, bytes) else lines):
        if not sample.take(piece):
            break
    if not sample.tree.events:
        raise DataError(
            "There is no event to describe.",
            hint="Each line must be an object of JSON.",
        )
    sample.tree.settle()
    return _without_failures(_describe_sample(sample), sample)


class _Sample:
    """The first events of a stream: their places, and their lines."""

    def __init__(self, most: int, limits: Limits) -> None:
        self.tree = SampleTree(MOST_VALUES)
        self.limits = limits
        self.refused: Counter[str] = Counter()
        self.lines = 0
        self.whole = True
        self.accepted: list[bytes] = []
        self._most = most
        self._bytes = 0
        self._checks = PathTree([])
        self._decoder = json.JSONDecoder(parse_int=_parse_integer)

    def take(self, data: bytes) -> bool:
        """Take lines in; return whether more may come."""
        block = scan_block(data, self._checks, self.limits, first_line=self.lines + 1)
        texts = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        numbers = (block.lines - self.lines - 1).tolist()
        taken = 0
        for number in numbers:
            if self.tree.events >= self._most or self.tree.full or self._bytes >= MOST_BYTES:
                break
            text = texts[number]
            event = self._decoder.decode(text.decode())
            self.tree.add(event)
            self.accepted.append(text)
            self._bytes += len(text)
            taken += 1
        self.whole = taken == len(numbers)
        self.lines += block.n_lines if self.whole else numbers[taken]
        self.refused.update(str(bad.reason) for bad in block.bad if bad.line <= self.lines)
        return self.whole

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines of the events that were taken, some megabytes at a time."""
        some: list[bytes] = []
        size = 0
        for line in self.accepted:
            some.append(line)
            size += len(line) + 1
            if size >= _BLOCK_BYTES:
                yield b"\n".join(some)
                some, size = [], 0
        if some:
            yield b"\n".join(some)


def _parse_integer(text: str) -> int | float:
    return int(text) if len(text) <= _LONGEST_INT else float(text)


def _cut_pieces(given: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces of whole lines that aren't much larger than a block."""
    for data in given:
        cuts = [0]
        while len(data) - cuts[-1] > _BLOCK_BYTES:
            end = data.find(b"\n", cuts[-1] + _BLOCK_BYTES)
            if end < 0:
                break
            cuts.append(end + 1)
        for start, stop in pairwise((*cuts, len(data))):
            if stop > start:
                yield data[start:stop]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Field:
    facts: FieldFacts
    verdict: KindVerdict


def _describe_sample(sample: _Sample) -> EventsDescription:
    tree = sample.tree
    fields = []
    names: dict[str, int] = {}
    for steps, node in tree.places():
        facts = facts_of(steps, node)
        fields.append(_Field(facts=facts, verdict=judge_field(facts)))
        if node.star is not None:
            names[str(facts.place)] = node.names
    if tree.root.star is not None:
        names[""] = tree.root.names
    roles = roles_of([(it.facts, it.verdict) for it in fields], tree.events)
    entity = next((path for path, (role, _) in roles.items() if role == "entity"), None)
    entities = _number_entities(fields, entity, tree.events)
    counted = count_identifying([it.facts for it in fields if _counts(it)], tree.events)
    proposals = [_propose_field(it, roles, counted, entities, names) for it in fields]
    timed = next((path for path, (role, _) in roles.items() if role == "time"), None)
    time = next((it for it in fields if it.facts.path == timed), None)
    return EventsDescription(
        fields=tuple(proposals),
        lines=sample.lines,
        events=tree.events,
        refused=dict(sorted(sample.refused.items())),
        whole=sample.whole,
        singling_out=counted.sets,
        share_unique=counted.share_unique,
        zone_lacking=time is not None and lacks_zone(time.facts),
    )


def _counts(found: _Field) -> bool:
    """Return whether a field is one of those with which it is counted what singles out."""
    facts, kind = found.facts, found.verdict.kind
    own = kind == "free-text" or (kind == "identifier" and facts.of_events)
    return facts.place.concrete and bool(facts.profile.rows) and not own


def _number_entities(
    fields: list[_Field], entity: str | None, events: int
) -> NDArray[np.int64] | None:
    """Return the number of each event's entity, -1 for none."""
    if entity is None:
        return None
    facts = next(it.facts for it in fields if it.facts.path == entity)
    found = np.full(events, -1, np.int64)
    found[facts.event], _ = codes_of(facts.series)
    return found


def _propose_field(
    found: _Field,
    roles: Mapping[str, tuple[StreamRole, str]],
    counted: Identifying,
    entities: NDArray[np.int64] | None,
    names: Mapping[str, int],
) -> FieldProposal:
    facts, verdict = found.facts, found.verdict
    role, why = roles.get(facts.path, (None, ""))
    rarity = rarity_of(facts, entities)
    context = FieldContext(
        role=role,
        gain=counted.gains.get(facts.path, 0.0),
        rarity=rarity,
        entities=entities,
        names=max((names[it] for it in names if _is_within(facts, it)), default=0),
    )
    rule = suggest_rule(facts, verdict, context)
    profile = facts.profile
    reasons = (*verdict.reasons, *([why] if why else []), *_of_map(facts, names), rule.reason)
    return FieldProposal(
        path=facts.path,
        kind=verdict.kind,
        role=role,
        types=facts.types,
        events=facts.events,
        values=profile.rows,
        distinct=profile.distinct,
        share_unique=profile.share_unique,
        mean_length=profile.mean_length,
        longest=facts.longest,
        one_entity=rarity.one_entity,
        names=names.get(facts.path, 0),
        rule=rule.rule,
        reasons=reasons,
        otherwise=rule.otherwise,
        certain=verdict.certain,
    )


def _is_within(facts: FieldFacts, map_: str) -> bool:
    """Return whether a field is in a map, given by its path."""
    steps = facts.place.steps
    stars = [i for i, step in enumerate(steps) if step is Step.FIELD]
    return any(str(replace(facts.place, steps=steps[:i])) == map_ for i in stars)


def _of_map(facts: FieldFacts, names: Mapping[str, int]) -> tuple[str, ...]:
    if facts.path not in names:
        return ()
    reason = (
        f"Its {names[facts.path]:,} names were taken for values: they are a star here, and hashed "
        "where a rule writes them."
    )
    return (reason,)


def _without_failures(found: EventsDescription, sample: _Sample) -> EventsDescription:
    """Run the proposal over the sample, and leave out what it can't be done to."""
    while True:
        failing = _find_failing(found, sample)
        if not failing:
            return found
        fields = tuple(
            it if it.path not in failing else _leave_out(it, failing[it.path])
            for it in found.fields
        )
        found = replace(found, fields=fields)


def _find_failing(found: EventsDescription, sample: _Sample) -> dict[str, str]:
    """Return the paths whose rules fail on the sample, with the reason."""
    policy = found.policy(release="sample")
    transform = Transform(policy, secret=Secret.from_bytes(bytes(32)), limits=sample.limits)
    starred = {rule.path for rule in policy.rules if not rule.place.concrete}
    failing: dict[str, str] = {}
    for block in sample.blocks():
        transform.apply(block)
    for number, reason in transform.tally.failures:
        failing[policy.rules[number - 1].path] = reason
    for reason in transform.tally.bad:
        # Lines that were events before are refused for what stars, or names of fields, find.
        failing |= dict.fromkeys(starred or {rule.path for rule in policy.rules}, reason)
    return {path: reason for path, reason in failing.items() if found[path].rule is not None}


def _leave_out(proposal: FieldProposal, reason: str) -> FieldProposal:
    rule = Suggestion(rule=None, reason=f"The rule fails on some of it ({reason}): left out.")
    reasons = (*proposal.reasons[:-1], rule.reason)
    return replace(proposal, rule=None, reasons=reasons, certain=False)

"""Simple counts of what is left to single out in released events."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from halfmask.claims import LinesRisk
from halfmask.events.block._values import Kind
from halfmask.events.block._words import person_word, scalar_token
from halfmask.events.report._fields import telling_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halfmask.events.policy._policy import EventPolicy

MOST_EVENTS: Final = 200_000
MOST_TRACES: Final = 1_000
KNOWN: Final = (1, 2, 4, 8)
_ADVICE: Final = (
    "Coarsen times and numbers, drop fields that identify people, or add a [[guarantee]] to the "
    "policy. halfmask events describe lists the fields that single events out."
)
#: No field is called so: names of fields are text without such characters in them.
_NUMBER: Final = "\0number"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedRisk(LinesRisk):
    """What single events and traces out, in the first events that were released.

    Parameters
    ----------
    events, unique_events, by, traces, unique_traces, known
        As of `LinesRisk`.
    cells
        Whether the lines are cells of aggregates.
    """

    cells: bool = False

    @property
    def warning(self) -> str | None:
        """The worst in one sentence; None where no event and no known events single out.

        Cells of aggregates are of many events: that each differs is no risk.
        """
        if self.cells:
            return None
        parts = []
        if self.unique_events:
            alone = percent(self.unique_events / self.events)
            parts.append(f"{alone} of {self.events:,} released events equal no other")
        found = [it for it in self.known if it[2]]
        if found:
            points, traces, share = found[0]
            whom = "entities" if self.by == "entity" else "sessions"
            sentence = f"{_known(points)} out {percent(share)} of {traces:,} {whom}"
            worst = max(found, key=lambda it: it[2])
            if worst[2] > share:
                sentence += f", {_known(worst[0])} out {percent(worst[2])}"
            parts.append(sentence)
        return ", and ".join(parts) + "." if parts else None

    @property
    def advice(self) -> str | None:
        """What can be done about that; None without a need."""
        return None if self.warning is None else _ADVICE


class RiskCounts:
    """Counts in lines of the output, one after the other.

    Notes
    -----
    A point is an event with all that was released of it except entity and session. A trace is the
    set of points of an entity, or of a session where no entity is released. Known points are drawn
    from a trace by their hash: the same each time. "Unique in the crowd", de Montjoye, Hidalgo,
    Verleysen, Blondel, Scientific Reports 3 (2013).
    """

    def __init__(
        self,
        *,
        entity: tuple[str, ...] | None,
        session: tuple[str, ...] | None,
        cells: bool = False,
    ) -> None:
        self._cells = cells
        self._by = "entity" if entity is not None else "session" if session is not None else None
        self._owner = entity if entity is not None else session
        self._hidden = [steps for steps in (entity, session) if steps is not None]
        self._lines: Counter[bytes] = Counter()
        self._owners: dict[bytes, set[str]] = defaultdict(set)
        self._events = 0

    @classmethod
    def of(cls, policy: EventPolicy) -> Self:
        """Return the counts of what a policy releases, still empty."""
        return cls(
            entity=telling_steps(policy, policy.stream.entity),
            session=telling_steps(policy, policy.stream.session),
            cells=bool(policy.aggregates),
        )

    def look(self, data: bytes) -> None:
        """Count in whole lines, until there are enough."""
        for line in () if self.full else data.split(b"\n"):
            if self.full:
                return
            if line:
                self.add(line)

    @property
    def full(self) -> bool:
        """Whether no more lines are looked at."""
        return self._events >= MOST_EVENTS

    def add(self, line: bytes) -> None:
        """Count in a line."""
        self._events += 1
        self._lines[_digest(line)] += 1
        if self._owner is None:
            return
        event = json.loads(line, parse_float=_written)
        owner = _word(_at(event, self._owner))
        if owner is None:
            return
        for steps in self._hidden:
            _remove(event, steps)
        point = json.dumps(event, sort_keys=True).encode()
        self._owners[_digest(point)].add(owner)

    def counted(self) -> ReleasedRisk:
        """Return what was counted."""
        traces: dict[str, set[bytes]] = defaultdict(set)
        for point, owners in self._owners.items():
            for owner in owners:
                traces[owner].add(point)
        shown = Counter(frozenset(points) for points in traces.values())
        return ReleasedRisk(
            events=self._events,
            unique_events=sum(count == 1 for count in self._lines.values()),
            by=self._by,
            traces=len(traces),
            unique_traces=sum(count == 1 for count in shown.values()),
            known=tuple(self._known(traces)),
            cells=self._cells,
        )

    def _known(self, traces: Mapping[str, set[bytes]]) -> Iterator[tuple[int, int, float]]:
        # By hashes of their own, so that no point is drawn more often than others.
        order = sorted(traces, key=lambda owner: _digest(owner.encode()))
        for points in KNOWN:
            some = [owner for owner in order if len(traces[owner]) >= points][:MOST_TRACES]
            if not some:
                return
            alone = 0
            for owner in some:
                drawn = _drawn(traces[owner], owner.encode(), points)
                seen = [self._owners[point] for point in drawn]
                alone += len(set.intersection(*seen)) == 1
            yield points, len(some), alone / len(some)


def counted_in(policy: EventPolicy, lines: Iterable[bytes]) -> ReleasedRisk:
    """Return what was counted in the first of some blocks of lines that a policy released."""
    counts = RiskCounts.of(policy)
    for data in lines:
        counts.look(data)
        if counts.full:
            break
    return counts.counted()


def percent(share: float) -> str:
    """Return a fraction for readers: never 0 % or 100 % where it is only near."""
    if 0.0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1.0:
        return "> 99.9%"
    return f"{share:.1%}".replace(".0%", "%")


def _known(points: int) -> str:
    return f"{points} known event{'s single' if points > 1 else ' singles'}"


def _written(text: str) -> dict[str, str]:
    """Return a number with its original digits: a float merges long ones."""
    return {_NUMBER: text}


def _word(owner: object) -> str | None:
    """Return what the same owners have in common, however they are written."""
    if isinstance(owner, dict) and _NUMBER in owner:
        return person_word(Kind.NUMBER, owner[_NUMBER].encode())
    token = scalar_token(owner)
    return None if token is None else person_word(*token)


def _drawn(trace: set[bytes], salt: bytes, points: int) -> list[bytes]:
    return heapq.nsmallest(points, trace, key=lambda point: _digest(salt + point))


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def _at(event: Any, steps: Sequence[str]) -> Any:  # noqa: ANN401 # what JSON held
    for step in steps:
        if not isinstance(event, dict) or step[1:] not in event:
            return None
        event = event[step[1:]]
    return event


def _remove(event: Any, steps: Sequence[str]) -> None:  # noqa: ANN401 # what JSON held
    inner = _at(event, steps[:-1])
    if isinstance(inner, dict):
        inner.pop(steps[-1][1:], None)

"""The risk that a manifest states: what the lines show of it is counted again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from halfmask.claims import GuaranteeClaim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import LinesRisk
    from halfmask.claims.event_claims import EventClaim

#: The format's own bound: the risk is about so many first lines.
_MOST: Final = 200_000


class FirstLines:
    """The first lines: how many of them are equal to no other."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()
        self._lines = 0

    def add(self, line: bytes) -> None:
        """Count a line in."""
        if self._lines < _MOST:
            self._lines += 1
            self._seen[hashlib.sha256(line).digest()[:16]] += 1

    @property
    def unique(self) -> int:
        """How many lines equal no other."""
        return sum(count == 1 for count in self._seen.values())


def risk_problems(
    risk: LinesRisk | None, *, lines: int, unique: int | None, claims: Sequence[EventClaim]
) -> Iterator[str]:
    """Yield a sentence for each number of the risk that can't be true."""
    looked = min(lines, _MOST)
    if risk is None:
        if lines:
            yield f"The manifest states no risk of its {lines} lines."
        return
    if risk.events != looked:
        yield f"The risk of the manifest is of {risk.events} lines, and must be of {looked}."
    elif unique is not None and unique != risk.unique_events:
        yield (
            f"{unique} of the first {looked} lines are equal to no other; the manifest "
            f"has {risk.unique_events}."
        )
    if risk.unique_events > risk.events or not _goes_together(risk):
        yield "The numbers of the manifest's risk contradict each other."
    if risk.by != (_owner(claims) or risk.by):
        yield "The risk of the manifest isn't of the traces that its claims distinguish."


def _goes_together(risk: LinesRisk) -> bool:
    if risk.by is None:
        return risk.traces == risk.unique_traces == 0 and not risk.known
    shares = all(
        0 < points <= risk.events and 0 < traces <= risk.traces and 0 <= share <= 1
        for points, traces, share in risk.known
    )
    traces = risk.unique_traces <= risk.traces <= risk.events
    # A trace has one event at least, so where there are traces one known event is counted.
    counted = bool(risk.known) == bool(risk.traces)
    return risk.by in {"entity", "session"} and shares and traces and counted


def _owner(claims: Sequence[EventClaim]) -> str | None:
    """Return what the output tells apart, by its claims."""
    guarantees = [each for each in claims if isinstance(each, GuaranteeClaim)]
    if any(each.entity is not None for each in guarantees):
        return "entity"
    return "session" if any(each.session is not None for each in guarantees) else None


def unverified_risk(risk: LinesRisk | None, *, is_table: bool) -> Iterator[str]:
    """Yield a sentence for each part of the risk that isn't counted again."""
    if risk is None:
        return
    if is_table:
        yield "The number of unique events isn't verified: rows of tables aren't compared."
    if risk.by is not None:
        yield (
            "The numbers of traces and of known events aren't verified: the manifest doesn't say "
            "which fields make a trace."
        )

"""Recount cells of aggregates: minimum counts, and what totals less cells would tell."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halfmask._errors import VerificationError
from halfmask.verifier.events._verdict import Check, claim_text, lines_checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halfmask.claims import CellsClaim
    from halfmask.verifier._result import CheckedRelease


@dataclass(slots=True)
class _Window:
    """What one window's lines say."""

    keys: set[str] = field(default_factory=set)
    events: int = 0
    total: int | None = None


@dataclass(slots=True)
class _Recount:
    """One section's lines."""

    claim: CellsClaim
    windows: dict[tuple[str, int], _Window] = field(default_factory=lambda: defaultdict(_Window))
    least: int | None = None
    failures: int = 0
    updates: int = 0
    lines: int = 0

    def add(self, cell: Mapping[str, Any]) -> None:
        claim = self.claim
        late = "update" in cell
        # Each late group stands for itself; which lines are of one is unknown, so none is added.
        self.updates += late
        window = self.windows[json.dumps(cell.get(claim.window)), self.updates * late]
        self.lines += 1
        key = json.dumps([cell.get(name, False) for name in claim.by])
        is_total = "total" in cell
        if not is_total:
            self.failures += key in window.keys
            window.keys.add(key)
        self._at_least(cell, claim.count, claim.min_events, window, is_total=is_total)
        self._at_least(cell, claim.entities, claim.min_entities, None)

    def _at_least(
        self,
        cell: Mapping[str, Any],
        name: str | None,
        least: int | None,
        window: _Window | None,
        *,
        is_total: bool = False,
    ) -> None:
        if name is None:
            return
        _, text = cell[name]
        count = int(text)
        if window is not None and is_total:
            window.total = count
        elif window is not None:
            window.events += count
        if least is not None:
            self.least = count if self.least is None else min(self.least, count)
            self.failures += count < least

    def check(self, number: int) -> Check:
        claim = self.claim
        least = claim.min_events
        if claim.totals and least is not None and claim.count is not None:
            for (_, late), window in self.windows.items():
                rest = None if window.total is None or late else window.total - window.events
                self.failures += rest is not None and (rest < 0 or 0 < rest < least)
        counted = self.least is not None or not self.lines
        bounds = (
            ("events", claim.min_events, claim.count),
            ("entities", claim.min_entities, claim.entities),
        )
        unwritten = [word for word, bound, name in bounds if bound is not None and name is None]
        return Check(
            claim=claim.stated(),
            called=f"cells {claim.name or number}",
            holds=not self.failures,
            counted="cells" if counted else "nothing",
            least=self.least,
            failures=self.failures,
            guarantee=claim_text(claim),
            unverified=f"Its number of {' and '.join(unwritten)} isn't verified: the cells don't "
            "have it."
            if unwritten
            else "",
        )


def recount_cells(
    cells: Iterable[Mapping[str, Any]], claims: Sequence[CellsClaim]
) -> CheckedRelease:
    """Recount the lines of aggregates."""
    recounts = {claim.name: _Recount(claim) for claim in claims}
    lines = 0
    for cell in cells:
        lines += 1
        name = cell.get("aggregate")
        found = recounts.get(name) if name is None or isinstance(name, str) else None
        if found is None:
            raise VerificationError(f"Line {lines} is of no aggregate that the claims name.")
        try:
            found.add(cell)
        except (KeyError, TypeError, ValueError):
            raise VerificationError(f"Line {lines} lacks a number that the claims name.") from None
    checks = [recount.check(number) for number, recount in enumerate(recounts.values(), start=1)]
    return lines_checked(checks, lines)

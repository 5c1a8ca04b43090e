"""What a transform did: counts, by rule and reason; never a value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from halfmask._errors import DataError


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a stream, up to here.

    Parameters
    ----------
    lines
        Lines that were read; blank ones, too.
    events
        Events that were read.
    written
        Events that were written.
    held
        Events that weren't, since a rule with ``otherwise = "refuse-event"`` couldn't do its work.
    bad
        Lines that are no event, by reason.
    failures
        Values that a rule couldn't work on, by the rule's number (from 1 on) and reason.
    """

    lines: int = 0
    events: int = 0
    written: int = 0
    held: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[int, str]] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return the counts, as JSON can hold them."""
        return {
            "lines": self.lines,
            "events": self.events,
            "written": self.written,
            "held": self.held,
            "bad": dict(sorted(self.bad.items())),
            "failures": [[*key, count] for key, count in sorted(self.failures.items())],
        }

    @classmethod
    def from_json(cls, found: Any) -> Self:  # noqa: ANN401 # what JSON held
        """Return the counts that `to_json` gave.

        Parameters
        ----------
        found
            What `to_json` returned.

        Raises
        ------
        DataError
            If it didn't.
        """
        try:
            numbers = {name: int(found[name]) for name in ("lines", "events", "written", "held")}
            failures = {(int(rule), str(why)): int(count) for rule, why, count in found["failures"]}
            return cls(**numbers, bad=Counter(found["bad"]), failures=Counter(failures))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("The counts of a stream are damaged.") from None

"""RunSummary: what a run did, in counts; a tally of one block adds to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a stream, up to here."""

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
        """Return the counts that `to_json` gave."""
        try:
            numbers = {name: int(found[name]) for name in ("lines", "events", "written", "held")}
            failures = {(int(rule), str(why)): int(count) for rule, why, count in found["failures"]}
            return cls(**numbers, bad=Counter(found["bad"]), failures=Counter(failures))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("The counts of a stream are damaged.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Counts of a run since the beginning of its input; never a value.

    Parameters
    ----------
    complete
        Whether the input came to its end and the output has its name.
    resumed
        Whether it went on where an earlier one was broken off.
    lines
        Lines that were read; blank ones, too.
    events
        Events that were read.
    passed
        Events that the rules let pass.
    held
        Events that weren't, since a rule with ``otherwise = "refuse-event"`` couldn't do its work.
    bad
        Lines that are no event, by reason.
    bad_lines
        Of each reason, where the first ones are: the number of the file and of the line.
    failures
        Values that a rule couldn't work on: the rule's number from 1 on, the reason, how many.
    unmet
        Rules, by number, whose path no event had.
    clock_went_back
        Events whose time is before that of the event before.
    source, stage
        Counts of the source, and of what stands between rules and output.
    checkpoints
        How many were made; breaks not included.
    blank
        Whether no value passed the rules: lines, if there are any, are empty.
    """

    complete: bool
    resumed: bool
    lines: int
    events: int
    passed: int
    held: int
    bad: Mapping[str, int]
    bad_lines: Mapping[str, tuple[tuple[int, int], ...]]
    failures: tuple[tuple[int, str, int], ...]
    unmet: tuple[int, ...]
    clock_went_back: int
    source: Mapping[str, int] = field(default_factory=dict)
    stage: Mapping[str, int] = field(default_factory=dict)
    checkpoints: int = 0
    blank: bool = False

    def warnings(self) -> tuple[str, ...]:
        """Return warnings in sentences: nothing was written, events are lost.

        Such a run did what its policy says, so it is no error.
        """
        return (*self._empty(), *self._lost())

    def _lost(self) -> tuple[str, ...]:
        """Say of events that the output lacks though no rule and no guarantee wants that."""
        reasons = {
            "late": "came after their window was closed, and are missing in the output.",
            "no-time": "have no time that can be read, and are missing in the output. See time and "
            "zone of [stream] in the policy.",
        }
        counts = {name: self.stage.get(name, 0) for name in reasons}
        return tuple(f"{count:,} events {reasons[name]}" for name, count in counts.items() if count)

    @property
    def wrote_nothing(self) -> bool:
        """Whether the run is whole, and no value of an event was written."""
        return bool(self._empty())

    def _empty(self) -> tuple[str, ...]:
        if not self.complete:
            return ()
        lines = self.passed
        if self.stage:
            lines = self.stage.get("events-written", self.stage.get("cells-written", 0))
        if not self.events:
            why = "No line of the input is an event" if self.bad else "The input has no event"
        elif not self.passed:
            why = "The rules refused every event"
        elif not lines:
            why = "Windows, guarantees or aggregates let nothing out"
        elif self.blank and "cells-written" not in self.stage:
            return (f"Nothing was written but {lines:,} empty lines. No value passed the rules.",)
        else:
            return ()
        return (f"Nothing was written. {why}.",)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        return {
            "complete": self.complete,
            "resumed": self.resumed,
            "lines": self.lines,
            "events": self.events,
            "passed": self.passed,
            "held": self.held,
            "bad": dict(self.bad),
            "bad_lines": {
                reason: [list(place) for place in places]
                for reason, places in self.bad_lines.items()
            },
            "failures": [
                {"rule": rule, "reason": reason, "values": count}
                for rule, reason, count in self.failures
            ],
            "unmet_rules": list(self.unmet),
            "clock_went_back": self.clock_went_back,
            "source": dict(self.source),
            "stage": dict(self.stage),
            "checkpoints": self.checkpoints,
            "warnings": list(self.warnings()),
        }


def summed_up(tally: Tally, base: Tally, **facts: Any) -> RunSummary:  # noqa: ANN401 # RunSummary's
    """Return the summary of what was counted since a tally."""
    bad = {why: count - base.bad[why] for why, count in sorted(tally.bad.items())}
    failures = (
        (rule, why, count - base.failures[rule, why])
        for (rule, why), count in sorted(tally.failures.items())
    )
    return RunSummary(
        lines=tally.lines - base.lines,
        events=tally.events - base.events,
        passed=tally.written - base.written,
        held=tally.held - base.held,
        bad={why: count for why, count in bad.items() if count},
        failures=tuple(each for each in failures if each[2]),
        **facts,
    )

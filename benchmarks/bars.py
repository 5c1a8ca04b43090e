"""A bar: what was promised, what was measured, and whether it holds. Printed as one JSON object.

A part of the scripts; not run by itself.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeVar

RUNS = 5
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One promise. A value of None was not measured, and `why` says why; it doesn't hold.

    Parameters
    ----------
    name
        What is promised, with its unit.
    value
        What was measured.
    goal
        The bar.
    side
        Whether the value must be at least or at most the goal.
    why
        Why there is no value, or what it rests on.
    """

    name: str
    value: float | None
    goal: float
    side: Literal["at least", "at most"]
    why: str = ""

    @property
    def holds(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.goal if self.side == "at least" else self.value <= self.goal

    def as_json(self) -> dict[str, object]:
        sign = ">=" if self.side == "at least" else "<="
        value = None if self.value is None else float(f"{self.value:.4g}")
        said: dict[str, object] = {
            "value": value,
            "goal": f"{sign} {self.goal:g}",
            "holds": self.holds,
        }
        return said | ({"why": self.why} if self.why else {})


def say(line: str) -> None:
    """Show progress on stderr."""
    print(line, file=sys.stderr, flush=True)


def report(bars: list[Bar]) -> None:
    """Print a table of the bars on stderr and, as the last line of stdout, one JSON object."""
    for bar in bars:
        said = bar.as_json()
        mark = "holds " if bar.holds else "MISSED"
        say(f"{mark}  {bar.name}: {said['value']} (goal {said['goal']}) {bar.why}")
    print(json.dumps({bar.name: bar.as_json() for bar in bars}))


def seconds_of(run: Callable[[], Result], *, runs: int = RUNS) -> tuple[float, Result]:
    """Return the median seconds of `runs` runs, and the last result."""
    taken = []
    for _ in range(runs - 1):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    start = time.perf_counter()
    result = run()
    taken.append(time.perf_counter() - start)
    return median(taken), result

"""Measuring k, l and t of a table beside pycanon, and that the two agree.

A part of `anonymize.py`; not run by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rivals

import workloads
from bars import Bar, say, seconds_of
from halfmask.guarantees import DistinctLDiversity, Guarantee, KAnonymity, TCloseness, measure

if TYPE_CHECKING:
    import polars as pl

TIMES_FASTER = 20.0
MOST_DIFFERENCE = 1e-9
TASKS: dict[str, Guarantee] = {
    "k": KAnonymity(k=2),
    "l": DistinctLDiversity(l=2, column=workloads.LABEL),
    "t": TCloseness(t=0.2, column=workloads.LABEL, distance="equal"),
}


def compare(name: str, frame: pl.DataFrame, task: str, into: Path) -> list[Bar]:
    """Judge one table by us and by pycanon."""
    names = list(workloads.QUASI_IDENTIFIERS)
    seconds, judgements = seconds_of(
        lambda: measure(frame, quasi_identifiers=names, guarantees=[TASKS[task]])
    )
    faster = f"{name} measuring {task}: times faster than pycanon"
    agrees = f"{name} measuring {task}: difference from pycanon"
    peer = rivals.judge(frame, task=task, into=into)
    if peer is None or peer.value is None:
        why = "not measured: pycanon"
        return [
            Bar(name=faster, value=None, goal=TIMES_FASTER, side="at least", why=why),
            Bar(name=agrees, value=None, goal=MOST_DIFFERENCE, side="at most", why=why),
        ]
    achieved = judgements[0].achieved
    say(f"{name} {task}: {seconds:.4f} s ({achieved:g}), pycanon {peer.seconds:.3f} s")
    difference = abs(achieved - peer.value)
    return [
        Bar(name=faster, value=peer.seconds / seconds, goal=TIMES_FASTER, side="at least"),
        Bar(name=agrees, value=difference, goal=MOST_DIFFERENCE, side="at most"),
    ]


def bars(into: Path) -> list[Bar]:
    """k, l and t of Adult, and k of a million rows."""
    found = [bar for task in TASKS for bar in compare("adult", workloads.adult(), task, into)]
    return [*found, *compare("1M rows", workloads.bootstrapped(1_000_000), "k", into)]

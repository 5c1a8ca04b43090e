"""Adult, ten quasi-identifiers: we and every peer in turn, at each k.

A part of `anonymize.py`; not run by itself.
"""

from __future__ import annotations

from pathlib import Path

import rivals
from ours import METHODS, Ours, measured

import workloads
from bars import Bar, say

KS = (10, 50, 100)
ANONYMIZERS = ("anjana", "anonypy", "ai-privacy-toolkit")
TIMES_FASTER = 60.0
TARGET_SECONDS = 0.05


def ours_at(k: int) -> dict[str, Ours]:
    """Measure our two methods on Adult."""
    frame = workloads.adult()
    found: dict[str, Ours] = {}
    for method in METHODS:
        found[method] = ours = measured(frame, method, k=k)
        say(
            f"adult k={k:<3} {method:<19} {ours.seconds:8.4f} s  loss {ours.loss:.4f}  "
            f"{ours.classes} classes of >= {ours.smallest_class}  suppressed {ours.rows_suppressed}"
        )
    return found


def peers_at(k: int, into: Path) -> dict[str, rivals.Outcome]:
    """Measure every peer that has a venv on Adult."""
    frame = workloads.adult()
    found = {}
    for peer in ANONYMIZERS:
        outcome = rivals.anonymize(peer, frame, k=k, into=into)
        if outcome is None:
            continue
        found[peer] = outcome
        say(
            f"adult k={k:<3} {peer:<19} {outcome.seconds:8.4f} s  loss {outcome.loss:.4f}  "
            f"{outcome.classes} classes of >= {outcome.smallest_class}  "
            f"suppressed {outcome.rows_suppressed}  "
            f"({outcome.runs} runs, {outcome.peak_megabytes:.0f} MB)"
        )
    return found


def seconds_bars(k: int, ours: dict[str, Ours]) -> list[Bar]:
    """The target in seconds, which holds on a machine like the one it was set on."""
    return [
        Bar(
            name=f"adult k={k} {method}: seconds",
            value=ours[method].seconds,
            goal=TARGET_SECONDS,
            side="at most",
        )
        for method in METHODS
    ]


def ratio_bars(k: int, ours: dict[str, Ours], peers: dict[str, rivals.Outcome]) -> list[Bar]:
    """How many times faster than the fastest peer, and no worse a loss."""
    missing = [peer for peer in ANONYMIZERS if peer not in peers]
    if missing:
        # the fastest of those that happen to be here is not the bar
        why = f"not measured: {', '.join(missing)}"
        names = [f"adult k={k} {method}: times faster than the fastest peer" for method in METHODS]
        return [
            Bar(name=name, value=None, goal=TIMES_FASTER, side="at least", why=why)
            for name in names
        ]
    fastest = min(peers.values(), key=lambda outcome: outcome.seconds)
    speed = [
        Bar(
            name=f"adult k={k} {method}: times faster than the fastest peer",
            value=fastest.seconds / ours[method].seconds,
            goal=TIMES_FASTER,
            side="at least",
            why=f"the fastest is {fastest.peer}",
        )
        for method in METHODS
    ]
    return [*speed, *_loss_bars(k, ours, peers)]


def _loss_bars(k: int, ours: dict[str, Ours], peers: dict[str, rivals.Outcome]) -> list[Bar]:
    """Each method against the least loss of any peer."""
    least = min(peers.values(), key=lambda outcome: outcome.loss or 0.0)
    return [
        Bar(
            name=f"adult k={k} {method}: loss over that of {least.peer}",
            value=ours[method].loss / (least.loss or 1.0),
            goal=1.0,
            side="at most",
        )
        for method in METHODS
    ]


def bars(into: Path, *, quick: bool) -> list[Bar]:
    """All bars of this comparison; the quick ones do without peers."""
    found: list[Bar] = []
    for k in KS:
        ours = ours_at(k)
        found += seconds_bars(k, ours)
        if not quick:
            found += ratio_bars(k, ours, peers_at(k, into))
    return found

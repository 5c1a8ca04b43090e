"""Larger tables in memory: seconds, and whether a row costs more in a larger table.

A part of `anonymize.py`; not run by itself.
"""

from __future__ import annotations

import itertools
import time
from statistics import median
from typing import TYPE_CHECKING

from ours import METHODS, Method, release

import workloads
from bars import Bar, say
from halfmask.guarantees import Guarantee, KAnonymity

if TYPE_CHECKING:
    import polars as pl

K = 10
SECONDS = {1_000_000: 1.0, 10_000_000: 12.0}
MOST_GROWTH = 1.15  # per factor of ten
ROUNDS = 5


def rounds(frames: dict[int, pl.DataFrame], method: Method) -> list[dict[int, float]]:
    """Seconds from a frame in memory to a recoded frame in memory: every size in each round.

    Sizes take turns, so that a minute in which the machine is slow falls on all of them; the first
    round warms up and doesn't count.
    """
    guarantees: list[Guarantee] = [KAnonymity(k=K)]
    found = []
    for number in range(ROUNDS + 1):
        taken = {}
        for rows, frame in frames.items():
            start = time.perf_counter()
            released = release(frame, method, guarantees)
            taken[rows] = time.perf_counter() - start
            say(f"{rows:>10,} rows {method}: {taken[rows]:.3f} s, {released.height:,} released")
        if number:
            found.append(taken)
    return found


def bars(sizes: list[int]) -> list[Bar]:
    """The seconds of each size, and the growth of a row's cost from each to the next.

    Sizes are measured in pairs: a third one would leave its memory behind for the smaller.
    """
    found: list[Bar] = []
    for method in METHODS:
        seconds: dict[int, float] = {}
        growths = []
        pairs: list[tuple[int, ...]] = [*itertools.pairwise(sizes)] or [tuple(sizes)]
        for pair in pairs:
            taken = rounds({rows: workloads.bootstrapped(rows) for rows in pair}, method)
            seconds |= {rows: median(each[rows] for each in taken) for rows in pair}
            if len(pair) > 1:
                growths.append(_growth(taken, *pair, method=method))
        found += [
            Bar(
                name=f"{rows:,} rows k={K} {method}: seconds",
                value=seconds[rows],
                goal=SECONDS[rows],
                side="at most",
            )
            for rows in sizes
            if rows in SECONDS
        ]
        found += growths
    return found


def _growth(taken: list[dict[int, float]], small: int, large: int, *, method: Method) -> Bar:
    """How much more a row costs in the larger table: the median over rounds."""
    return Bar(
        name=f"{small:,} to {large:,} rows {method}: growth of a row's cost",
        value=median((each[large] / large) / (each[small] / small) for each in taken),
        goal=MOST_GROWTH,
        side="at most",
    )

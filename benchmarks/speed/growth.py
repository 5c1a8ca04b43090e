"""Larger tables in memory: seconds, and whether a row costs more in a larger table."""

from __future__ import annotations

import itertools

from ours import METHODS, Method, release

import workloads
from bars import Bar, say, seconds_of
from halfmask.guarantees import Guarantee, KAnonymity

K = 10
SECONDS = {1_000_000: 1.0, 10_000_000: 12.0}
MOST_GROWTH = 1.15  # per factor of ten
RUNS = {10_000_000: 3}  # medians of 5 below; a minute's worth of the largest


def seconds_at(rows: int, method: Method) -> float:
    """Median seconds from a frame in memory to a recoded frame in memory."""
    frame = workloads.bootstrapped(rows)
    guarantees: list[Guarantee] = [KAnonymity(k=K)]
    seconds, released = seconds_of(
        lambda: release(frame, method, guarantees), runs=RUNS.get(rows, 5)
    )
    say(f"{rows:>10,} rows {method}: {seconds:.3f} s, {released.height:,} rows released")
    return seconds


def bars(sizes: list[int]) -> list[Bar]:
    """The seconds of each size, and the growth of a row's cost from each to the next."""
    found: list[Bar] = []
    for method in METHODS:
        taken = {rows: seconds_at(rows, method) for rows in sizes}
        found += [
            Bar(
                name=f"{rows:,} rows k={K} {method}: seconds",
                value=taken[rows],
                goal=SECONDS[rows],
                side="at most",
            )
            for rows in sizes
            if rows in SECONDS
        ]
        for small, large in itertools.pairwise(sizes):
            found.append(
                Bar(
                    name=f"{small:,} to {large:,} rows {method}: growth of a row's cost",
                    value=(taken[large] / large) / (taken[small] / small),
                    goal=MOST_GROWTH,
                    side="at most",
                )
            )
    return found

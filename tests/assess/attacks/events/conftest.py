"""Streams of which it is known who is found in them, and by what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import EventsTarget

N_PEOPLE, N_EVENTS = 400, 12


def stream(people: range, seed: int) -> pl.DataFrame:
    """Return a year of events of some people, each at any second, of one of 300 pages."""
    rng = np.random.default_rng(seed)
    n = len(people) * N_EVENTS
    who = np.repeat(np.array(people), N_EVENTS)
    return pl.DataFrame(
        {
            "user": [f"u{k}" for k in who],
            "at": rng.integers(0, 365 * 86_400, n).astype(float),
            "page": [f"p{k}" for k in rng.integers(0, 300, n)],
            "size": rng.integers(0, 10_000, n),
            "home": (who * 37 % 1000).astype(float),
        }
    )


@pytest.fixture(scope="session")
def unprotected() -> EventsTarget:
    """Return people's events under pseudonyms, and people outside."""
    rows = stream(range(N_PEOPLE), 1)
    return EventsTarget(
        released=rows,
        original=rows,
        entity="user",
        time="at",
        items=("page",),
        numbers=("size", "home"),
        control=stream(range(N_PEOPLE, 2 * N_PEOPLE), 2),
    ).unprotected()


@pytest.fixture(scope="session")
def unrelated(unprotected: EventsTarget) -> EventsTarget:
    """Return a release that says nothing of anybody: pseudonyms and all else are drawn anew."""
    rng = np.random.default_rng(3)
    n = unprotected.released.height
    noise = stream(range(N_PEOPLE), 4).select("at", "page", "size", "home")
    other = rng.permutation(np.repeat(np.arange(N_PEOPLE), N_EVENTS))
    return replace(
        unprotected,
        released=noise[rng.permutation(n)].with_columns(pl.Series("pseudonym", other)),
        time_bounds=None,
    )

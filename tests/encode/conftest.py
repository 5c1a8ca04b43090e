"""Tables that codecs are tested on."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from halfmask.vault import Secret


def people(n=400, seed=0):
    """Return rows of every kind, some cells missing."""
    rng = np.random.default_rng(seed)
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "income": rng.normal(30_000, 9_000, n),
            "born": pl.Series(rng.integers(-9_000, 12_000, n)).cast(pl.Int32).cast(pl.Date),
            "seen": [start + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**8, n)],
            "paid": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 10**6, n)],
            "town": rng.choice(["Bree", "Dale", "Esgaroth", "Ost"], n, p=[0.6, 0.2, 0.15, 0.05]),
            "member": rng.random(n) < 0.5,
        }
    )
    gone = [pl.Series(rng.random(n) < 0.1) for _ in range(3)]
    return frame.with_columns(
        pl.when(~lost).then(name).alias(name)
        for name, lost in zip(("age", "town", "income"), gone, strict=True)
    )


@pytest.fixture(scope="session")
def table():
    """400 rows of every kind."""
    return people()


@pytest.fixture(scope="session")
def secret():
    """One secret for all tests, so that they fail alike."""
    return Secret.from_bytes(bytes(range(32)))

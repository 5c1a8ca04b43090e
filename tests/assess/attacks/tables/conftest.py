"""Small made-up tables of people, and what may be released of them."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import TableTarget

KNOWN = ("age", "city", "job", "born", "height")


def people(n: int, seed: int) -> pl.DataFrame:
    """Return people: numbers, categories, a date, and an illness that follows from age and city."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    city = rng.choice(["ulm", "bonn", "kiel", "graz"], n, p=[0.4, 0.3, 0.2, 0.1])
    ill = np.where(rng.random(n) < 0.7, (age > 50).astype(int) + (city == "ulm"), 2)
    born = [date(2020, 1, 1) - timedelta(days=int(d)) for d in age * 365 + rng.integers(0, 365, n)]
    return pl.DataFrame(
        {
            "age": age,
            "city": city,
            "job": rng.choice([f"job {i}" for i in range(12)], n),
            "born": born,
            "height": rng.normal(170, 10, n).round(2),
            "ill": np.array(["none", "cold", "flu"])[ill],
        }
    )


def target(released: pl.DataFrame, original: pl.DataFrame) -> TableTarget:
    """Return the table with a control of other people."""
    return TableTarget(
        released=released,
        original=original,
        control=people(400, 99),
        quasi_identifiers=KNOWN,
        secrets=("ill",),
    )


@pytest.fixture(scope="session")
def original() -> pl.DataFrame:
    return people(400, 1)


@pytest.fixture(scope="session")
def raw(original: pl.DataFrame) -> TableTarget:
    """A table that was released as it is: every attack must break it."""
    return target(original, original)


@pytest.fixture(scope="session")
def permuted(original: pl.DataFrame) -> TableTarget:
    """A table whose columns were shuffled, each for itself: nobody's row is left in it."""
    columns = [
        original[name].sample(fraction=1, shuffle=True, seed=place)
        for place, name in enumerate(original.columns)
    ]
    return target(pl.DataFrame(columns), original)

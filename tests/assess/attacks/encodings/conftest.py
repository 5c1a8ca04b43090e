"""People whose encodings are attacked: numbers that go together, categories that depend on them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import EncodingTarget
from halfmask.encode import Codec
from halfmask.vault import Secret

ROWS = 1500


def people(n, seed):
    """Return rows of skewed numbers, two categories after Zipf, and some missing cells."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 9)
    place = rng.choice(8, n, p=share / share.sum())
    age = np.round(18 + rng.gamma(4, 7, n) + 3 * place)
    income = np.round(20_000 * rng.lognormal(0, 0.6, n) + 300 * age, 2)
    hours = np.round(40 + 9 * rng.standard_t(4, n) - 0.2 * age, 1)
    held = rng.random(n) < 0.9
    return pl.DataFrame(
        {
            "age": age.astype(np.int64),
            "income": income,
            "hours": pl.Series(hours).set(pl.Series(~held), None),
            "town": np.array(list("abcdefgh"))[place],
            "sort": np.where(rng.random(n) < 0.2 + 0.1 * place, "yes", "no"),
            "code": rng.choice(["u", "v", "w", "x"], n, p=[0.55, 0.25, 0.15, 0.05]),
        }
    )


@pytest.fixture(scope="session")
def rows():
    """The rows that are encoded."""
    return people(ROWS, 0)


@pytest.fixture(scope="session")
def sample():
    """Other people of the same population."""
    return people(ROWS, 1)


@pytest.fixture(scope="session")
def encoded(rows, sample):
    """Return the target that a codec makes of the rows, and whether a second secret is another."""

    def make(*, reuse=False, **settings):
        def codec(byte):
            secret = Secret.from_bytes(bytes([byte]) * 32)
            return Codec(secret=secret, precision="column", **settings).fit(rows)

        first = codec(1)
        return EncodingTarget.of_codec(
            first, rows, population=sample, later=first if reuse else codec(2)
        )

    return make


@pytest.fixture(scope="session")
def random_table(rows, sample):
    """A table that has nothing to do with the rows."""
    rng = np.random.default_rng(5)

    def drawn():
        numbers = {f"n{i}": rng.normal(size=ROWS) for i in range(3)}
        codes = {f"k{i}": rng.integers(0, 8, ROWS) for i in range(3)}
        return pl.DataFrame(numbers | codes)

    return EncodingTarget(encoded=drawn(), original=rows, population=sample, later=drawn())

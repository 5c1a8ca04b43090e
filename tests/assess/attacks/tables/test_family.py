"""What all attacks on tables share: any type, bad input, seeds, and the battery."""

from __future__ import annotations

from datetime import time
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import Attack, TableTarget, attack
from halfmask.assess.attacks.tables import ATTACKS

#: Settings for tests: few people.
SMALL: list[Attack] = [make(n_attacks=300) for make in ATTACKS]


def every_type(n: int, seed: int) -> pl.DataFrame:
    """Return a table with a column of each type, and with what is awkward in them."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=n)
    numbers[:3] = [np.nan, np.inf, 0.0]
    return pl.DataFrame(
        {
            "float": numbers,
            "truth": rng.random(n) < 0.5,
            "decimal": [Decimal(int(x)).scaleb(-2) for x in rng.integers(0, 999, n)],
            "category": pl.Series(rng.choice(list("abcd"), n)).cast(pl.Categorical),
            "enum": pl.Series(rng.choice(list("abcd"), n)).cast(pl.Enum(list("abcd"))),
            "null": pl.Series([None] * n),
            "missing": pl.Series([None] * n, dtype=pl.Int64),
            "constant": [1] * n,
            "duration": pl.Series(rng.integers(0, 9**9, n)).cast(pl.Duration("us")),
            "time": [time(int(hour), 3) for hour in rng.integers(0, 24, n)],
            "list": [[1]] * n,
            "large": pl.Series(rng.integers(0, 2**63, n).astype(np.uint64)),
            "some": pl.Series([None if x < 0.3 else int(x * 10) for x in rng.random(n)]),
            "text": ["" if x < 0.2 else "é {x, y}" for x in rng.random(n)],
        }
    )


def of_every_type(released: pl.DataFrame, original: pl.DataFrame) -> TableTarget:
    return TableTarget(
        released=released,
        original=original,
        control=every_type(80, 2),
        secrets=("category", "some"),
        owners=np.arange(released.height, dtype=np.int64),
    )


@pytest.mark.slow
@pytest.mark.parametrize("each", SMALL, ids=lambda each: each.name)
def test_columns_of_every_type_are_attacked(each: Attack):
    original = every_type(300, 1)
    as_text = original.drop("list", "duration").with_columns(pl.all().cast(pl.String))
    for released in (original, as_text):
        for outcome in each.run(of_every_type(released, original), random_state=0):
            assert outcome.excess.bounds(0.05)[0] > 0.05, outcome.measure


@pytest.mark.mostly_slow
@pytest.mark.parametrize("each", SMALL, ids=lambda each: each.name)
def test_a_table_of_nothing_but_missing_cells_tells_nothing(each: Attack):
    original = every_type(300, 1)
    for outcome in each.run(of_every_type(original.clear(300), original), random_state=0):
        assert outcome.excess.bounds(0.01)[0] <= 0, outcome.measure


@pytest.mark.parametrize("each", SMALL, ids=lambda each: each.name)
def test_a_table_without_rows_is_no_pass(each: Attack):
    original = every_type(20, 1)

    assert each.missing_inputs(of_every_type(original.clear(), original)) == "released rows"


@pytest.mark.mostly_slow
@pytest.mark.parametrize("each", SMALL, ids=lambda each: each.name)
def test_a_seed_decides_everything(each: Attack, raw: TableTarget):
    assert each.run(raw, random_state=3) == each.run(raw, random_state=3)


@pytest.mark.slow
def test_the_battery_tells_a_shuffled_table_from_a_raw_one(raw: TableTarget, permuted: TableTarget):
    chosen = [each for each in SMALL if "univariate" not in each.name]
    # A tolerance that 400 people can tell from nothing.
    for table, unprotected, verdict in (
        (permuted, raw, "resisted"),
        (raw, raw, "broken"),
        (permuted, permuted, "INVALID"),
    ):
        report = attack(
            table, unprotected=unprotected, attacks=chosen, tolerance=0.15, min_control_effect=0.15
        )
        assert {finding.verdict for finding in report.findings} == {verdict}

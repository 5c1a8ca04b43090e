"""ChanceCopies: rows of few people are drawn no more often than others have them by chance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.synth._chance_copies import ChanceCopies


def people(n: int, seed: int) -> pl.DataFrame:
    """Return rows of which many are of one or few people."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"a": rng.geometric(0.02, n), "b": rng.geometric(0.2, n)})


def hits(drawn: pl.DataFrame, learnt: pl.DataFrame) -> float:
    """Return the share of drawn rows that equal a row of one person."""
    single = learnt.filter(learnt.is_unique())
    return drawn.join(single, on=drawn.columns, how="semi").height / drawn.height


@pytest.mark.parametrize("copied", [0.0, 0.05])
def test_copies_are_thinned_to_what_other_people_have(copied):
    learnt, others = people(5_000, 1), people(5_000, 2)
    n = int(copied * 5_000)
    drawn = pl.concat([others[n:], learnt.filter(learnt.is_unique()).sample(n, seed=0)])
    kept = ChanceCopies.of(learnt, drawn).thinned(drawn, np.random.default_rng(0))
    chance = hits(people(50_000, 3), learnt)
    assert abs(hits(kept, learnt) - chance) < 0.015
    assert (hits(drawn, learnt) - chance > 0.03) is (copied > 0)  # the power of it
    assert kept.height > 0.9 * drawn.height


def test_a_seventh_that_is_copied_is_thinned_whatever_the_seed():
    """A tenth was the border, and luck on which side of it a draw was."""
    learnt = people(5_000, 1)
    chance = hits(people(50_000, 3), learnt)
    for seed in range(8):
        copied = learnt.filter(learnt.is_unique()).sample(700, seed=seed, with_replacement=True)
        drawn = pl.concat([people(4_300, 20 + seed), copied])
        kept = ChanceCopies.of(learnt, drawn).thinned(drawn, np.random.default_rng(seed))
        assert abs(hits(kept, learnt) - chance) < 0.02


def test_a_model_that_copies_is_left_to_the_verifier():
    learnt = people(5_000, 1).with_columns(c=pl.int_range(5_000) % 40)
    drawn = learnt.sample(5_000, seed=1)
    kept = ChanceCopies.of(learnt, drawn).thinned(drawn, np.random.default_rng(0))
    assert kept.height == 5_000


def test_missing_cells_and_columns_of_any_name_are_compared():
    learnt = pl.DataFrame({"n": [None, "x"] * 50, "c0": list(range(100))})
    chance = ChanceCopies.of(learnt, learnt.with_columns(pl.col("c0") + 1_000))
    drawn = pl.concat([learnt[:5], learnt.with_columns(pl.col("c0") + 1_000)])
    assert ChanceCopies.of(learnt, drawn).thinned(drawn, np.random.default_rng(0)).height == 100
    assert chance.thinned(drawn, np.random.default_rng(0)).height == 105

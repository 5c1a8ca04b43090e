"""ChanceCopies: rows of few people are drawn no more often than others have them by chance."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from halfmask.synth.chance_copies import ChanceCopies


def people(n: int, seed: int) -> pl.DataFrame:
    """Return rows of which many are of one or few people."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"a": rng.geometric(0.02, n), "b": rng.geometric(0.2, n)})


def hits(drawn: pl.DataFrame, originals: pl.DataFrame) -> int:
    """Return how many drawn rows equal a row of one person."""
    return drawn.join(originals.filter(originals.is_unique()), on=drawn.columns, how="semi").height


@pytest.mark.parametrize("copied", [0, 250, 700])
@pytest.mark.parametrize("seed", range(4))
def test_copies_are_capped_at_what_other_people_have(copied, seed):
    """The count is exact: nothing of it is luck."""
    originals, others = people(5_000, 1), people(5_000, 20 + seed)
    single = originals.filter(originals.is_unique())
    drawn = pl.concat([others[copied:], single.sample(copied, seed=seed, with_replacement=True)])
    kept = ChanceCopies.of(originals).capped(drawn)
    pairs = originals.group_by("a", "b").len().filter(pl.col("len") == 2).height
    assert hits(kept, originals) <= 2 * pairs
    assert copied < 700 or hits(kept, originals) == 2 * pairs < hits(drawn, originals)
    assert abs(hits(people(50_000, 3), originals) / 10 - 2 * pairs) < 80  # it is chance
    assert kept.join(drawn, on=["a", "b"], how="anti").height == 0
    assert kept.height > 0.8 * drawn.height


def days(n: int = 400) -> pl.DataFrame:
    """Return a row for each day, with cells that many days have."""
    rng = np.random.default_rng(0)
    first = dt.date(2020, 1, 1)
    day = [first + dt.timedelta(days=i) for i in range(n)]
    return pl.DataFrame({"day": day, "w": rng.choice(["sun", "rain", "snow"], n)})


def test_where_rows_differ_by_design_chance_is_that_of_the_next_value():
    """No row equals another, but a drawn day is somebody's, and his weather a third of the time."""
    originals = days()
    honest = originals.with_columns(pl.col("w").shuffle(seed=1))
    chance = ChanceCopies.of(originals)
    assert chance.repeated.sum() == 0
    assert 100 < chance.moved(honest) < 170
    assert chance.capped(honest).height > 380
    kept = chance.capped(originals)
    assert 100 < kept.height == int(1.25 * chance.moved(originals)) < 220


def test_cells_of_few_people_tell_of_them_whatever_the_next_value_is():
    """Rows of a household differ by sex alone: that is no design, and copies stay copies."""
    homes = pl.DataFrame({"home": range(200), "n": [i * 7 % 199 for i in range(200)]})
    originals = homes.join(pl.DataFrame({"sex": ["f", "m"]}), how="cross")
    assert ChanceCopies.of(originals).moved(originals) == 0
    assert ChanceCopies.of(originals).capped(originals).height == 0


@pytest.mark.parametrize("others", [["w"], []])
def test_a_number_among_gaps_is_somebodys(others):
    """If the next drawn value counted there, each copy would make two others by chance."""
    rng = np.random.default_rng(0)
    originals = pl.DataFrame({"x": rng.random(400).round(6), "w": rng.choice(["a", "b"], 400)})
    drawn = originals.with_columns(x=pl.Series(rng.random(400).round(6)))
    copying = pl.concat([originals[:20], drawn[20:]]).select("x", *others)
    chance = ChanceCopies.of(originals.select("x", *others))
    assert chance.moved(copying) == 0
    assert chance.capped(drawn.select("x", *others)).height >= 399
    assert chance.capped(copying).height == 380


def test_dense_tables_are_told_from_the_originals_alone():
    grid = pl.DataFrame({"n": range(1024)}).select(
        (pl.col("n") // 4**i % 4).alias(f"q{i}") for i in range(5)
    )
    assert ChanceCopies.of(grid.sample(900, seed=1)).is_dense
    assert not ChanceCopies.of(grid.sample(600, seed=1)).is_dense
    assert not ChanceCopies.of(grid.drop("q0")).is_dense  # each row is that of four people
    assert not ChanceCopies.of(people(1_000, 1)).is_dense


def test_missing_cells_nan_and_columns_of_any_name_are_compared():
    originals = pl.DataFrame(
        {"^n.*$": [None, "x"] * 50, "c0": range(100), "f": [float("nan"), None, 1.0, 2.0] * 25}
    )
    none = originals.with_columns(pl.col("c0") + 1_000)
    drawn = pl.concat([originals[:5].with_columns(pl.col("f").fill_nan(None)), none])
    assert ChanceCopies.of(originals).found(drawn).tolist() == [1] * 5 + [0] * 100
    assert ChanceCopies.of(originals).capped(drawn).height == 100

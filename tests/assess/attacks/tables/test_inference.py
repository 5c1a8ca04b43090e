"""Inference: a secret from the nearest released rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.assess.attacks import TableTarget
from halfmask.assess.attacks.tables import Inference


def test_the_raw_table_is_broken(raw: TableTarget):
    (outcome,) = Inference().run(raw, seed=0)

    assert outcome.measure == "share of right guesses of ill"
    assert outcome.excess.bounds(0.01)[0] > 0.2
    assert outcome.success.value > 0.95


def test_numbers_and_dates_are_guessed_within_the_tolerance(
    raw: TableTarget, original: pl.DataFrame
):
    target = TableTarget(
        released=original,
        original=original,
        control=raw.control,
        quasi_identifiers=("age", "city", "job", "ill"),
        secrets=("height", "born"),
    )
    height, born = Inference().run(target, seed=0)

    assert height.excess.bounds(0.01)[0] > 0.2
    # Who knows the age knows the year of birth; 5 % of the deviation is one year.
    assert born.control.value > 0.15
    nothing = Inference(tolerance=0.0).run(target, seed=0)[0]
    assert nothing.success.value > 0.5 > nothing.control.value


def test_shuffled_columns_resist(permuted: TableTarget):
    (outcome,) = Inference().run(permuted, seed=0)

    assert outcome.excess.bounds(0.01)[0] <= 0


def test_what_everybody_infers_is_no_excess(original: pl.DataFrame, raw: TableTarget):
    """Knowing how age and city go with the illness isn't knowing a person."""
    wide = original.with_columns(pl.col("ill").mode().first().over(pl.col("age") > 50, "city"))
    target = TableTarget(
        released=wide,
        original=original,
        control=raw.control,
        quasi_identifiers=("age", "city"),
        secrets=("ill",),
    )
    (outcome,) = Inference().run(target, seed=0)

    assert outcome.baseline is not None
    assert outcome.success.value > outcome.baseline.value + 0.1
    assert outcome.excess.value < 0.05


def test_of_rows_that_tie_the_most_frequent_secret_is_guessed():
    original = pl.DataFrame({"a": [1] * 10, "s": ["x"] * 6 + ["y"] * 4})
    target = TableTarget(
        released=original,
        original=original,
        control=original,
        quasi_identifiers=("a",),
        secrets=("s",),
    )
    (outcome,) = Inference().run(target, seed=0)

    assert outcome.baseline is not None
    assert outcome.success.value == outcome.baseline.value == 0.6


def test_a_suppressed_secret_tells_nothing(raw: TableTarget, original: pl.DataFrame):
    silent = original.with_columns(ill=pl.lit(None, dtype=pl.String))
    target = TableTarget(released=silent, original=original, control=raw.control, secrets=("ill",))
    (outcome,) = Inference().run(target, seed=0)

    assert outcome.success.value == 0.0


def test_released_sets_and_ranges_are_guessed_from():
    original = pl.DataFrame({"a": [1, 2], "s": ["x", "y"], "n": [10, 30]})
    released = pl.DataFrame({"a": [1, 2], "s": ["{x, y}", "{x, y}"], "n": ["[10, 10]", "[0, 60]"]})
    target = TableTarget(
        released=released,
        original=original,
        control=original,
        secrets=("s", "n"),
        quasi_identifiers=("a",),
    )
    category, number = Inference().run(target, seed=0)

    assert category.success.value == 0.5
    assert number.success.value == 1.0


def test_secrets_are_those_of_the_guarantees_if_none_are_named(
    raw: TableTarget, original: pl.DataFrame
):
    guarantees = (hm.KAnonymity(k=3), hm.DistinctLDiversity(l=2, column="ill"))
    target = TableTarget(
        released=original, original=original, control=raw.control, guarantees=guarantees
    )

    assert Inference().lacks(target) == ""
    assert Inference(n_attacks=50).run(target, seed=0)[0].measure.endswith("ill")


def test_what_is_missing_is_named(original: pl.DataFrame, raw: TableTarget):
    bare = TableTarget(released=original, original=original, control=raw.control)
    assert "secrets" in Inference().lacks(bare)
    alone = TableTarget(
        released=original,
        original=original,
        control=raw.control,
        secrets=("ill",),
        quasi_identifiers=("ill",),
    )
    assert "quasi_identifiers" in Inference().lacks(alone)
    assert np.isfinite(Inference().tolerance)
    with pytest.raises(hm.ParameterError, match="tolerance"):
        Inference(tolerance=-1)

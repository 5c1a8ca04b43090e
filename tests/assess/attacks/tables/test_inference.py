"""Inference: a secret from the nearest released rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.tables import Inference
from halfmask.assess.attacks.tables._nearest_rows import farthest_worthwhile


def test_the_raw_table_is_broken(raw: TableTarget):
    (outcome,) = Inference().run(raw, random_state=0)

    assert (outcome.measure, outcome.column) == ("share of right guesses of ill", "ill")
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
    height, born = Inference().run(target, random_state=0)

    assert height.excess.bounds(0.01)[0] > 0.2
    # Who knows the age knows the year of birth; 5 % of the deviation is one year.
    assert born.control.value > 0.15
    nothing = Inference(tolerance=0.0).run(target, random_state=0)[0]
    assert nothing.success.value > 0.5 > nothing.control.value


def test_shuffled_columns_resist(permuted: TableTarget):
    (outcome,) = Inference().run(permuted, random_state=0)

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
    (outcome,) = Inference().run(target, random_state=0)

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
    (outcome,) = Inference().run(target, random_state=0)

    assert outcome.baseline is not None
    assert outcome.success.value == outcome.baseline.value == 0.6


def test_a_suppressed_secret_tells_nothing(raw: TableTarget, original: pl.DataFrame):
    silent = original.with_columns(ill=pl.lit(None, dtype=pl.String))
    target = TableTarget(released=silent, original=original, control=raw.control, secrets=("ill",))
    (outcome,) = Inference().run(target, random_state=0)

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
    category, number = Inference().run(target, random_state=0)

    assert category.success.value == 0.5
    assert number.success.value == 1.0


def test_secrets_are_those_of_the_guarantees_if_none_are_named(
    raw: TableTarget, original: pl.DataFrame
):
    guarantees = (hm.KAnonymity(k=3), hm.DistinctLDiversity(l=2, column="ill"))
    target = TableTarget(
        released=original, original=original, control=raw.control, guarantees=guarantees
    )

    assert Inference().missing_inputs(target) == ""
    assert Inference(n_attacks=50).run(target, random_state=0)[0].measure.endswith("ill")


def test_what_is_missing_is_named(original: pl.DataFrame, raw: TableTarget):
    bare = TableTarget(released=original, original=original, control=raw.control)
    assert "secrets" in Inference().missing_inputs(bare)
    alone = TableTarget(
        released=original,
        original=original,
        control=raw.control,
        secrets=("ill",),
        quasi_identifiers=("ill",),
    )
    assert "quasi_identifiers" in Inference().missing_inputs(alone)
    assert np.isfinite(Inference().tolerance)
    with pytest.raises(hm.ParameterError, match="tolerance"):
        Inference(tolerance=-1)


def made_up(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return people whose illness follows from nothing, and whose rows hardly ever agree."""
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "zip": rng.choice([f"z{i}" for i in range(30)], n),
            "weight": rng.normal(70, 12, n).round(0),
            "ill": rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def synthetic(n: int, n_verbatim: int, seed: int) -> tuple[TableTarget, TableTarget]:
    """Return a synthetic release with some original rows in it, and the raw table."""
    rng = np.random.default_rng(seed)
    original, control, made = (made_up(n, rng) for _ in range(3))
    released = pl.concat([original[:n_verbatim], made[n_verbatim:]])
    return of_made_up(released, original, control), of_made_up(original, original, control)


def of_made_up(
    released: pl.DataFrame, original: pl.DataFrame, control: pl.DataFrame
) -> TableTarget:
    return TableTarget(
        released=released,
        original=original,
        control=control,
        quasi_identifiers=("age", "zip", "weight"),
        secrets=("ill",),
    )


@pytest.mark.slow
def test_a_tenth_of_verbatim_rows_among_synthetic_ones_is_broken():
    """The nearest row always was right less often than the usual illness, so that it hid this."""
    target, raw = synthetic(4000, 400, 1)
    kind = Inference(n_attacks=4000)
    (finding,) = attack(target, unprotected=raw, attacks=[kind], tolerance=0.02).findings

    assert finding.verdict == "broken"
    # At best a tenth is certain, and of the others the usual illness is guessed.
    assert 0.42 < finding.outcome.success.value < 0.48
    assert finding.outcome.details["always_nearest"] < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_independent_synthetic_rows_resist(seed: int):
    target, raw = synthetic(4000, 0, seed)
    (finding,) = attack(target, unprotected=raw, attacks=[Inference(n_attacks=4000)]).findings

    assert finding.verdict == "resisted"


def test_rows_that_were_only_shifted_are_found_as_before():
    """Own rows lie between all others' distances: who always takes the nearest is stronger."""
    rng = np.random.default_rng(0)
    original, control = made_up(600, rng), made_up(600, rng)
    released = original.with_columns(
        pl.col("age") + rng.normal(0, 0.7, 600), pl.col("weight") + rng.normal(0, 0.7, 600)
    )
    (outcome,) = Inference().run(of_made_up(released, original, control), random_state=0)

    assert outcome.success.value == outcome.details["always_nearest"] > 0.8


truths = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), min_size=1, max_size=30
)


@given(truths)
def test_the_reach_is_as_it_is_defined(tried: list[tuple[int, bool, bool]]):
    """Each distance looked at by itself, from all that are seen."""
    far, nearest, usual = (np.array(part) for part in zip(*tried, strict=True))
    reach = farthest_worthwhile(far.astype(float), nearest, usual)

    def right(limit: float) -> int:
        return sum(near if d <= limit else u for d, near, u in tried)

    seen = [-1.0, *sorted(set(far.tolist()))]
    best = max(seen, key=right)  # the first of the best
    later = [
        limit
        for limit in seen
        if limit >= best
        and (right(best) - right(limit)) ** 2
        <= sum(near != u for d, near, u in tried if best < d <= limit)
    ]
    farthest = max(later)
    expected = np.inf if farthest == max(far) else max(farthest, 1e-5)
    assert reach == expected


def test_one_secret_does_not_make_every_guess_right():
    """A code of 10**12 among incomes isn't what a guess may miss by."""
    rng = np.random.default_rng(0)
    table, others = (
        pl.DataFrame({"known": rng.permutation(500) + first, "income": rng.permutation(500)})
        for first in (0, 500)
    )
    table = table.with_columns(
        income=pl.when(pl.col("income") == 0).then(10**12).otherwise("income")
    )
    target = TableTarget(released=table, original=table, control=others, secrets=("income",))

    (outcome,) = Inference().run(target, random_state=0)

    assert outcome.success.value == 1.0
    assert outcome.control.value < 0.5

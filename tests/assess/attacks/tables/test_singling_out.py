"""Singling out: guesses of released rows, and of whom they are true."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.assess.attacks import Attack, TableTarget
from halfmask.assess.attacks.tables import SinglingOutMultivariate, SinglingOutUnivariate
from halfmask.assess.attacks.tables._links import known_people, matched_columns
from halfmask.assess.attacks.tables._predicates import (
    Predicate,
    count_known,
    guesses_of_many,
    guesses_of_one,
    possible_rows,
)

if TYPE_CHECKING:
    from halfmask.assess.attacks.tables._matching import Matched


def guesses(
    released: pl.DataFrame, original: pl.DataFrame
) -> tuple[tuple[Matched, ...], list[Predicate]]:
    target = TableTarget(
        released=released, original=original, owners=np.zeros(released.height, dtype=np.int64)
    )
    columns = matched_columns(target, tuple(original.columns))
    found = guesses_of_one(columns, released, 100, np.random.default_rng(0))
    return columns, found


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 2, 3],
        [0.5, 2.0, 2.0, 3.5],
        [date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 2), date(2020, 1, 3)],
        ["a", "b", "b", "c"],
        ["it's", 'say "b"', 'say "b"', "c == 1"],
    ],
)
def test_values_that_occur_once_are_guessed_whatever_their_type(values: list[object]):
    """Dates and quotes too: others build queries of text, and lose them."""
    table = pl.DataFrame({"a `b` or 1": values})
    columns, found = guesses(table, table)

    ordered = not isinstance(values[0], str)
    assert len(found) == (4 if ordered else 2)  # two values, and two ends of what has ends
    assert count_known(found, known_people(columns, table)).tolist() == [1] * len(found)


def test_one_missing_cell_is_a_guess():
    table = pl.DataFrame({"a": ["x", "x", None]})
    columns, found = guesses(table, table)

    assert len(found) == 1
    assert count_known(found, known_people(columns, table)).tolist() == [1]


def test_a_value_inside_a_released_range_is_no_guess():
    released = pl.DataFrame({"a": ["5", "[1, 9]", "[1, 9]"]})
    _, found = guesses(released, pl.DataFrame({"a": [5, 1, 9]}))

    assert all(test.kind != "within" for predicate in found for test in predicate.tests)


def test_guesses_on_many_columns_are_met_by_one_released_row(raw: TableTarget):
    columns = matched_columns(raw, tuple(raw.original.columns))
    found = guesses_of_many(columns, (3, 5), 60, np.random.default_rng(0))

    assert len({predicate.key for predicate in found}) == len(found) == 60
    assert {len(predicate.tests) for predicate in found} == {3, 4, 5}
    assert all(len(possible_rows(predicate, 400)) == 1 for predicate in found)
    # The released table is the original: what is met by one row there is met by one here.
    assert count_known(found, known_people(columns, raw.original)).tolist() == [1] * 60


def test_counts_are_those_of_a_polars_filter(raw: TableTarget):
    assert raw.control is not None
    columns = matched_columns(raw, ("age", "city", "job"))
    found = guesses_of_many(columns, (3, 3), 40, np.random.default_rng(1))
    counted = count_known(found, known_people(columns, raw.control))

    for predicate, count in zip(found, counted.tolist(), strict=True):
        kept = raw.control
        for test in predicate.tests:
            column, value = pl.col(test.column.name), raw.released[test.column.name][test.row]
            says = {"above": column >= value, "below": column <= value, "within": column == value}
            kept = kept.filter(says[test.kind])
        assert kept.height == count


@pytest.mark.parametrize(
    "attack", [SinglingOutUnivariate(), SinglingOutMultivariate(n_attacks=500)]
)
def test_the_raw_table_is_broken(attack: Attack, raw: TableTarget):
    (outcome,) = attack.run(raw, random_state=0)

    assert outcome.excess.bounds(0.01)[0] > 0.05
    assert outcome.success.value > outcome.control.value


def test_shuffled_columns_single_nobody_out_together(permuted: TableTarget):
    (outcome,) = SinglingOutMultivariate(n_attacks=1000).run(permuted, random_state=0)

    assert outcome.excess.bounds(0.01)[0] <= 0
    assert outcome.excess.value < 0.05


def other_people(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return people of values that are one's own, few people's or many people's."""
    age = rng.integers(18, 90, n)
    income = np.exp(rng.normal(10, 1, n) + age / 100).round(-2)
    return pl.DataFrame({"age": age, "income": income, "day": rng.integers(0, 3000, n)})


@pytest.mark.slow
@pytest.mark.parametrize("n_control", [1500, 300, 150])
def test_what_tells_nothing_is_rarely_found_whatever_the_controls_size(n_control: int):
    """Release, original and control are drawn independently: any excess is luck."""
    lows, highs, values = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        released, original = other_people(1500, rng), other_people(1500, rng)
        made = TableTarget(
            released=released, original=original, control=other_people(n_control, rng)
        )
        (outcome,) = SinglingOutUnivariate(n_attacks=1000).run(made, random_state=seed)
        low, high = outcome.excess.bounds(0.05)
        lows.append(low)
        highs.append(high)
        values.append(outcome.excess.value / outcome.scale)

    # 5 % each, 2 of 40; beyond 6 is one chance in 300.
    assert sum(low > 0 for low in lows) <= 6
    assert sum(high < 0 for high in highs) <= 6
    error = float(np.std(values)) / 40**0.5
    assert abs(float(np.mean(values))) < 3.5 * error


@pytest.mark.parametrize("n_control", [1500, 300, 150])
def test_a_smaller_control_finds_what_leaks(n_control: int):
    """Three in ten released rows are original ones, and the others nobody's."""
    rng = np.random.default_rng(0)
    original, others, control = (
        pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n).round(2)})
        for n in (1500, 1050, n_control)
    )

    def made(released: pl.DataFrame) -> TableTarget:
        return TableTarget(released=released, original=original, control=control)

    report = hm.attack(
        made(pl.concat([original.head(450), others])),
        unprotected=made(original),
        attacks=[SinglingOutUnivariate()],
    )

    (finding,) = report.findings
    assert finding.verdict == "broken"
    assert finding.outcome.excess.bounds(0.01)[0] > finding.allowed
    assert finding.allowed == pytest.approx(0.03 * n_control / 1500)
    # By the scale it is as large as beside a control of the original's size: 0.28.
    assert finding.outcome.excess.value / finding.outcome.scale == pytest.approx(0.28, abs=0.05)
    assert finding.control_effect_low is not None
    assert finding.control_effect_low > 0.5 * finding.outcome.scale
    of_part = f" of {n_control}" if n_control < 1500 else ""
    assert finding.outcome.measure == f"share of guesses true of one person{of_part}"


def test_a_larger_control_is_cut_to_size():
    rng = np.random.default_rng(0)
    original, released = other_people(400, rng), other_people(400, rng)
    small, large = (
        SinglingOutUnivariate().run(
            TableTarget(released=released, original=original, control=other_people(n, rng)),
            random_state=0,
        )[0]
        for n in (400, 8000)
    )

    assert small.success == large.success
    assert small.scale == large.scale == 1.0
    assert large.control.value == pytest.approx(small.control.value, abs=0.06)


def test_a_table_without_guesses_makes_the_attacker_fail(original: pl.DataFrame):
    one = original.head(1).select(pl.all().repeat_by(400).explode(empty_as_null=True))
    target = TableTarget(released=one, original=original, control=original)
    for attack in (SinglingOutUnivariate(), SinglingOutMultivariate(n_attacks=500)):
        (outcome,) = attack.run(target, random_state=0)
        assert (outcome.success.value, outcome.success.trials) == (0.0, 500)


def test_the_ends_of_released_ranges_single_people_out(original: pl.DataFrame):
    """Everybody's height is his own, so that both ends of a class of five are one person's."""
    made = hm.Anonymizer(
        guarantees=[hm.KAnonymity(k=5)],
        quasi_identifiers=original.columns,
        recoding=hm.Ranges(),
    ).fit_transform(original)
    target = TableTarget(released=made, original=original, control=original.tail(200))
    (outcome,) = SinglingOutMultivariate(n_attacks=300).run(target, random_state=0)

    assert outcome.details["guesses"] > 50
    assert outcome.success.value > 0.1


def test_the_same_seed_gives_the_same_outcome(raw: TableTarget):
    attack = SinglingOutMultivariate(n_attacks=100)

    assert attack.run(raw, random_state=5) == attack.run(raw, random_state=5)


def test_what_is_missing_is_named(original: pl.DataFrame):
    target = TableTarget(released=original, original=original)

    assert SinglingOutUnivariate().missing_inputs(target) == "a control table"
    narrow = TableTarget(released=original, original=original, control=original.select("age"))
    assert "city" in SinglingOutMultivariate().missing_inputs(narrow)
    small = original.select("age", "city")
    assert re.match(
        "3 columns",
        SinglingOutMultivariate().missing_inputs(TableTarget(released=small, original=small)),
    )


def test_numbers_of_columns_are_a_pair_in_order():
    with pytest.raises(ParameterError, match="n_columns"):
        SinglingOutMultivariate(n_columns=(8, 3))
    with pytest.raises(ParameterError, match="pair"):
        SinglingOutMultivariate(n_columns=(3,))  # type: ignore[arg-type] # that is the test


def test_nobody_is_guessed_at_an_end_that_is_not_there():
    released = pl.DataFrame({"a": [">= 90", "< 20", "50", "60"], "b": [1, 2, 3, 4]})
    _, found = guesses(released, pl.DataFrame({"a": [95, 10, 50, 60], "b": [1, 2, 3, 4]}))
    both = guesses_of_many(
        matched_columns(
            TableTarget(
                released=released, original=pl.DataFrame({"a": [95, 10, 50, 60], "b": [1, 2, 3, 4]})
            ),
            ("a", "b"),
        ),
        (2, 2),
        20,
        np.random.default_rng(0),
    )

    result = [test for predicate in [*found, *both] for test in predicate.tests]
    ends = {"above": lambda t: t.key[2], "below": lambda t: t.key[2]}
    assert all(np.isfinite(ends[test.kind](test)) for test in result if test.kind in ends)
    assert not [test for test in result if test.kind in {"top", "bottom"}]
    assert {test.column.name for test in result} == {"a", "b"}


def test_numbers_of_many_digits_single_out():
    """Each id is one person's: all guesses are true, of nobody in the control table."""
    table, others = (
        pl.DataFrame({"id": [2**60 + i for i in range(first, first + 600)]}) for first in (0, 600)
    )
    target = TableTarget(released=table, original=table, control=others)

    (outcome,) = SinglingOutUnivariate().run(target, random_state=0)

    assert (outcome.success.value, outcome.control.value) == (1.0, 0.0)

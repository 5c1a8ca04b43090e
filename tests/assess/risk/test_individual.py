"""Individual risk against the numbers in sdcMicro's own tests, and the formula in 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import ceil, log10, prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.risk import individual_risk
from halfmask.assess.risk._individual import _expected_chance, _threshold

WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
COMPLETE = pl.DataFrame(
    {
        "A": [2, 3, 2, 2, 3, 3, 1, 2],
        "B": [3, 3, 3, 3, 3, 3, 4, 3],
        "C": [1, 3, 1, 2, 1, 1, 1, 1],
        "w": WEIGHTS,
    }
)
MISSING = COMPLETE.with_columns(
    A=pl.Series([2, 3, 2, 2, 3, 3, 1, None]), C=pl.Series([1, 3, None, 2, 1, 1, None, 1])
)
KEYS = ["A", "B", "C"]


def exact(f: int, p: float) -> float:
    """The formula by its recurrence, in so many digits that none is lost."""
    with localcontext() as context:
        # A step multiplies errors by p / (1 - p).
        context.prec = 60 + f * max(0, ceil(log10(p / (1 - p))))
        share = Decimal(p)
        integral = -share.ln() / (1 - share)
        for k in range(1, f):
            integral = (Decimal(1) / k - share * integral) / (1 - share)
        return float(share * integral)


def test_complete_rows_have_the_risk_that_sdcmicro_says():
    """Of sdcMicro's test_indivRisk.R: weighted, method = exact."""
    found = individual_risk(COMPLETE, quasi_identifiers=KEYS, weights="w")

    assert found.as_wildcard is None
    assert found.worse.sample.tolist() == [3, 1, 3, 1, 2, 2, 1, 3]
    assert found.worse.risk.tolist() == pytest.approx(
        [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625,
         0.01355297],
        abs=5e-9,
    )  # fmt: skip


def test_missing_cells_as_wildcards_have_the_risk_that_sdcmicro_says():
    """Of sdcMicro's test_indivRisk.R: with missing, weighted, method = exact."""
    found = individual_risk(MISSING, quasi_identifiers=KEYS, weights="w").as_wildcard

    assert found is not None
    assert found.risk.tolist() == pytest.approx(
        [0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889,
         0.039316254, 0.005962551],
        abs=5e-10,
    )  # fmt: skip


def test_frequencies_in_the_population_are_those_that_sdcmicro_says():
    """Of sdcMicro's test_freqCalc.R: numeric values with missing values, weighted."""
    table = MISSING.with_columns(COMPLETE["A"])

    found = individual_risk(table, quasi_identifiers=KEYS, weights="w").as_wildcard

    assert found is not None
    assert found.sample.tolist() == [3, 1, 4, 2, 2, 2, 1, 3]
    assert found.population.tolist() == [108, 45.5, 125, 56, 100, 100, 123.5, 108]


def test_without_weights_the_table_is_the_population():
    """Of sdcMicro's test_indivRisk.R: survey = FALSE."""
    found = individual_risk(MISSING, quasi_identifiers=KEYS).as_wildcard

    assert found is not None
    assert found.risk.tolist() == pytest.approx([1 / 3, 1, 1 / 4, 1 / 2, 1 / 3, 1 / 3, 1, 1 / 5])


def test_a_population_is_counted_in_both_readings():
    population = pl.concat([MISSING, COMPLETE.slice(0, 4), MISSING.slice(7)])

    found = individual_risk(MISSING, quasi_identifiers=KEYS, population=population)

    rows, people = (each.select(KEYS).rows() for each in (MISSING, population))
    assert found.as_wildcard is not None
    assert found.as_value.risk.tolist() == [1 / people.count(row) for row in rows]
    assert found.as_wildcard.risk.tolist() == [
        1 / sum(
            all(a == b or None in {a, b} for a, b in zip(row, other, strict=True))
            for other in people
        )
        for row in rows
    ]  # fmt: skip
    assert found.worse.sentence.endswith("at worst, counted in the population.")


def test_a_population_without_the_table_is_refused():
    with pytest.raises(DataError, match="fewer rows like them than the table for 5 rows"):
        individual_risk(COMPLETE, quasi_identifiers=KEYS, population=COMPLETE.slice(4))


def test_a_sampling_fraction_is_a_weight_for_all():
    weighted = COMPLETE.with_columns(w=pl.lit(20.0))

    given_ = individual_risk(COMPLETE, quasi_identifiers=KEYS, sampling_fraction=0.05)

    same = individual_risk(weighted, quasi_identifiers=KEYS, weights="w")
    assert given_.worse.risk.tolist() == same.worse.risk.tolist()


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 19, 20, 21, 100, 300])
@pytest.mark.parametrize("p", [1e-9, 1e-6, 1e-3, 0.02, 0.3, 0.49, 0.5, 0.51, 0.8, 0.99, 1 - 1e-9])
def test_the_formula_holds_twelve_digits(f, p):
    people = f / p

    found = _expected_chance(np.array([f]), np.array([people]))

    assert found[0] == pytest.approx(exact(f, f / people), rel=1e-12)


def test_the_formula_is_the_expected_value_of_a_negative_binomial():
    """Another road to the same number: the sum over all numbers of people."""
    f, p = 3, 0.2
    chances, chance = [], p**f
    for people in range(f, 800):
        chances.append(chance / people)
        chance *= (1 - p) * people / (people - f + 1)

    assert _expected_chance(np.array([f]), np.array([f / p]))[0] == pytest.approx(sum(chances))


@pytest.mark.slow
@given(st.integers(1, 50), st.floats(1, 1e6))
def test_the_risk_is_between_one_over_people_and_one_over_rows(f, weight):
    found = float(_expected_chance(np.array([f]), np.array([f * weight]))[0])

    assert found <= 1 / f * (1 + 1e-12)
    # The mean of 1 / people is at least 1 / the mean of people, which is F (Jensen).
    assert found >= 1 / (f * weight) * (1 - 1e-12)


def test_households_are_found_if_a_member_is():
    table = COMPLETE.with_columns(home=pl.Series([1, 1, 1, 2, 2, 3, 4, 4]))

    found = individual_risk(table, quasi_identifiers=KEYS, weights="w", household="home").worse

    r = found.risk.tolist()
    expected = [
        1 - prod(1 - r[j] for j, other in enumerate(table["home"]) if other == home)
        for home in table["home"]
    ]
    assert found.household_risk is not None
    assert found.household_risk.tolist() == pytest.approx(expected, rel=1e-12)
    assert found.households == 4
    assert found.household_expected == pytest.approx(sum(expected))


def test_a_certain_member_makes_the_household_certain():
    table = pl.DataFrame({"a": [1, 2, 2], "home": [1, 1, 2]})

    found = individual_risk(table, quasi_identifiers=["a"], household="home").worse

    assert found.household_risk is not None
    assert found.household_risk.tolist() == [1, 1, 0.5]


@given(
    st.lists(st.sampled_from([0.01, 0.1, 0.2, 0.5, 1.0]), min_size=1, max_size=12),
    st.sampled_from([0.005, 0.05, 0.1, 0.3, 0.9]),
)
def test_the_threshold_is_the_highest_risk_that_fits(risks, accepted):
    found = _threshold(np.array(risks), accepted)

    def mean(limit):
        return sum(min(risk, limit) for risk in risks) / len(risks)

    assert mean(found) <= accepted + 1e-12
    higher = [risk for risk in risks if risk > found]
    assert not higher or mean(min(higher)) > accepted - 1e-12


def test_missing_cells_as_values_are_the_worse_reading():
    risk = individual_risk(MISSING, quasi_identifiers=KEYS, weights="w", max_global_risk=0.01)

    assert risk.as_wildcard is not None
    assert risk.worse is risk.as_value
    assert risk.as_value.expected > risk.as_wildcard.expected
    assert risk.to_dict()["missing_as_value"] == risk.as_value.to_dict()


def test_what_is_said_has_the_numbers():
    table = pl.DataFrame({"a": [1, 2, 2], "home": [1, 1, 2]})

    found = individual_risk(table, quasi_identifiers=["a"], household="home").worse

    assert found.sentence == (
        "Someone who links every row to the population is expected to be right for 2.0 of 3 rows: "
        "the chance is 66.67 % on average and 100 % at worst, if nobody outside of the table "
        "belongs to the population. Where one identified member identifies the household it is "
        "83.33 % on average."
    )
    assert [above.rows for above in found.at_risk] == [3] * 5
    half = individual_risk(table, quasi_identifiers=["a"], sampling_fraction=0.5).worse
    assert half.sentence.endswith("at worst, estimated from the sampling fraction.")


@pytest.mark.parametrize("weight", [0.5, 0.0, -3.0, float("nan"), float("inf"), None])
def test_weights_of_no_person_are_refused_without_their_value(weight):
    table = COMPLETE.with_columns(w=pl.Series([*WEIGHTS[:7], weight]))

    with pytest.raises(DataError, match=r"at least 1.*1 row has none") as error:
        individual_risk(table, quasi_identifiers=KEYS, weights="w")

    assert str(weight) not in str(error.value).replace("halfmask", "")


def test_weights_of_text_are_refused():
    table = COMPLETE.with_columns(w=pl.lit("canary"))

    with pytest.raises(DataError, match="'w' aren't numbers"):
        individual_risk(table, quasi_identifiers=KEYS, weights="w")


def test_rows_without_a_household_are_counted_and_refused():
    table = COMPLETE.with_columns(home=pl.Series([1, None, None, 2, 2, 3, 4, 4]))

    with pytest.raises(DataError, match="2 rows have no household in column 'home'"):
        individual_risk(table, quasi_identifiers=KEYS, household="home")


@pytest.mark.parametrize(
    "given_",
    [
        {"weights": "w", "sampling_fraction": 0.1},
        {"weights": "w", "population": COMPLETE},
        {"sampling_fraction": 0.0},
        {"sampling_fraction": 1.1},
        {"max_global_risk": 0.0},
        {"max_global_risk": 1.0},
    ],
)
def test_bad_parameters_are_refused(given_):
    with pytest.raises(ParameterError, match=next(reversed(given_))):
        individual_risk(COMPLETE, quasi_identifiers=KEYS, **given_)


def test_no_rows_are_refused_and_columns_named():
    with pytest.raises(ParameterError, match="no rows"):
        individual_risk(COMPLETE.clear(), quasi_identifiers=KEYS)
    with pytest.raises(ColumnNotFoundError, match="'weight'"):
        individual_risk(COMPLETE, quasi_identifiers=KEYS, weights="weight")

"""All measures of one table together, and the risk of each row."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.risk import (
    assess_risk,
    counted_risk,
    equal_rows,
    individual_risk,
    log_linear_risk,
    matching_rows,
    population_uniqueness,
    separation,
    suda,
    table_risk,
)
from halfmask.guarantees import KAnonymity, measure

TABLE = pl.DataFrame(
    {
        "age": [30, 30, 40, None, 50, 50],
        "town": ["canary", "x", "x", "x", None, "y"],
        "w": [10.0, 20.0, 5.0, 8.0, 12.0, 30.0],
        "home": [1, 1, 2, 2, 3, 3],
    }
)
KEYS = ["age", "town"]


def test_all_that_fits_a_survey_is_measured():
    found = assess_risk(TABLE, quasi_identifiers=KEYS, weights="w", household="home")

    told = found.to_dict()
    assert told["counted"] == table_risk(TABLE, quasi_identifiers=KEYS).to_dict()
    assert found.individual is not None
    assert (
        told["individual"]
        == individual_risk(TABLE, quasi_identifiers=KEYS, weights="w", household="home").to_dict()
    )
    fraction = 6 / 85
    assert (
        told["suda"]
        == suda(TABLE, quasi_identifiers=KEYS, largest=3, sampling_fraction=fraction).to_dict()
    )
    assert found.log_linear is not None
    assert found.uniqueness is not None
    assert found.uniqueness.chosen.population == 85
    assert len(found.sentences) == 10  # the first says how missing cells are read
    assert [each[:13] for each in found.warnings] == ["Two estimates"]  # .2 and 6 rows
    assert "canary" not in json.dumps(told) + " ".join(found.sentences)


def test_nothing_is_said_of_an_unknown_population():
    found = assess_risk(TABLE, quasi_identifiers=KEYS)

    assert found.individual is None
    assert found.log_linear is None
    assert found.uniqueness is None
    assert found.suda.worse.dis is None
    assert found.per_row.columns == ["row", "prosecutor", "suda_score", "smallest_unique_set"]


def test_each_row_has_the_higher_risk_of_both_readings():
    found = assess_risk(TABLE, quasi_identifiers=KEYS, weights="w", household="home")

    rows = found.per_row
    assert rows.columns == [
        "row", "prosecutor", "individual", "household", "suda_score", "dis_suda_score",
        "smallest_unique_set",
    ]  # fmt: skip
    assert rows["row"].to_list() == [1, 2, 3, 4, 5, 6]
    assert rows["prosecutor"].to_list() == [1.0] * 6
    assert found.individual is not None
    assert found.individual.as_wildcard is not None
    assert (rows["individual"].to_numpy() >= found.individual.as_wildcard.risk).all()
    assert (rows["individual"].to_numpy() >= found.individual.as_value.risk).all()
    assert rows["smallest_unique_set"].to_list() == [1, 2, 1, 1, 1, 1]


def test_a_population_takes_the_place_of_estimates():
    population = pl.concat([TABLE, TABLE.slice(0, 3)])

    found = assess_risk(TABLE, quasi_identifiers=KEYS, population=population)

    assert found.counted.as_value.journalist is not None
    assert found.log_linear is None
    assert found.individual is not None
    assert found.individual.worse.basis == "population"
    assert found.per_row["journalist"].to_list() == [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]


def test_a_population_without_the_table_is_refused():
    with pytest.raises(DataError, match="fewer rows"):
        assess_risk(TABLE, quasi_identifiers=KEYS, population=TABLE.slice(0, 2))


def test_a_table_of_one_row_is_assessed():
    found = assess_risk(TABLE.slice(0, 1), quasi_identifiers=KEYS, sampling_fraction=0.5)

    assert found.separation is None
    assert found.to_dict()["separation"] is None
    assert found.suda.worse.special == 1


def test_a_table_of_one_value_has_no_unique_row():
    table = pl.DataFrame({"a": np.ones(50)})

    found = assess_risk(table, quasi_identifiers=["a"], sampling_fraction=0.1)

    assert found.log_linear is not None
    assert found.log_linear.population_uniques == 0
    assert found.suda.worse.special == 0


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"population": TABLE, "weights": "w"}, "A population and weights"),
        ({"population": TABLE, "sampling_fraction": 0.1}, "A population and weights"),
        ({"weights": "w", "sampling_fraction": 0.1}, "weights and sampling_fraction"),
        ({"quasi_identifiers": []}, "no quasi-identifiers"),
    ],
)
def test_contradictions_are_refused(given_, says):
    with pytest.raises(ParameterError, match=says):
        assess_risk(TABLE, **{"quasi_identifiers": KEYS, **given_})


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.02, 0.1, 0.3])
def test_the_truth_of_samples_of_adult_is_near_or_below(adult_csv, fraction):
    """Adult as the population: the log-linear model isn't far below, and individual risk warns."""
    names = ["age", "sex", "race", "education", "marital-status"]
    people = pl.read_csv(adult_csv).select(names)
    others = people.group_by(names).len("people")
    for seed in range(5):
        sample = people.sample(fraction=fraction, seed=seed)
        alone = sample.group_by(names).len().filter(pl.col("len") == 1).join(others, on=names)
        links = float((1 / alone["people"].to_numpy()).sum())

        found = assess_risk(sample, quasi_identifiers=names, sampling_fraction=fraction, largest=1)

        assert found.log_linear is not None
        assert found.uniqueness is not None
        assert found.individual is not None
        assert 0.9 * links < found.log_linear.correct_links < 1.3 * links
        unique = (others["people"] == 1).sum()
        assert unique <= 1.5 * found.uniqueness.chosen.uniques
        if fraction < 0.3:
            # The weakness that its docstring states: without it there would be nothing to warn of.
            assert found.individual.worse.expected < 0.8 * links
            assert "use the higher number" in found.warnings[0]


MEASURES = {
    "assess": lambda table, **more: assess_risk(table, **more, sampling_fraction=0.1),
    "individual": lambda table, **more: individual_risk(table, **more, sampling_fraction=0.1),
    "log-linear": lambda table, **more: log_linear_risk(table, **more, sampling_fraction=0.1),
    "population": lambda table, **more: population_uniqueness(table, **more, sampling_fraction=0.1),
    "separation": separation,
    "suda": suda,
    "table": lambda table, **more: table_risk(table, **more, population=table),
    "counted": counted_risk,
    "equal": lambda table, **more: equal_rows(table, table, **more),
    "matching": lambda table, **more: matching_rows(table, table, **more),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_frames_of_other_libraries_have_the_same_risks(measure, library):
    other = TABLE.to_pandas() if library == "pandas" else TABLE.to_arrow()

    found, expected = (measure(each, quasi_identifiers=KEYS) for each in (other, TABLE))

    if isinstance(found, np.ndarray):
        assert found.tolist() == expected.tolist()
    else:
        assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weights": "w"}, "estimated from the sampling weights"),
        ({"sampling_fraction": 0.1}, "estimated from the sampling fraction"),
        ({"population": TABLE}, "counted in the population"),
    ],
)
def test_what_an_estimate_rests_on_is_what_was_given(given, words):
    found = assess_risk(TABLE, quasi_identifiers=KEYS, **given)

    assert words in " ".join(found.sentences)


@pytest.mark.parametrize("far", [False, True])
def test_two_estimates_of_unique_people_that_lie_far_apart_are_named(far):
    """100 and 6 of 1,000 rows, or 100 and 50."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.integers(0, 30, 1000), "b": rng.integers(0, 30, 1000)})
    found = assess_risk(table, quasi_identifiers=["a", "b"], sampling_fraction=0.1)
    assert found.log_linear is not None
    assert found.uniqueness is not None
    chosen = replace(found.uniqueness.chosen, uniques=1000.0)
    seen = replace(
        found,
        individual=None,
        log_linear=replace(found.log_linear, population_uniques=6.0 if far else 50.0),
        uniqueness=replace(found.uniqueness, chosen=chosen),
    )

    assert len(seen.warnings) == far
    if far:
        assert "6.0 by the log-linear model, and 100.0 by the sizes of classes" in seen.warnings[0]


def test_risks_that_read_missing_cells_otherwise_say_so():
    """After local suppression wildcards may give the higher chance of right links."""
    counted = table_risk(TABLE, quasi_identifiers=KEYS)
    assert counted.worse is counted.as_value
    found = assess_risk(TABLE, quasi_identifiers=KEYS, sampling_fraction=0.1)
    assert found.individual is not None
    assert found.individual.as_wildcard is not None
    other = replace(found.individual, as_value=found.individual.as_wildcard)
    other = replace(other, as_wildcard=found.individual.as_value)

    sentences = replace(found, individual=other).sentences

    named = [each for each in sentences if each.endswith("missing cells are read as any value.")]
    assert len(named) == (other.worse is other.as_wildcard)
    assert counted.read_otherwise(as_wildcard=True).endswith("are read as any value.")
    assert counted.read_otherwise(as_wildcard=False) == ""


@pytest.mark.parametrize("names", ["ab", None, [0], pl.DataFrame({"a": [1]})])
def test_quasi_identifiers_that_are_no_list_of_names_are_refused(names):
    """A text was taken apart into its letters, which are columns here."""
    table = pl.DataFrame({"a": [1, 2], "b": [1, 1], "ab": [3, 4]})
    measures = [
        lambda **named: measure(table, guarantees=[KAnonymity(k=2)], **named),
        lambda **named: equal_rows(table, table, **named),
        lambda **named: matching_rows(table, table, **named),
        *(
            lambda each=each, **named: each(table, **named)
            for each in (assess_risk, counted_risk, separation, suda, table_risk)
        ),
        *(
            lambda each=each, **named: each(table, sampling_fraction=0.1, **named)
            for each in (individual_risk, log_linear_risk, population_uniqueness)
        ),
    ]

    for each in measures:
        with pytest.raises(ParameterError, match="'quasi_identifiers' parameter of"):
            each(quasi_identifiers=names)

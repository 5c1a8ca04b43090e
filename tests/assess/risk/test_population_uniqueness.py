"""Superpopulation estimates as a risk: their numbers, and no number without a solution."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.assess.risk import population_uniqueness
from halfmask.guarantees import estimate_uniques


def sample_of(population: int, fraction: float, seed: int = 0) -> tuple[pl.DataFrame, int]:
    """Return a sample of people in classes with a heavy tail, and how many people are unique."""
    rng = np.random.default_rng(seed)
    classes = (rng.pareto(0.6, population) * 3).astype(np.int64)
    people = pl.DataFrame({"a": classes})
    unique = people.group_by("a").len().filter(pl.col("len") == 1).height
    return people.sample(fraction=fraction, seed=seed), unique


def test_estimates_are_those_of_the_estimators():
    sample, _ = sample_of(20_000, 0.05)

    found = population_uniqueness(sample, quasi_identifiers=["a"], sampling_fraction=0.05)

    sizes = sample.group_by("a").len()["len"].cast(pl.Int64).to_numpy()
    assert found.sample_uniques == (sizes == 1).sum()
    for name, estimate in found.estimates.items():
        assert estimate is None or estimate == estimate_uniques(
            sizes,
            population=20_000,
            estimator=name,  # type: ignore[arg-type] # one of its names
        )
    assert found.chosen == estimate_uniques(sizes, population=20_000, estimator="dankar")
    assert found.to_dict()["share"] == found.chosen.share


def test_the_truth_of_a_population_with_a_heavy_tail_is_near():
    sample, unique = sample_of(20_000, 0.05)

    found = population_uniqueness(sample, quasi_identifiers=["a"], sampling_fraction=0.05)

    assert found.chosen.uniques == pytest.approx(unique, rel=0.5)


def test_weights_give_the_size_of_the_population():
    sample, _ = sample_of(20_000, 0.05)
    weighted = sample.with_columns(w=pl.lit(20.0))

    by_weights = population_uniqueness(weighted, quasi_identifiers=["a"], weights="w")

    assert by_weights == population_uniqueness(
        sample, quasi_identifiers=["a"], sampling_fraction=0.05
    )


def test_an_estimator_without_a_solution_has_no_number():
    """All rows are unique: Pitman's likelihood has no maximum, and there are no pairs."""
    table = pl.DataFrame({"a": range(100)})

    found = population_uniqueness(table, quasi_identifiers=["a"], sampling_fraction=0.05)

    assert found.estimates["pitman"] is None
    assert found.estimates["snb"] is None
    assert found.chosen.estimator == "zayatz"
    assert found.chosen.share > 0.5
    assert found.to_dict()["estimates"] == {
        "pitman": None, "snb": None, "zayatz": found.chosen.share,
    }  # fmt: skip


def test_what_is_said_names_the_estimator():
    table = pl.DataFrame({"a": range(100)})

    by_zayatz = population_uniqueness(table, quasi_identifiers=["a"], sampling_fraction=0.05)
    counted = population_uniqueness(table, quasi_identifiers=["a"], sampling_fraction=1.0)

    assert by_zayatz.sentence == (
        "About 2,000 people (100 %) of a population of 2,000 are unique on the "
        "quasi-identifiers, by Zayatz's estimator."
    )
    assert counted.sentence.endswith("of a population of 100 are unique on the quasi-identifiers, "
                                     "counted.")  # fmt: skip


def test_bad_parameters_are_refused():
    table = pl.DataFrame({"a": [1, 2], "w": [2.0, 3.0]})

    with pytest.raises(ParameterError, match="size of the population"):
        population_uniqueness(table, quasi_identifiers=["a"])
    with pytest.raises(ParameterError, match="weights and sampling_fraction"):
        population_uniqueness(table, quasi_identifiers=["a"], weights="w", sampling_fraction=0.1)
    with pytest.raises(ParameterError, match="no rows"):
        population_uniqueness(table.clear(), quasi_identifiers=["a"], sampling_fraction=0.1)
    with pytest.raises(ColumnNotFoundError, match="'b'"):
        population_uniqueness(table, quasi_identifiers=["b"], sampling_fraction=0.1)

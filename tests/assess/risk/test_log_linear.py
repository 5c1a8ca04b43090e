"""Log-linear risk against the numbers in sdcMicro's own tests, and populations that are known."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.risk import _log_linear, log_linear_risk

KEYS = ["Var1", "Var2", "Var3"]
#: The rows of sdcMicro's test_modRisks.R: set.seed(123) and rounded runif, weights of 100.
SAMPLE = pl.DataFrame(
    {
        "Var1": [2, 3, 2, 3, 3, 1, 2, 3, 2, 2],
        "Var2": [2, 1, 2, 2, 1, 2, 1, 1, 1, 2],
        "Var3": [5, 4, 4, 5, 4, 4, 3, 3, 2, 2],
        "w": [100.0] * 10,
    }
)
METHODS = ["standard", "pseudo-likelihood", "clogg-eliason", "weight-covariate"]


@pytest.mark.parametrize(
    ("method", "tau1", "tau2", "bounded1", "bounded2"),
    [
        ("standard", 0.552916, 0.7053842, 0.622, 0.794),
        ("pseudo-likelihood", 0.552916, 0.7053842, 0.622, 0.794),
        ("clogg-eliason", 0.542, 0.699, 0.609, 0.786),
        ("weight-covariate", 0.408, 0.613, 0.459, 0.690),
    ],
)
def test_fitted_models_give_the_risks_of_sdcmicro(method, tau1, tau2, bounded1, bounded2):
    """Of sdcMicro's test_modRisks.R: gr1 and gr2 without a bound, and with a bound of 1.5.

    sdcMicro's means are of the sample, and it divides by the cells that have rows (up to the
    bound), so its numbers are put together here from our fitted model.
    """
    cells = _log_linear._cells(SAMPLE, KEYS, SAMPLE["w"].to_numpy())
    fitted = _log_linear._fitted(cells, 1, method)
    if method == "pseudo-likelihood":
        fitted /= 100  # sdcMicro scales the weights to the sample
    alone = cells.rows == 1

    unique, linked = _log_linear._taus(fitted[alone], cells.inclusion[alone])

    digits = 6 if tau1 == 0.552916 else 3
    assert round(unique.sum() / len(cells.rows), digits) == tau1
    assert round(linked.sum() / len(cells.rows), digits) == round(tau2, digits)
    assert round(unique.mean(), 3) == bounded1
    assert round(linked.mean(), 3) == bounded2


def test_cells_have_the_expected_counts_of_sdcmicro():
    cells = _log_linear._cells(SAMPLE, KEYS, SAMPLE["w"].to_numpy())

    fitted = _log_linear._fitted(cells, 1, "weight-covariate")

    assert sorted(np.round(fitted, 2).tolist()) == [
        0.53, 0.55, 0.63, 0.63, 0.65, 1.07, 1.25, 1.34, 2.68,
    ]  # fmt: skip


def population_of(seed, *, depends=False):
    """A population of 60,000 whose columns are independent, or two of which aren't."""
    rng = np.random.default_rng(seed)
    columns = {
        f"c{j}": rng.choice(levels, 60_000, p=rng.dirichlet(np.ones(levels)))
        for j, levels in enumerate((30, 20, 10, 8))
    }
    if depends:
        columns["c1"] = np.where(rng.random(60_000) < 0.7, columns["c0"] % 20, columns["c1"])
    return pl.DataFrame(columns)


def truth_of(population, sample):
    """Return how many unique rows are unique in the population, and the sum of 1 / people."""
    names = population.columns
    people = population.group_by(names).len("F")
    alone = sample.group_by(names).len("f").filter(pl.col("f") == 1).join(people, on=names)
    return (alone["F"] == 1).sum(), (1 / alone["F"]).sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_of_a_known_population_is_met(seed):
    population = population_of(seed)
    sample = population.sample(fraction=0.05, seed=seed)

    found = log_linear_risk(sample, quasi_identifiers=sample.columns, sampling_fraction=0.05)

    unique, linked = truth_of(population, sample)
    assert found.population_uniques == pytest.approx(unique, rel=0.25)
    assert found.correct_links == pytest.approx(linked, rel=0.1)


def test_means_of_the_sample_would_miss_it():
    """Power: the population's means are 1 / the sampling fraction times those of the sample."""
    population = population_of(0)
    sample = population.sample(fraction=0.05, seed=0)
    cells = _log_linear._cells(sample, sample.columns, np.full(sample.height, 20.0))
    alone = cells.rows == 1

    fitted = _log_linear._fitted(cells, 1, "standard")[alone]
    wrong, _ = _log_linear._taus(fitted, cells.inclusion[alone])

    assert wrong.sum() > 2 * truth_of(population, sample)[0]


def test_an_interaction_that_is_there_is_fitted():
    population = population_of(0, depends=True).select("c0", "c1", "c2")
    sample = population.sample(fraction=0.1, seed=0)

    alone, pairs = (
        log_linear_risk(
            sample, quasi_identifiers=sample.columns, sampling_fraction=0.1, order=order
        )
        for order in (1, 2)
    )

    unique, _ = truth_of(population, sample)
    assert abs(pairs.population_uniques - unique) < abs(alone.population_uniques - unique)


def test_pairs_are_fitted_in_every_margin():
    sample = population_of(1).sample(fraction=0.02, seed=1).select("c1", "c2", "c3")
    cells = _log_linear._cells(sample, sample.columns, np.full(sample.height, 50.0))
    full = cells.table(cells.rows)

    fitted = _log_linear._scaled(
        full, np.ones(full.shape), [(0, 1), (0, 2), (1, 2)], None, float(sample.height)
    )

    for axis in range(3):
        assert np.abs(fitted.sum(axis=axis) - full.sum(axis=axis)).max() < 0.011


def test_independent_columns_are_fitted_by_the_product_of_shares():
    table = pl.DataFrame({"a": [*"xxxyyyyy"], "b": [*"uuvuuvvw"]})

    found = log_linear_risk(table, quasi_identifiers=["a", "b"], sampling_fraction=0.5)

    alone = [("x", "v"), ("y", "w")]
    shares = {value: table["a"].to_list().count(value) / 8 for value in "xy"}
    shares |= {value: table["b"].to_list().count(value) / 8 for value in "uvw"}
    # The others in the population are Poisson: 8 / 0.5 people, half of them not in the table.
    others = [8 / 0.5 * shares[a] * shares[b] * 0.5 for a, b in alone]
    assert found.sample_uniques == 2
    assert found.population_uniques == pytest.approx(sum(exp(-each) for each in others))
    assert found.correct_links == pytest.approx(sum((1 - exp(-x)) / x for x in others))


def test_a_table_that_is_the_population_links_all():
    found = log_linear_risk(SAMPLE, quasi_identifiers=KEYS, sampling_fraction=1.0)

    assert found.population_uniques == found.correct_links == found.sample_uniques == 8


@pytest.mark.parametrize("method", METHODS)
def test_each_method_takes_unequal_weights(method):
    table = SAMPLE.with_columns(w=pl.Series([1.0 + 3 * i for i in range(10)]))

    found = log_linear_risk(table, quasi_identifiers=KEYS, weights="w", method=method)

    assert 0 <= found.population_uniques <= found.correct_links <= found.sample_uniques
    assert found.to_dict()["method"] == method


def test_missing_is_a_value_of_its_own():
    table = SAMPLE.with_columns(Var1=pl.Series([None, *SAMPLE["Var1"][1:]]))

    found = log_linear_risk(table, quasi_identifiers=KEYS, weights="w")

    same = log_linear_risk(
        table.with_columns(pl.col("Var1").fill_null(9)), quasi_identifiers=KEYS, weights="w"
    )
    assert found == same


def test_a_model_that_does_not_converge_is_an_error_and_no_number(monkeypatch):
    monkeypatch.setattr(_log_linear, "MAX_CYCLES", 3)
    cells = list(product(range(3), repeat=3))
    table = pl.DataFrame(cells[::2] + cells[:5], schema=["a", "b", "c"], orient="row")

    with pytest.raises(DataError, match="didn't converge in 3 cycles"):
        log_linear_risk(table, quasi_identifiers=["a", "b", "c"], sampling_fraction=0.1, order=2)


def test_a_table_of_counts_beyond_memory_is_refused():
    table = pl.DataFrame({f"c{j}": range(200) for j in range(3)})

    with pytest.raises(ParameterError, match="8,000,000 cells"):
        log_linear_risk(table, quasi_identifiers=table.columns, sampling_fraction=0.1, order=2)

    assert (
        log_linear_risk(
            table, quasi_identifiers=table.columns, sampling_fraction=0.1
        ).sample_uniques
        == 200
    )


def test_what_is_said_has_the_numbers():
    found = log_linear_risk(SAMPLE, quasi_identifiers=KEYS, sampling_fraction=1.0)

    assert found.sentence == (
        "Of 8 unique rows in the table, 8.0 (100 %) are expected to be unique in the "
        "population; who links them all is expected to be right for 8.0 (100 %), by a log-linear "
        "model of order 1."
    )
    twice = pl.concat([SAMPLE, SAMPLE])
    none = log_linear_risk(twice, quasi_identifiers=KEYS, weights="w")
    assert none.sentence.startswith("No row is unique")
    assert none.share_correct == 0


@pytest.mark.parametrize(
    "given_",
    [{"order": 0}, {"method": "other"}, {"sampling_fraction": 2}, {"quasi_identifiers": []}],
)
def test_bad_parameters_are_refused(given_):
    with pytest.raises(ParameterError, match=next(iter(given_)).replace("_", ".")):
        log_linear_risk(SAMPLE, **{"quasi_identifiers": KEYS, **given_})


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ColumnNotFoundError, match="'other'"):
        log_linear_risk(SAMPLE, quasi_identifiers=["other"])

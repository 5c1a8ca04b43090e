"""Releases by an estimate for the population: searched for, verified, and refused elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from halfmask import GuaranteeNotMetError, ParameterError
from halfmask.microdata import protect_to
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    people,
    policy,
    promise,
    released,
)

HIERARCHIES: dict[str, dict[str, Any]] = {
    "age": {"hierarchy": {"intervals": [5, 10, 20]}},
    "town": {"hierarchy": {"groups": {"a": ["Aa", "Bee"], "b": ["Cee, upper", "=Dee", "Ee"]}}},
    "born": {"hierarchy": {"dates": ["month", "year", "decade"]}},
    "smoker": {"hierarchy": {"groups": {"all": ["true", "false"]}}},
}


def asked(share, *more, fraction=0.0, **said):
    return policy(
        promise("population-uniqueness", share=share, estimator="zayatz", **said),
        *more,
        columns=HIERARCHIES,
        method={"name": "full-domain"},
        suppression={"max_fraction": fraction},
    )


def zayatz(frame, population):
    """Bayes' rule with binomial coefficients."""
    sizes = list(Counter(frame.select(QUASI).rows()).values())
    n, one = sum(sizes), sizes.count(1)
    once = [Fraction(j * math.comb(population - j, n - 1), math.comb(population, n)) for j in sizes]
    return float(one * Fraction(one, population) / sum(once)) if one else 0.0


@pytest.mark.parametrize("fraction", [0.0, 0.05])
@pytest.mark.parametrize("share", [0.3, 0.02])
def test_full_domain_keeps_it_and_no_more_is_generalized(tmp_path, share, fraction):
    """The estimate of a slow count is at most the share, and the raw table's is above it."""
    table = people()
    assert zayatz(table, 2000) > share

    release = protect_to(
        table, asked(share, population=2000, fraction=fraction), tmp_path / "out", key=KEY
    )

    found = released(tmp_path / "out")
    assert zayatz(found, 2000) <= share
    assert release.claims[0].evidence.achieved == pytest.approx(zayatz(found, 2000))
    assert release.claims[0].basis == "estimated"
    assert found.height >= table.height * (1 - fraction)
    assert found.n_unique(QUASI) > 4
    verification = verify(tmp_path / "out")
    assert verification.holds
    assert "by a model of the population" in verification.claims[0].sentence


def test_together_with_guarantees_of_classes(tmp_path):
    more = (promise("k-anonymity", k=2), promise("distinct-l-diversity", "illness", l=2))
    wanted = asked(0.01, *more, sampling_fraction=0.1, fraction=0.2)

    protect_to(people(), wanted, tmp_path / "out", key=KEY)

    found = released(tmp_path / "out")
    assert min(Counter(found.select(QUASI).rows()).values()) >= 2
    assert zayatz(found, 10 * found.height) <= 0.01
    assert verify(tmp_path / "out").holds


@pytest.mark.parametrize("method", ["mondrian", "mdav"])
def test_methods_that_cannot_search_for_it_refuse(tmp_path, method):
    wanted = policy(
        promise("population-uniqueness", share=0.1, sampling_fraction=0.1), method={"name": method}
    )

    with pytest.raises(ParameterError, match="isn't monotone") as caught:
        protect_to(people(), wanted, tmp_path / "out")

    assert "full-domain" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_population_smaller_than_the_table_is_an_error(tmp_path):
    with pytest.raises(ParameterError, match="fewer than the 240 rows"):
        protect_to(people(), asked(0.1, population=100), tmp_path / "out")

    assert not list(tmp_path.iterdir())


def test_what_no_node_keeps_leaves_no_release(tmp_path):
    """One person of an own kind in each hierarchy stays unique at the highest levels."""
    table = people(40).with_columns(
        town=pl.when(pl.col("row") == 0).then(pl.lit("Aa")).otherwise(pl.lit("Ee")),
        born=pl.lit(None, dtype=pl.Date),
        smoker=pl.lit(None, dtype=pl.Boolean),
    )
    wanted = policy(
        promise("population-uniqueness", share=0, population=40, estimator="zayatz"),
        columns={
            name: {**said, "greatest_level": 0} if name == "town" else said
            for name, said in HIERARCHIES.items()
        },
        method={"name": "full-domain"},
    )

    with pytest.raises(GuaranteeNotMetError):
        protect_to(table, wanted, tmp_path / "out", key=KEY)

    assert not list(tmp_path.iterdir())

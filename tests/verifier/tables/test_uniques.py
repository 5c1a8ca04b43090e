"""The verifier's own estimate of unique people: it agrees with the guarantee, and can refuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import DivergenceError
from halfmask.claims import Evidence
from halfmask.guarantees import PopulationUniques, estimate_uniques, measure
from halfmask.verifier.tables import Unjudgeable, verify
from halfmask.verifier.tables._uniques import unique_share

SIZES = st.lists(st.sampled_from([1, 1, 1, 1, 2, 2, 3, 5, 9, 20]), min_size=1, max_size=40)
ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier"}


def ours(sizes, people, estimator):
    try:
        return estimate_uniques(sizes, population=people, estimator=estimator).share
    except DivergenceError:
        return None


def theirs(sizes, people, estimator):
    try:
        return unique_share(sizes, sizes, population=people, estimator=estimator)
    except Unjudgeable:
        return None


@pytest.mark.mostly_slow
@pytest.mark.parametrize("estimator", ["zayatz", "pitman", "snb", "dankar"])
@given(sizes=SIZES, more=st.integers(0, 2000))
def test_two_ways_to_the_same_estimate(estimator, sizes, more):
    """Nested bisection and digamma functions there; here both equations at once, sums by terms."""
    counted = np.array(sizes, dtype=np.int64)
    people = sum(sizes) + more

    expected, found = ours(counted, people, estimator), theirs(counted, people, estimator)

    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_two_ways_agree_on_large_tables(seed):
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(2, 4.7))
    weights = rng.lognormal(0, rng.uniform(0.5, 2.5), n)
    sizes = np.bincount(rng.choice(n, n, p=weights / weights.sum()))
    sizes = sizes[sizes > 0]
    for fraction in (0.01, 0.1, 0.4):
        for estimator in ("zayatz", "pitman", "snb", "dankar"):
            people = round(n / fraction)
            expected, found = ours(sizes, people, estimator), theirs(sizes, people, estimator)
            assert (found is None) == (expected is None)
            assert found is None or found == pytest.approx(expected, abs=1e-10)


def people():
    """Thirty unique rows, some pairs and larger classes."""
    sizes = [1] * 30 + [2] * 12 + [3] * 6 + [4] * 3 + [6] * 3 + [12] * 2
    ages = [str(i) for i, size in enumerate(sizes) for _ in range(size)]
    return pl.DataFrame({"age": ages, "zip": ["z"] * len(ages)})


def stated(claim, frame, share, *, basis="estimated", **more):
    guarantee = PopulationUniques(share=share, population=2000)
    (found,) = measure(frame, quasi_identifiers=list(ROLES), guarantees=[guarantee])
    made = claim(guarantee.model, basis=basis, **{**guarantee.parameters, **more})
    return dataclasses.replace(
        made,
        evidence=Evidence(
            achieved=found.achieved, classes=found.classes, rows=found.rows, smallest_class=1
        ),
    )


def verified(make, frame, claim):
    return verify(make(frame, [claim], roles=ROLES).path)


def test_an_honest_claim_holds_and_says_what_it_rests_on(make, claim):
    found = verified(make, people(), stated(claim, people(), 0.2))

    assert found.holds, found.claims[0].sentence
    assert "by a model of the population" in found.claims[0].sentence
    assert any("estimates for the population" in each for each in found.weaknesses)


def test_a_claim_beyond_its_threshold_or_its_basis_fails(make, claim):
    frame = people()
    level = stated(claim, frame, 0.2).evidence.achieved

    assert verified(make, frame, stated(claim, frame, level)).holds
    for wrong in (
        stated(claim, frame, level * 0.99),
        stated(claim, frame, 0.2, basis="counted"),
        stated(claim, frame, 0.2, population=90),
        stated(claim, frame, 0.2, population=500),
        stated(claim, frame, 0.2, estimator="argus"),
        stated(claim, frame, 0.2, sampling_fraction=0.5),
    ):
        found = verified(make, frame, wrong)
        assert not found.holds
    counted = verified(make, frame, stated(claim, frame, 0.2, basis="counted")).claims[0]
    assert "it says that it is counted, and it is estimated" in counted.sentence


def test_a_table_that_was_changed_fails(make, claim):
    """More unique rows than the evidence says, by a row or by one cell."""
    frame = people()
    level = stated(claim, frame, 0.2).evidence.achieved
    honest = stated(claim, frame, level)
    one_more = pl.concat([frame, pl.DataFrame({"age": ["new"], "zip": ["z"]})])
    one_cell = frame.with_columns(
        age=pl.when(pl.int_range(pl.len()) == frame.height - 1).then(pl.lit("new")).otherwise("age")
    )

    for changed in (one_more, one_cell):
        found = verified(make, changed, honest)
        assert not found.holds
        assert "the guarantee isn't kept" in found.claims[0].sentence


def test_missing_cells_make_few_rows_unique(make, claim):
    """With one row that misses all cells no row is alone; without wildcards most still are."""
    frame = pl.concat(
        [people(), pl.DataFrame({"age": [None], "zip": [None]}, schema=people().schema)]
    )

    found = verified(make, frame, stated(claim, frame, 0.3)).claims[0]

    assert found.counted > 0.01
    assert found.counted_wildcard == 0

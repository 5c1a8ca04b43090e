"""Audits of whole answers on neighbouring tables: ours stand, weakened ones are refuted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask.data import open_table
from halfmask.dp.audit import audit_neighbours
from halfmask.dp.ledger import BudgetTerms, PrivacyUnit
from halfmask.dp.queries import Count, DistinctCount, Mean, Quantile, Sum, Variance
from halfmask.dp.queries._answer import released
from halfmask.dp.queries._grouping import Grouping
from halfmask.dp.queries._plan import QueryPlan
from halfmask.dp.queries._question import Question
from halfmask.dp.queries._tallying import tally

ROWS = [("a", 4.0), ("b", 1.0), ("c", 0.0)]
#: The row, or the person's rows, by which the neighbour differs: as far out as bounds allow.
ADDED = [("z", 10.0), ("z", 9.0)]
SCHEMA = {"person": pl.String, "x": pl.Float64}
ROW, PERSON = PrivacyUnit(), PrivacyUnit(person="person", max_rows=2)
ASKED = [
    Count(),
    DistinctCount(of="x"),
    Sum(of="x", bounds=(-3, 10), grid=1),
    Mean(of="x", bounds=(0, 10), grid=1),
    Variance(of="x", bounds=(0, 10), grid=1),
    Quantile(of="x", at=0.9, bounds=(0, 10), grid=1),
]


def draws(rows, asked, unit, epsilon, *, tallied=None):
    """Return what draws answers to a question about some rows, n at once: as many groups."""
    terms = BudgetTerms(
        dataset="d",
        fingerprint="",
        columns=dict.fromkeys(SCHEMA, ""),
        epsilon=1.0,
        delta=0.0,
        unit=tallied or unit,
        key="5a" * 32,
    )
    question = Question.of(
        {name: dtype() for name, dtype in SCHEMA.items()},
        (asked,),
        grouping=Grouping(),
        conditions=(),
        joins=(),
        terms=terms,
    )
    plan = QueryPlan(question, unit, epsilon, 0.0, "laplace")
    source = open_table(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    exact = tally(source, question, plan.measures, terms)

    def draw(n):
        many = replace(
            exact,
            n_groups=n,
            sums={each: np.repeat(sums, n) for each, sums in exact.sums.items()},
            histograms={
                each: it.of_groups(np.zeros(n, dtype=int)) for each, it in exact.histograms.items()
            },
        )
        return released(plan, many)[asked.label].to_numpy()

    return draw


def audited(asked, unit, epsilon, *, confidence=1 - 1e-9, **weakened):
    added = ADDED[: unit.max_rows] if not weakened.get("tallied") else ADDED
    return audit_neighbours(
        draws(ROWS, asked, unit, epsilon, **weakened),
        draws([*ROWS, *added], asked, unit, epsilon, **weakened),
        delta=0.0,
        runs=1_000 if isinstance(asked, Quantile) else 16_000,
        confidence=confidence,
    )


def refuted(asked, unit, epsilon, **weakened):
    """Whether one of four audits refutes what is wrong: one alone may miss it by chance."""
    return any(
        audited(asked, unit, epsilon, confidence=0.999, **weakened).refutes(1.0) for _ in range(4)
    )


@pytest.mark.mostly_slow
@pytest.mark.parametrize("unit", [ROW, PERSON], ids=["row", "person"])
@pytest.mark.parametrize("asked", ASKED, ids=lambda each: each.kind)
def test_no_audit_refutes_an_answer(asked, unit):
    assert not audited(asked, unit, 1.0).refutes(1.0)


@pytest.mark.parametrize("asked", [ASKED[0], ASKED[1], ASKED[2]], ids=lambda each: each.kind)
def test_two_thirds_of_the_noise_are_refuted(asked):
    """Asked with epsilon 1.5, claimed to be 1."""
    assert refuted(asked, ROW, 1.5)


@pytest.mark.parametrize("asked", [ASKED[0], ASKED[2]], ids=lambda each: each.kind)
def test_a_bound_that_is_off_by_one_is_refuted(asked):
    """Two rows of a person are counted where noise is for one."""
    one = PrivacyUnit(person="person", max_rows=1)
    assert refuted(asked, one, 1.0, tallied=PERSON)

"""Hilbert: runs of a curve, cut where least is lost."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import Anonymizer, Hilbert, Method, Mondrian
from halfmask.guarantees import (
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    TCloseness,
    measure,
)

QUASI = ["age", "town", "pay"]


def people(n, seed):
    rng = np.random.default_rng(seed)
    gone, pay = rng.random(n) < 0.1, rng.integers(0, 5000, n).tolist()
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdef"), n),
            "pay": [None if no else one for no, one in zip(gone, pay, strict=True)],
            "ill": rng.choice(["no", "flu", "gout", "cold"], n, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


def fitted(frame, *guarantees, **options):
    return Anonymizer(
        guarantees=list(guarantees), method=Hilbert(), quasi_identifiers=QUASI, **options
    ).fit(frame)


def test_it_is_a_method_that_needs_no_guide():
    assert isinstance(Hilbert(), Method)
    assert (Hilbert.name, Hilbert.needs_guide) == ("hilbert", False)
    assert Hilbert().split_criterion(np.ones((3, 1))).search == "curve"


def test_ten_rows_make_three_cells_of_three_and_more_where_medians_make_two():
    rows = np.arange(10, dtype=float)[:, None]

    def sizes(method):
        cells = Anonymizer(guarantees=[KAnonymity(k=3)], method=method).fit(rows).cells_
        assert (np.diff(cells) >= 0).all()
        return sorted(np.bincount(cells).tolist())

    assert sizes(Hilbert()) == [3, 3, 4]
    assert sizes(Mondrian()) == [5, 5]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(40, 200),
    k=st.integers(2, 12),
    more=st.sampled_from(
        [
            (),
            (DistinctLDiversity(l=2, column="ill"),),
            (EntropyLDiversity(l=1.5, column="ill"), DistinctLDiversity(l=3, column="ill")),
            (TCloseness(t=0.3, column="ill"),),
        ]
    ),
)
def test_what_is_written_keeps_every_guarantee(seed, n, k, more):
    """Counted in the recoded table, with no look at cells; fitted rows find their cells again."""
    frame, guarantees = people(n, seed), (KAnonymity(k=k), *more)
    anonymizer = fitted(frame, *guarantees)

    released = anonymizer.transform(frame)

    found = measure(released, quasi_identifiers=QUASI, guarantees=list(guarantees))
    assert all(judgement.holds for judgement in found)
    codes = anonymizer.plan_.codes(frame.select(QUASI))
    np.testing.assert_array_equal(anonymizer.plan_.partition.cells_of(codes), anonymizer.cells_)
    equal = frame.select(QUASI).with_columns(cell=pl.Series(anonymizer.cells_))
    assert equal.unique().height == frame.select(QUASI).unique().height


def test_strays_between_clusters_are_left_out_where_they_may_be():
    """Ten clusters of equal rows; three rows that are nobody's neighbours widen what takes them."""
    clusters = np.repeat(np.arange(10.0), 8)
    strays = np.array([[1.0, 8.0], [2.0, 6.0], [7.0, 1.0]])
    rows = np.concatenate([np.stack([clusters, clusters], axis=1), strays])

    def widths(allowed):
        anonymizer = Anonymizer(
            guarantees=[KAnonymity(k=8)], method=Hilbert(), max_suppression_fraction=allowed
        ).fit(rows)
        partition, cells = anonymizer.plan_.partition, anonymizer.cells_
        assert partition.sizes.min() >= 8
        return int((partition.high - partition.low).sum()), np.flatnonzero(cells < 0).tolist()

    assert widths(0.0)[0] > 0
    assert widths(0.05) == (0, [80, 81, 82])


def test_the_same_rows_make_the_same_cells_in_any_order():
    frame = people(300, seed=2)
    order = np.random.default_rng(0).permutation(300)

    one, other = fitted(frame, KAnonymity(k=5)), fitted(frame[order], KAnonymity(k=5))

    np.testing.assert_array_equal(one.cells_[order], other.cells_)


def test_new_rows_are_placed():
    frame = people(300, seed=3)
    anonymizer = fitted(frame, KAnonymity(k=5))

    written = anonymizer.transform(people(50, seed=4))

    known = set(anonymizer.transform(frame).select(QUASI).rows())
    assert set(written.select(QUASI).rows()) <= known


@pytest.mark.parametrize("k", [10, 50])
def test_on_adult_it_loses_less_than_medians(adult_csv, k):
    columns = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
    table = pl.read_csv(adult_csv, n_rows=12_000)

    def loss(method):
        plan = (
            Anonymizer(guarantees=[KAnonymity(k=k)], method=method, quasi_identifiers=columns)
            .fit(table)
            .plan_
        )
        steps = np.array([max(1, coding.n_codes - 1) for coding in plan.codings])
        widths = ((plan.partition.high - plan.partition.low) / steps).mean(axis=1)
        return np.average(widths, weights=plan.partition.sizes)

    assert loss(Hilbert()) < loss(Mondrian())

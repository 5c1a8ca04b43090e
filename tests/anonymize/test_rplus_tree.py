"""RPlusTree: the leaves of a spatial index."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Anonymizer, Method, Mondrian, RPlusTree
from halfmask.guarantees import KAnonymity


def test_it_is_a_method_that_needs_no_guide():
    assert isinstance(RPlusTree(), Method)
    assert (RPlusTree.name, RPlusTree.needs_guide) == ("r-plus-tree", False)
    criterion = RPlusTree(min_fraction=0.5).split_criterion(np.ones((3, 1)))
    assert (criterion.search, criterion.min_fraction, criterion.guides) == ("margin", 0.5, None)


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan"), True])
def test_a_share_of_two_sides_is_at_most_a_half(share):
    with pytest.raises(ParameterError, match="min_fraction"):
        RPlusTree(min_fraction=share)


def test_it_cuts_the_column_that_narrows_the_other():
    """Both columns are as wide; only a cut of the first parts the rows that differ in the second.

    Mondrian takes the first of the widest columns, which is the noise here.
    """
    rng = np.random.default_rng(0)
    side = np.repeat([0, 9], 20)
    noise = rng.permutation(np.tile(np.arange(10), 4))
    rows = np.stack([noise, side, side + rng.integers(0, 2, 40)], axis=1).astype(float)

    cells = Anonymizer(guarantees=[KAnonymity(k=20)], method=RPlusTree()).fit(rows).cells_

    assert cells.tolist() == [0] * 20 + [1] * 20


def test_rows_that_come_later_are_placed():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 50, (300, 4)).astype(float)
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=7)], method=RPlusTree()).fit(rows)

    known = set(map(tuple, anonymizer.transform(rows).tolist()))

    assert set(map(tuple, anonymizer.transform(rows[:20] + 0.25).tolist())) <= known
    assert np.bincount(anonymizer.cells_).min() >= 7


@pytest.mark.parametrize("k", [10, 50])
def test_on_adult_it_loses_less_than_medians(adult_csv, k):
    columns = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
    table = pl.read_csv(adult_csv, n_rows=12_000)

    def loss(method):
        anonymizer = Anonymizer(
            guarantees=[KAnonymity(k=k)], method=method, quasi_identifiers=columns
        )
        plan = anonymizer.fit(table).plan_
        steps = np.array([max(1, coding.n_codes - 1) for coding in plan.codings])
        widths = ((plan.partition.high - plan.partition.low) / steps).mean(axis=1)
        return np.average(widths, weights=plan.partition.sizes)

    assert loss(RPlusTree()) < 0.9 * loss(Mondrian())

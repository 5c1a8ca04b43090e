"""Samples have exact sizes, the right probabilities and hold in batches of any size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.data import open_table
from halfmask.masks import SimpleSampling, StratifiedSampling, mask_table

KEY = bytes(range(32))


def keys(n):
    return [i.to_bytes(32, "big") for i in range(n)]


def kept(mask, table, key=KEY):
    """Whether each row is kept; batches of one row give the same."""
    plan = mask.fit(table if mask.reads else None, table.height, key)
    found = plan.kept(0, table.height)
    assert plan.n_rows == found.sum()
    assert [plan.kept(i, 1).item() for i in range(table.height)] == found.to_list()
    assert "True" not in repr(plan)
    return found.to_numpy()


@given(n_rows=st.integers(1, 60), fraction=st.floats(0.01, 0.99))
@example(n_rows=50, fraction=0.57)  # 28.5: in binary 28.499999999999996
def test_a_simple_sample_has_exactly_its_size(n_rows, fraction):
    table = pl.DataFrame({"x": range(n_rows)})

    size = int(Fraction(str(fraction)) * n_rows + Fraction(1, 2))
    assert kept(SimpleSampling(fraction=fraction), table).sum() == size
    assert kept(SimpleSampling(n=n_rows), table).all()


@pytest.mark.slow
def test_each_row_and_pair_of_a_simple_sample_has_its_probability():
    """3 of 8 rows: 3/8 for a row, 3/28 for a pair; a sample that leans to the front would fail."""
    table, runs = pl.DataFrame({"x": range(8)}), 4000
    drawn = np.array([kept(SimpleSampling(n=3), table, key) for key in keys(runs)])

    rows = drawn.mean(axis=0)
    pairs = (drawn.T.astype(float) @ drawn)[np.triu_indices(8, 1)] / runs
    assert np.abs(rows - 3 / 8).max() < 5 * np.sqrt(3 / 8 * 5 / 8 / runs)
    assert np.abs(pairs - 3 / 28).max() < 5 * np.sqrt(3 / 28 * 25 / 28 / runs)


@given(
    strata=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=60),
    fraction=st.floats(0.01, 0.99),
)
@example(strata=["a"] * 50, fraction=0.58)  # 29: in binary 28.999999999999996
def test_strata_keep_their_share_rounded_up_or_down(strata, fraction):
    """And so does the whole table."""
    table = pl.DataFrame({"s": strata}, schema={"s": pl.String})

    found = kept(StratifiedSampling(by=("s",), fraction=fraction), table)

    for letter in set(strata):
        own = np.array([it == letter for it in strata])
        exact = Fraction(str(fraction)) * int(own.sum())
        assert exact - 1 < found[own].sum() < exact + 1
    exact = Fraction(str(fraction)) * len(strata)
    assert exact - 1 < found.sum() < exact + 1


@pytest.mark.slow
def test_each_row_of_a_stratified_sample_has_the_same_probability():
    """Also in a stratum of one row, which plain rounding would never or always keep."""
    table = pl.DataFrame({"s": ["a"] * 5 + ["b"] + ["c"] * 4})
    mask, runs = StratifiedSampling(by=("s",), fraction=0.3), 4000

    share = np.mean([kept(mask, table, key) for key in keys(runs)], axis=0)

    assert np.abs(share - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / runs)


def test_n_rows_of_each_stratum_or_all():
    table = pl.DataFrame({"s": ["a"] * 5 + ["b"] + ["c"] * 4, "t": ["x"] * 10})

    mask = StratifiedSampling(by=("s", "t"), n=2)

    found = table.filter(pl.Series(kept(mask, table)))["s"].value_counts(sort=True)
    assert dict(found.sort("s").iter_rows()) == {"a": 2, "b": 1, "c": 2}
    assert "small-strata-kept" in mask.weaknesses


def test_another_key_gives_another_sample():
    table = pl.DataFrame({"x": range(100)})

    first = kept(SimpleSampling(n=50), table)
    assert (first == kept(SimpleSampling(n=50), table)).all()
    assert (first != kept(SimpleSampling(n=50), table, bytes(32))).any()


def test_a_sampled_table_has_the_kept_rows_unchanged():
    table = pl.DataFrame({"x": range(100), "s": ["a", "b"] * 50})
    masks = [StratifiedSampling(by=("s",), fraction=0.1)]

    found = mask_table(open_table(table), {}, key=KEY, table_masks=masks).read()

    assert found.height == 10
    assert found.join(table, on=["x", "s"]).height == 10


@pytest.mark.parametrize(
    "make",
    [
        SimpleSampling,
        lambda: SimpleSampling(fraction=0.5, n=2),
        lambda: SimpleSampling(fraction=1.0),
        lambda: SimpleSampling(fraction=0),
        lambda: SimpleSampling(n=0),
        lambda: StratifiedSampling(by=(), fraction=0.5),
        lambda: StratifiedSampling(by=("s",)),
    ],
)
def test_parameters_that_can_not_be_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_more_rows_than_there_are_is_refused():
    with pytest.raises(DataError, match="keeps 5 rows, and the table has 4"):
        SimpleSampling(n=5).fit(None, 4, KEY)


def test_strata_without_rows():
    table = pl.DataFrame({"s": []}, schema={"s": pl.String})

    assert StratifiedSampling(by=("s",), fraction=0.5).fit(table, 0, KEY).n_rows == 0

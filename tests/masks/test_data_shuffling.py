"""Data shuffling: values stay, relations stay, and a row's own value says nothing more."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import DataShuffling
from masks.table_masking import changed  # type: ignore[import-not-found] # beside, not in a package

N = 4000


def copula(seed=0, n=N):
    """Return numbers of other distributions whose ranks are those of correlated normal ones."""
    cov = [[1, 0.8, 0.5, 0.3], [0.8, 1, 0.4, 0.3], [0.5, 0.4, 1, 0.2], [0.3, 0.3, 0.2, 1]]
    a, b, c, d = np.random.default_rng(seed).multivariate_normal(np.zeros(4), cov, n).T
    return pl.DataFrame(
        {"pay": np.exp(a), "debt": np.round(b**3, 2), "age": (40 + 9 * c).astype(int), "size": d}
    )


def spearman(table):
    """Return the correlations of ranks of all columns."""
    return np.array(stats.spearmanr(table.to_numpy()).statistic)


def own_relation(before, after, given):
    """Return the correlation of old and new ranks that the regressors don't explain."""
    ranks = [stats.rankdata(it) / len(it) for it in (before, after)]
    design = np.column_stack([np.ones(len(before)), *map(stats.rankdata, given)])
    rest = [it - design @ np.linalg.lstsq(design, it, rcond=None)[0] for it in ranks]
    return np.corrcoef(*rest)[0, 1]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    cells=st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=120, max_size=200),
    seed=st.integers(0, 1000),
)
def test_values_stay_exactly(cells, seed):
    """Whatever they are; missing cells stay missing."""
    if sum(it is not None for it in cells) < 40:
        return
    ages = np.random.default_rng(seed).integers(0, 90, len(cells))
    table = pl.DataFrame({"x": cells, "age": ages}, schema={"x": pl.Int64, "age": pl.Int64})

    found = changed(DataShuffling(columns=("x",), given=("age",)), table)

    assert found["x"].sort().equals(table["x"].sort())


def test_correlations_of_ranks_stay():
    """Between shuffled columns, and with those that are released; a random order fails."""
    table = copula()

    found = changed(DataShuffling(columns=("pay", "debt"), given=("age", "size")), table)

    expected = spearman(table)
    np.testing.assert_allclose(spearman(found), expected, atol=0.05)
    alone = table.with_columns(pl.col("pay").shuffle(seed=1))
    assert np.abs(spearman(alone) - expected).max() > 0.3


def test_a_row_s_own_value_says_nothing_that_the_regressors_do_not():
    """The partial correlation with the original is that of chance; swapping near ranks fails."""
    table = copula(1)
    given = [table["age"], table["size"]]

    found = changed(DataShuffling(columns=("pay",), given=("age", "size")), table)

    bound = 4 / np.sqrt(N)
    assert abs(own_relation(table["pay"], found["pay"], given)) < bound
    noisy = table["pay"].rank() + np.random.default_rng(0).normal(0, N, N)
    assert abs(own_relation(table["pay"], noisy, given)) > bound


def test_without_regressors_the_columns_keep_their_own_relations():
    """And have none with the original."""
    table = copula(2).select("pay", "debt")

    found = changed(DataShuffling(columns=("pay", "debt")), table)

    np.testing.assert_allclose(spearman(found), spearman(table), atol=0.05)
    for name in table.columns:
        assert abs(own_relation(table[name], found[name], [])) < 4 / np.sqrt(N)


def test_names_are_regressors_too():
    """The mean of each town stays, that of a missing town as well; and the order of dates."""
    rng = np.random.default_rng(3)
    towns = rng.integers(0, 4, N)
    pay = 100 * towns + rng.normal(0, 30, N)
    table = pl.DataFrame(
        {
            "pay": pay,
            "town": [["bree", "dale", None, "erebor"][i] for i in towns],
            "seen": [
                dt.date(2020, 1, 1) + dt.timedelta(days=int(it)) for it in rng.integers(0, 99, N)
            ],
        }
    )

    found = changed(DataShuffling(columns=("pay",), given=("town", "seen")), table)

    before, after = (
        it.group_by("town").agg(pl.col("pay").mean()).sort("town")["pay"].to_numpy()
        for it in (table, found)
    )
    np.testing.assert_allclose(after, before, atol=15)
    assert (found["pay"] != table["pay"]).mean() > 0.99


def test_columns_with_missing_cells_keep_their_relations():
    """Each column is fitted to its own cells, their rest to rows without a missing one."""
    table = copula(4).with_columns(
        pl.when(pl.int_range(pl.len()) % 5 > 0).then("pay").alias("pay"),
        pl.when(pl.int_range(pl.len()) % 7 > 0).then("age").alias("age"),
    )

    found = changed(DataShuffling(columns=("pay", "debt"), given=("age",)), table)

    both = [it.drop_nulls().select("pay", "debt", "age") for it in (found, table)]
    np.testing.assert_allclose(spearman(both[0]), spearman(both[1]), atol=0.06)


def test_draws_are_those_of_the_key():
    """The same twice, and others under another key."""
    table = copula(5, 300)
    mask = DataShuffling(columns=("pay",), given=("age",))

    first, again, other = (
        changed(mask, table, key=key) for key in (bytes(32), bytes(32), b"k" * 32)
    )

    assert first.equals(again)
    assert (first["pay"] != other["pay"]).mean() > 0.9


@pytest.mark.real_data
def test_tarragona_keeps_values_and_relations(shared_data):
    """Thirteen columns of 834 companies: three are confidential."""
    table = pl.read_csv(shared_data / "sdc/Tarragona.csv")
    names = ("SALES", "LABOR.COSTS", "NET.PROFIT")
    given = ("FIXED.ASSETS", "CURRENT.ASSETS", "PAID.UP.CAPITAL")

    found = changed(DataShuffling(columns=names, given=given), table)

    for name in names:
        assert found[name].sort().equals(table[name].sort())
        assert (found[name] != table[name]).mean() > 0.95
    some = [*names, *given]
    np.testing.assert_allclose(spearman(found[some]), spearman(table[some]), atol=0.12)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"columns": ()}, "no columns"),
    "both": ({"columns": ("x",), "given": ("x",)}, "both in 'columns' and in 'given'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_that_can_not_be_are_refused(fault):
    """By name."""
    parameters, said = FAULTS[fault]
    with pytest.raises(ParameterError, match=said):
        DataShuffling(**parameters)


def test_too_few_rows_and_too_many_values_are_refused():
    """A fit that repeats its rows would write each value back to its own row."""
    table = pl.DataFrame({"pay": range(39), "age": range(39), "name": [f"n{i}" for i in range(39)]})

    changed(DataShuffling(columns=("pay",), given=("age",)), table)
    with pytest.raises(DataError, match="40 coefficients and 39 rows"):
        changed(DataShuffling(columns=("pay",), given=("name",)), table)
    long = pl.DataFrame({"pay": range(2000), "name": [f"canary{i % 101}" for i in range(2000)]})
    with pytest.raises(DataError, match=r"'name' .* has 101 different values") as refused:
        changed(DataShuffling(columns=("pay",), given=("name",)), long)
    assert "canary" not in str(refused.value)


def test_columns_without_an_order_are_refused():
    """Texts have no ranks that say something; lists are several values."""
    with pytest.raises(SchemaError, match=r"'x'.*'data-shuffling'"):
        DataShuffling(columns=("x",)).written({"x": pl.String()})
    mask = DataShuffling(columns=("x",), given=("tags",))
    with pytest.raises(SchemaError, match=r"'tags' is in the 'given'"):
        mask.written({"x": pl.Int64(), "tags": pl.List(pl.String())})

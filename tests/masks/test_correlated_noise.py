"""Correlated noise has its covariance, keeps that of the columns, or is of outliers alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import CorrelatedNoise
from masks.table_masking import changed  # type: ignore[import-not-found] # beside, not in a package

N = 20_000
NAMES = ("age", "pay", "debt")


def people(seed=0, n=N):
    """Return three correlated columns of other scales."""
    cov = [[100, 700, -12], [700, 10_000, 10], [-12, 10, 9]]
    numbers = np.random.default_rng(seed).multivariate_normal([40, 3000, 5], cov, n)
    return pl.DataFrame(numbers, schema=list(NAMES))


def whitened(noise, covariance):
    """Return noise in principal components of a covariance, each of variance 1."""
    values, vectors = np.linalg.eigh(covariance)
    return noise @ vectors / np.sqrt(values)


def pvalues(components):
    """Return how probable components are by chance, were they standard normal."""
    return [stats.kstest(it, stats.norm.cdf).pvalue for it in components.T]


def test_noise_has_a_multiple_of_the_covariance():
    """In principal components it is standard normal; half and twice the noise fail."""
    table = people()
    mask = CorrelatedNoise(columns=NAMES, variance_ratio=0.25, decimals=6)

    noise = changed(mask, table).to_numpy() - table.to_numpy()

    covariance = 0.25 * np.cov(table.to_numpy().T)
    components = whitened(noise, covariance)
    assert min(pvalues(components)) > 0.001
    for wrong in (0.5, 2.0):
        assert max(pvalues(whitened(noise, wrong * covariance))) < 1e-6
    scales = np.sqrt(np.diag(covariance))
    independent = np.random.default_rng(5).normal(size=noise.shape) * scales
    assert min(pvalues(whitened(independent, covariance))) < 1e-6
    correlations = np.corrcoef(components.T, (table.to_numpy() - table.to_numpy().mean(axis=0)).T)
    assert np.abs(correlations[:3, 3:]).max() < 4 / np.sqrt(N)
    assert np.abs(np.corrcoef(components[1:].T, components[:-1].T)[:3, 3:]).max() < 4 / np.sqrt(N)


@pytest.mark.parametrize("keep", [False, True])
def test_means_and_correlations_stay_and_covariances_where_asked(keep):
    """Kim's transformation takes the added variance away again."""
    table = people(1)
    mask = CorrelatedNoise(columns=NAMES, variance_ratio=0.5, decimals=6, keep_covariance=keep)

    found = changed(mask, table).to_numpy()

    before = np.cov(table.to_numpy().T)
    after = np.cov(found.T)
    scale = np.sqrt(np.outer(np.diag(before), np.diag(before)))
    tolerance = 6 / np.sqrt(N)
    assert np.abs(found.mean(axis=0) - table.to_numpy().mean(axis=0)).max() < 3
    assert np.abs(after / (1.0 if keep else 1.5) - before).max() < tolerance * scale.max()
    np.testing.assert_allclose(
        np.corrcoef(found.T), np.corrcoef(table.to_numpy().T), atol=tolerance
    )
    assert np.abs((after / (1.5 if keep else 1.0) - before) / scale).max() > 0.2
    moved = np.abs(found - table.to_numpy()).mean(axis=0)
    assert (moved > 0.3 * table.to_numpy().std(axis=0)).all()


def test_only_outliers_get_noise():
    """By the median absolute deviation; all other cells are those of before."""
    table = people(2, 2000).with_columns(age=pl.col("age").round(0).cast(pl.Int64))
    mask = CorrelatedNoise(columns=NAMES, variance_ratio=0.5, decimals=0, outliers_beyond=2.0)

    found = changed(mask, table)

    for name in NAMES:
        cells = table[name].to_numpy().astype(float)
        middle = np.median(cells)
        sd = stats.median_abs_deviation(cells, scale="normal")
        outlier = np.abs(cells - middle) > 2 * sd
        assert 0 < outlier.sum() < 200
        differs = found[name].to_numpy() != cells
        assert not differs[~outlier].any()
        assert differs[outlier].mean() > 0.8
    assert found["age"].dtype == pl.Int64
    assert mask.weaknesses == ("nulls-visible", "outlier-visible", "values-between-bounds-kept")


def test_where_most_cells_are_equal_the_mean_deviation_decides():
    """Ninety zeros and ten others: the median deviation is 0."""
    cells = [0.0] * 90 + [1.0] * 9 + [50.0]
    table = pl.DataFrame({"x": cells, "y": list(range(100))})
    mask = CorrelatedNoise(columns=("x", "y"), variance_ratio=1.0, decimals=9, outliers_beyond=3.0)

    found = changed(mask, table)

    assert found["x"].to_list()[:99] == cells[:99]
    assert found["x"][99] != 50.0


def test_missing_cells_stay_and_whole_numbers_stay_whole():
    """Covariances are those of complete rows; noise is drawn by row and key."""
    table = pl.DataFrame({"x": [1, None, 3, 40] * 50, "y": [1.5, 2.5, None, 90.0] * 50})
    mask = CorrelatedNoise(columns=("x", "y"), variance_ratio=0.5, decimals=0)

    first, again, other = (
        changed(mask, table, key=key) for key in (bytes(32), bytes(32), b"k" * 32)
    )

    assert first.equals(again)
    assert not first.equals(other)
    assert first.schema == {"x": pl.Int64, "y": pl.Float64}
    assert all(it == round(it) for it in first["y"].drop_nulls())


def test_equal_numbers_get_no_noise():
    """A column without variance has none to add."""
    table = pl.DataFrame({"x": [7] * 100, "y": range(100)})
    mask = CorrelatedNoise(columns=("x", "y"), variance_ratio=1.0, decimals=0)

    assert changed(mask, table)["x"].to_list() == [7] * 100


@pytest.mark.real_data
def test_census_keeps_its_correlations(shared_data):
    """Columns that are sums of others: their covariance has no inverse."""
    table = pl.read_csv(shared_data / "sdc/CASCrefmicrodata.csv")
    names = tuple(table.columns)
    mask = CorrelatedNoise(columns=names, variance_ratio=0.1, decimals=0, keep_covariance=True)

    found = changed(mask, table)

    before, after = (np.corrcoef(it.to_numpy().T) for it in (table, found))
    assert np.abs(before - after).max() < 0.12
    assert found.schema == dict.fromkeys(names, pl.Int64)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "columns": ({"columns": ()}, "no columns"),
    "ratio": ({"variance_ratio": 0}, "variance_ratio"),
    "nan": ({"variance_ratio": float("nan")}, "variance_ratio"),
    "decimals": ({"decimals": 10}, "'decimals'"),
    "outliers": ({"outliers_beyond": -1.0}, "outliers_beyond"),
    "both": ({"outliers_beyond": 3.0, "keep_covariance": True}, "both 'keep_covariance' and"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_that_can_not_be_are_refused(fault):
    """By name."""
    given, said = FAULTS[fault]
    parameters: dict[str, Any] = {"columns": ("x",), "variance_ratio": 0.1, "decimals": 0} | given
    with pytest.raises(ParameterError, match=said):
        CorrelatedNoise(**parameters)


def test_columns_that_can_not_be_are_refused_without_a_cell():
    """Texts, too few complete rows, infinite numbers, and more digits than a float has."""
    mask = CorrelatedNoise(columns=("x", "y"), variance_ratio=0.1, decimals=9)
    with pytest.raises(SchemaError, match="'y'"):
        mask.written({"x": pl.Int64(), "y": pl.String()})
    for x, said in (
        ([1.0, None, None], "1 rows without"),
        ([1.0, float("inf"), 3.0], "'x' has infinite"),
        ([1e9, 2e9, 77777e9], "'x' has numbers that"),
    ):
        with pytest.raises(DataError, match=said) as refused:
            changed(mask, pl.DataFrame({"x": x, "y": [1.0, 2.0, 3.0]}))
        assert "77777" not in str(refused.value)

"""rotate_groups: groups of k rows keep what they have in common, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import GuaranteeNotMetError, ParameterError
from halfmask.synth import rotate_groups
from halfmask.synth._group_rotation import _rotation

NUMBERS = ("x", "y", "z")


def table(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": x,
            "y": 2 * x + rng.normal(size=n),
            "z": rng.normal(size=n),
            "c": rng.choice(list("abc"), n),
        }
    )


@pytest.mark.slow
@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_a_rotation_is_orthogonal_and_leaves_the_mean(size, seed):
    turned = _rotation(size, np.random.default_rng(seed))
    assert np.allclose(turned @ turned.T, np.eye(size))
    assert np.allclose(turned @ np.ones(size), np.ones(size))


@pytest.mark.slow
def test_rotations_are_uniform_whatever_is_turned_first():
    """Of three points, two that are exchanged turn into the same distribution of angles."""
    rng = np.random.default_rng(0)
    first = np.array([_rotation(3, rng) @ np.array([1.0, -1.0, 0.0]) for _ in range(4_000)])
    other = np.array([_rotation(3, rng) @ np.array([-1.0, 1.0, 0.0]) for _ in range(4_000)])
    assert np.allclose(first.mean(axis=0), 0, atol=0.05)
    assert np.allclose(np.cov(first.T), np.cov(other.T), atol=0.06)


def test_groups_have_k_rows_and_keep_means_covariances_and_categories():
    original = table()
    found = rotate_groups(original, k=7, numbers=NUMBERS, rng=np.random.default_rng(1))
    assert found.sizes.min() >= 7
    assert found.sizes.sum() == original.height == found.rows.height
    both = [
        (rows.select(NUMBERS).mean().row(0), np.cov(rows.select(NUMBERS).to_numpy().T).ravel())
        for rows in (original, found.rows)
    ]
    # Ends of the range are cut off, so the whole agrees nearly; most groups agree exactly.
    assert np.allclose(both[0][0], both[1][0], atol=0.02)
    assert np.allclose(both[0][1], both[1][1], atol=0.1)
    assert found.rows["c"].value_counts(sort=True).equals(original["c"].value_counts(sort=True))


def test_inside_of_the_range_every_group_keeps_its_mean():
    wide = pl.concat(
        [
            table(),
            pl.DataFrame({"x": [-90.0, 90], "y": [-90.0, 90], "z": [-90.0, 90], "c": ["a", "b"]}),
        ]
    )
    found = rotate_groups(wide, k=5, numbers=NUMBERS, rng=np.random.default_rng(1))
    again = rotate_groups(wide, k=5, numbers=NUMBERS, rng=np.random.default_rng(2))
    starts = np.cumsum(found.sizes) - found.sizes
    means = [
        np.add.reduceat(it.rows["x"].to_numpy(), starts) / found.sizes for it in (found, again)
    ]
    agree = np.isclose(means[0], means[1], atol=1e-6)
    assert agree.mean() > 0.95
    assert not np.allclose(found.rows["x"], again.rows["x"])


def test_no_number_is_that_of_a_person():
    original = table()
    found = rotate_groups(original, k=5, numbers=NUMBERS, rng=np.random.default_rng(1))
    inside = set(original["x"]) - {original["x"].min(), original["x"].max()}
    assert not inside & set(found.rows["x"])


def test_missing_cells_are_shuffled_within_groups():
    original = table().with_columns(y=pl.when(pl.col("c") == "a").then(None).otherwise(pl.col("y")))
    found = rotate_groups(original, k=5, numbers=NUMBERS, rng=np.random.default_rng(1))
    assert found.rows["y"].null_count() == original["y"].null_count()


def test_fewer_rows_than_k_and_k_of_one_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(GuaranteeNotMetError, match="Groups of 5"):
        rotate_groups(table(4), k=5, numbers=NUMBERS, rng=rng)
    with pytest.raises(ParameterError, match="'k'"):
        rotate_groups(table(4), k=1, numbers=NUMBERS, rng=rng)

"""Rounding: multiples, sums, bounds, and means; golden values with typed-in inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crosstabs._tables import cells_of

from halfmask import GuaranteeNotMetError
from halfmask.crosstabs._pattern import Knowledge
from halfmask.crosstabs._protections import SmallCounts, TableRounding
from halfmask.crosstabs._round import existence_interval, round_cells, round_small

KEY = bytes(range(32))
#: Each layer has two ones, and its sum stays 2: one of the two becomes 2. Any two of the four ones
#: share a layer, so just one of them becomes 2: then some layer has none.
ODD = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]


def known(cells):
    nobody = np.zeros(cells.n, dtype=bool)
    upper = np.full(cells.n, np.inf)
    return Knowledge(lower=np.zeros(cells.n), upper=upper, must_stay=nobody, must_hide=nobody)


def rounded(cells, base, way="controlled", *, steps=0, key=KEY):
    return round_cells(cells, known(cells), TableRounding(base=base, way=way, steps=steps), key=key)


@st.composite
def count_tables(draw, shapes=((1,), (4,), (3, 4), (2, 2, 3))):
    shape = draw(st.sampled_from(shapes))
    n = math.prod(shape)
    counts = draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    return cells_of(np.reshape(counts, shape), measure=None)


def test_handbook_table_is_rounded_to_an_additive_one():
    """Handbook on SDC, chapter 5: 1 0 | 3 3 | 12 20 with totals, base 5 (G11)."""
    cells = cells_of([[1, 0], [3, 3], [12, 20]], measure=None)
    assert cells.value.tolist() == [39, 16, 23, 1, 1, 0, 6, 3, 3, 32, 12, 20]
    found = rounded(cells, 5)
    assert not (cells.equations @ found).any()
    assert (np.abs(found - cells.value) < 5).all()
    assert (found % 5 == 0).all()
    assert found[cells.value == 0].tolist() == [0]
    assert found[cells.value == 20].tolist() == [20]


def test_existence_intervals_of_the_handbook():
    """Published a, base b, K further steps: [a - (K+1)b + 1, a + (K+1)b - 1], from 0 (G11)."""
    published = np.array([0.0, 5.0, 15.0])
    lower, upper = existence_interval(published, TableRounding(base=5))
    assert lower.tolist() == [0, 1, 11]
    assert upper.tolist() == [4, 9, 19]
    lower, upper = existence_interval(published, TableRounding(base=5, steps=1))
    assert (lower[2], upper[2]) == (6, 24)


@pytest.mark.parametrize("base", [2, 3, 4, 5, 10])
@pytest.mark.parametrize("way", ["conventional", "random", "controlled"])
def test_existence_intervals_are_exactly_what_is_rounded_to_a_value(base, way):
    cells = cells_of(np.arange(61), measure=None)
    settings_ = TableRounding(base=base, way=way)
    found = round_cells(cells, known(cells), settings_, key=KEY)[1:]
    lower, upper = existence_interval(found, settings_)
    true = cells.value[1:]
    assert ((lower <= true) & (true <= upper)).all()
    if way == "conventional":
        for each in np.unique(found)[:-1]:
            mine = true[found == each]
            at = np.flatnonzero(found == each)[0]
            assert (mine.min(), mine.max()) == (lower[at], upper[at])


def test_negative_sums_have_mirrored_intervals():
    values = np.arange(-30.0, 31.0)
    cells = cells_of(values)
    way = TableRounding(base=10, way="conventional")
    found = round_cells(cells, known(cells), way, key=KEY)[1:]
    assert (found == -found[::-1]).all()
    lower, upper = existence_interval(found, way, negative=True)
    assert ((lower <= values) & (values <= upper)).all()
    for each in (-20, -10, 0, 10, 20):
        mine, at = values[found == each], np.flatnonzero(found == each)[0]
        assert (mine.min(), mine.max()) == (lower[at], upper[at])


def test_ps_d_table_has_no_small_inner_count_left():
    """The table exPSD of SmallCountRounding, 3 x 5, base 5 (G11)."""
    columns = [[6, 1, 0], [0, 2, 1], [1, 3, 1], [3, 1, 0], [4, 2, 2]]
    cells = cells_of(np.transpose(columns), measure=None)
    found = round_small(cells, SmallCounts(base=5), key=KEY)
    assert not (cells.equations @ found).any()
    assert not ((found > 0) & (found < 5)).any()
    assert found[cells.value == 6].tolist()[-1] == 6
    assert np.abs(found - cells.value).max() <= 5


@settings(max_examples=40)
@given(count_tables(), st.sampled_from([2, 3, 5, 10, 1000]))
def test_small_counts_are_gone_and_sums_hold(cells, base):
    found = round_small(cells, SmallCounts(base=base), key=KEY)
    assert not ((found > 0) & (found < base)).any()
    assert not (cells.equations @ found).any()
    inner = ~np.isin(np.arange(cells.n), cells.equations.minimum(0).nonzero()[1])
    large = inner & ((cells.value >= base) | (cells.value == 0))
    assert (found[large] == cells.value[large]).all()
    assert (found == round_small(cells, SmallCounts(base=base), key=KEY)).all()


@settings(max_examples=30)
@given(count_tables(), st.sampled_from([2, 3, 5, 10, 1000]))
def test_controlled_rounding_is_additive_and_next_to_each_value(cells, base):
    found = rounded(cells, base)
    assert not (cells.equations @ found).any()
    assert (found % base == 0).all()
    assert (np.abs(found - cells.value) < base).all()
    assert (found >= 0).all()
    assert (found == rounded(cells, base)).all()


def test_controlled_rounding_has_the_least_distance():
    """Against all tables of a 2 x 3 one, by enumeration."""
    counts = np.array([[4, 7, 1], [2, 6, 9]])
    cells = cells_of(counts, measure=None)
    choices = np.stack(np.meshgrid(*[[x // 5 * 5, -(-x // 5) * 5] for x in counts.ravel()]))
    least = np.inf
    for choice in choices.reshape(6, -1).T:
        other = cells_of(choice.reshape(2, 3), measure=None).value
        if (np.abs(other - cells.value) < 5).all():
            least = min(least, np.abs(other - cells.value).sum())
    assert np.abs(rounded(cells, 5) - cells.value).sum() == least


def test_three_dimensions_are_rounded_without_an_integer_program():
    rng = np.random.default_rng(1)
    cells = cells_of(rng.poisson(6, size=(12, 12, 11)), measure=None)
    found = rounded(cells, 5)
    assert not (cells.equations @ found).any()
    assert (np.abs(found - cells.value) < 5).all()


def test_further_steps_are_taken_only_where_needed():
    plain = cells_of([[3, 4], [5, 6]], measure=None)
    assert (rounded(plain, 5, steps=2) == rounded(plain, 5)).all()
    cells = cells_of(ODD, measure=None)
    found = rounded(cells, 2, steps=1)
    assert not (cells.equations @ found).any()
    lower, upper = existence_interval(found, TableRounding(base=2, steps=1))
    assert ((lower <= cells.value) & (cells.value <= upper)).all()
    assert (found >= 0).all()


@pytest.mark.parametrize("way", ["conventional", "random", "controlled"])
def test_decimals_and_big_counts_are_exact(way):
    cells = cells_of([0.12, 0.34, 0.3])
    found = rounded(cells, 0.1, way)
    assert all(len(repr(each).partition(".")[2]) == 1 for each in found.tolist())
    assert found[3] == 0.3  # a multiple of the base stays
    big = cells_of([10**15 + 1, 10**15 + 7])
    found = rounded(big, 5, way)
    assert (found.astype(np.int64) % 5 == 0).all()
    assert (np.abs(found - big.value) < 5).all()


def test_conventional_rounding_is_half_away_from_zero():
    cells = cells_of([-15.0, -5.0, -4.0, 4.0, 5.0, 15.0])
    assert rounded(cells, 10, "conventional")[1:].tolist() == [-20, -10, 0, 0, 10, 20]


def test_random_rounding_has_the_true_mean():
    """Ups of 1,000 cells are binomial: 6.5 standard deviations are one in 10**10."""
    cells = cells_of(np.full(1000, 7))
    found = rounded(cells, 5, "random")[1:]
    assert set(found) == {5.0, 10.0}
    n_up = (found == 10).sum()
    assert abs(n_up - 400) < 6.5 * np.sqrt(1000 * 0.4 * 0.6)
    assert (found != rounded(cells, 5, "random", key=bytes(32))[1:]).any()


def test_random_rounding_draws_a_cell_once_for_all_tables():
    one = cells_of(np.arange(1, 41), measure=None)
    two = cells_of(np.stack([np.arange(1, 41) - 1, np.ones(40)], axis=1), measure=None)
    alone = rounded(one, 5, "random")
    both = rounded(two, 5, "random")
    is_total = two.codes[:, 1] == 0
    assert (both[is_total] == alone).all()


def test_random_rounding_draws_a_total_of_one_part_with_it():
    cells = cells_of(np.arange(1, 41).reshape(40, 1), measure=None)
    found = rounded(cells, 5, "random")
    assert (found[cells.codes[:, 1] == 0] == found[cells.codes[:, 1] == 1]).all()


@pytest.mark.parametrize("way", ["conventional", "random", "controlled"])
def test_a_base_above_all_values(way):
    cells = cells_of([[1, 2], [3, 0]], measure=None)
    assert set(rounded(cells, 1000, way)) <= {0.0, 1000.0}


def test_a_table_without_a_rounding_says_so():
    with pytest.raises(GuaranteeNotMetError, match=r"exists(.|\n)*steps = 1"):
        rounded(cells_of(ODD, measure=None), 2)

"""Lenders: what a guide says beside lent columns, against sums and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.training._lenders import CASES, Lenders, comparable_cases, together

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 3))
OTHERS = np.array([False, True, True])
LENDERS = Lenders(ROWS, OTHERS, 7)
EVERYONE = np.arange(len(ROWS))


def crossing(rows):
    """Where the second column is above 0 the first lifts, elsewhere it lowers."""
    return rows[:, 0] * np.sign(rows[:, 1])


def of_two(rows):
    share = 1 / (1 + np.exp(-crossing(rows)))
    return np.column_stack([1 - share, share])


def of_three(rows):
    share = of_two(rows) / 2
    return np.column_stack([share, np.full(len(rows), 0.5)])


def test_a_case_is_one_row_that_lends_all_others_its_columns():
    found = LENDERS.cases(crossing, EVERYONE)
    assert found.shape == (400, CASES, 1)
    first = ROWS[:, 0]
    signs = set()
    for case in found[:, :, 0].T:
        up, down = np.allclose(case, first), np.allclose(case, -first)
        assert up != down  # beside one row all go the same way
        signs.add(up)
    assert signs == {True, False}, "both ways are seen, which cancel on average"
    mean = LENDERS.mean(crossing, EVERYONE)[:, 0]
    assert mean.std() < 0.6 * first.std()


def test_all_places_have_the_same_lenders_and_nothing_else_of_the_rows_is_changed():
    before = ROWS.copy()
    whole, some = LENDERS.cases(crossing, EVERYONE), np.array([5, 0, 17])
    assert np.array_equal(LENDERS.cases(crossing, some), whole[some])
    assert np.array_equal(ROWS, before)
    seen = []

    def remembering(asked):
        seen.append(asked.copy())
        return asked[:, 0]

    LENDERS.cases(remembering, some)
    for rows in seen:
        assert np.array_equal(rows[:, 0], ROWS[some, 0])
        lent = rows[:, OTHERS]
        assert (lent == lent[0]).all()
        assert (ROWS[:, OTHERS] == lent[0]).all(axis=1).any(), "a row's, not a mixture"


def test_other_seeds_have_other_lenders():
    other = Lenders(ROWS, OTHERS, 8)
    assert not np.array_equal(other.cases(crossing, EVERYONE), LENDERS.cases(crossing, EVERYONE))


def test_of_two_shares_one_is_kept_and_of_more_all():
    two = comparable_cases(LENDERS.cases(of_two, EVERYONE))
    three = comparable_cases(LENDERS.cases(of_three, EVERYONE))
    assert two.shape == (400, CASES, 1)
    assert three.shape == (400, CASES, 3)
    assert np.allclose(three[:, :, 1], two[:, :, 0] / 2)

    def of_two_others(rows):
        return np.column_stack([crossing(rows), 1 - crossing(rows) ** 2])

    assert comparable_cases(LENDERS.cases(of_two_others, EVERYONE)).shape == (400, CASES, 2)

    def of_shares_beside_some(rows):  # their sum is 1 in some of the cases only
        share = np.full(len(rows), 0.25)
        return np.column_stack([share, np.where(rows[:, 1] > 0, 0.75, 0.5)])

    cases = LENDERS.cases(of_shares_beside_some, EVERYONE)
    assert set(np.unique(cases.sum(axis=2))) == {0.75, 1.0}
    assert comparable_cases(cases).shape == (400, CASES, 2)


@pytest.mark.parametrize(("outputs", "cases"), [(3, 8), (4, 8), (8, 4), (20, 2), (100, 2)])
def test_guides_of_many_outputs_have_fewer_cases(outputs, cases):
    def guide(rows):
        return np.repeat(crossing(rows)[:, None], outputs, axis=1)

    assert LENDERS.cases(guide, EVERYONE).shape == (400, cases, outputs)


def test_numbers_come_into_one_range_and_keep_what_one_case_weighs_beside_another():
    wide, narrow = np.linspace(-100, 100, 201), np.linspace(-1, 1, 201)
    found = comparable_cases(np.column_stack([wide, narrow])[:, :, None])
    assert found.min() == 0
    assert found.max() == 1
    assert np.ptp(found[:, 1]) < 0.02 * np.ptp(found[:, 0])
    assert (np.diff(found, axis=0) >= 0).all()
    shares = np.array([[0.2, 0.9], [0.4, 0.1]])[:, :, None]
    assert np.array_equal(comparable_cases(shares), shares)
    assert np.array_equal(comparable_cases(np.full((3, 2, 1), 5.0)), np.zeros((3, 2, 1)))


def test_numbers_whose_range_is_no_number_come_into_one_range():
    huge = np.array([-1.5e308, 0.0, 1.5e308])[:, None, None]
    assert comparable_cases(huge)[:, 0, 0] == pytest.approx([0.0, 0.5, 1.0])


def test_each_output_has_a_range_of_its_own_and_one_outlier_does_not_make_it():
    large = 1000 * RNG.normal(size=(400, CASES))
    small = RNG.normal(size=(400, CASES))
    large[0, 0] = 1e9
    found = comparable_cases(np.stack([large, small], axis=2))
    for output in (found[:, :, 0], found[:, :, 1]):
        assert 0.15 < output.std() < 0.35


def test_guides_together_have_as_many_cases_as_the_least_and_no_more_columns_than_one():
    two = RNG.random((5, 4, 1))
    same = RNG.random((5, 1, 2))
    found = together([two, same])
    assert found.shape == (5, 4, 3)
    assert np.array_equal(found[:, :, :1], two)
    for case in range(4):
        assert np.array_equal(found[:, case, 1:], same[:, 0])
    many = together([RNG.random((5, CASES, 1)), RNG.random((5, 1, 10))])
    assert many.shape == (5, 2, 11)
    assert together([RNG.random((5, 8, 2)), RNG.random((5, 4, 3))]).shape == (5, 4, 5)

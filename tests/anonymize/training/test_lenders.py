"""Lenders: what a guide says beside lent columns, against sums and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.anonymize.training._lenders import CASES, Lenders, in_one_range

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
    assert found.shape == (400, CASES)
    first = ROWS[:, 0]
    signs = set()
    for case in found.T:
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
    two, three = LENDERS.cases(of_two, EVERYONE), LENDERS.cases(of_three, EVERYONE)
    assert two.shape == (400, CASES)
    assert three.shape == (400, 3 * CASES)
    assert np.allclose(three[:, 1::3], two / 2)


@pytest.mark.parametrize(("outputs", "cases"), [(4, 8), (8, 4), (20, 2), (100, 2)])
def test_guides_of_many_outputs_have_fewer_cases(outputs, cases):
    def guide(rows):
        return np.repeat(crossing(rows)[:, None], outputs, axis=1)

    assert LENDERS.cases(guide, EVERYONE).shape == (400, outputs * cases)


def test_numbers_come_into_one_range_and_keep_what_one_case_weighs_beside_another():
    wide, narrow = np.linspace(-100, 100, 201), np.linspace(-1, 1, 201)
    found = in_one_range(np.column_stack([wide, narrow]))
    assert found.min() == 0
    assert found.max() == 1
    assert np.ptp(found[:, 1]) < 0.02 * np.ptp(found[:, 0])
    assert (np.diff(found, axis=0) >= 0).all()
    shares = np.array([[0.2, 0.9], [0.4, 0.1]])
    assert in_one_range(shares) is shares
    assert np.array_equal(in_one_range(np.full((3, 2), 5.0)), np.zeros((3, 2)))

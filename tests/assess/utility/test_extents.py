"""Cells say what they cover, and refuse what can't be a cell."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.utility import CellExtents, ColumnExtents, Members


def numeric(low, high, domain=(0, 100)):
    return ColumnExtents(
        low=np.array(low, dtype=float),
        high=np.array(high, dtype=float),
        domain_low=domain[0],
        domain_high=domain[1],
        categorical=False,
    )


@pytest.mark.parametrize(
    ("low", "high"), [([5.0], [4.0]), ([1.0], [101.0]), ([-1.0], [3.0]), ([1.0, 2.0], [3.0])]
)
def test_a_cell_that_cannot_be_is_refused(low, high):
    with pytest.raises(ParameterError):
        numeric(low, high)


def test_every_column_has_one_cell_a_class():
    with pytest.raises(ParameterError, match="'age'"):
        CellExtents(columns={"age": numeric([1], [2])}, sizes=np.array([1, 2]))


def test_taking_rows_repeats_their_class_with_its_set():
    column = ColumnExtents(
        low=np.array([0.0, 1.0]),
        high=np.array([3.0, 1.0]),
        domain_low=0,
        domain_high=3,
        categorical=True,
        members=Members(np.array([0, 2, 3]), np.array([0, 3, 1])),
    )

    taken = column.take(np.array([1, 0, 0]))

    assert taken.members is not None
    assert taken.members.codes.tolist() == [1, 0, 3, 0, 3]
    assert taken.members.offsets.tolist() == [0, 1, 3, 5]
    assert taken.low.tolist() == [1, 0, 0]
    assert taken.covered().tolist() == [1, 2, 2]


def test_codes_become_codes_or_numbers_and_minus_one_is_missing():
    low, high = np.array([0, -1, 2]), np.array([1, -1, 2])

    numbers = ColumnExtents.of_codes(low, high, n_values=3, numbers=np.array([5.0, 7.0, 20.0]))
    codes = ColumnExtents.of_codes(low, high, n_values=3, numbers=None)

    np.testing.assert_array_equal(numbers.high, [7.0, np.nan, 20.0])
    assert (numbers.domain_low, numbers.domain_high, numbers.categorical) == (5.0, 20.0, False)
    np.testing.assert_array_equal(codes.low, [0.0, np.nan, 2.0])
    assert (codes.n_leaves, codes.categorical) == (3, True)
    assert codes.covered().tolist() == [2, 0, 1]


def test_a_column_of_missing_cells_only_has_no_domain():
    column = ColumnExtents.of_codes(np.array([-1]), np.array([-1]), n_values=0, numbers=None)

    assert column.covered().tolist() == [0]

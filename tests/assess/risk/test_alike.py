"""What every counted risk is made of."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.risk import Alike


def test_rows_and_shares_are_counted(alike):
    assert alike.n_rows == 10
    assert alike.guess_in_population == 1 / 20
    assert alike.share_of_rows(np.array([True, False, True, False])) == 0.3
    # 1/1 + 2 * 1/2 + 2 * 1/2 + 5 * 1/5 = 4 rows of 10.
    assert alike.mean_chance(alike.sample) == 0.4


def test_without_a_population_there_is_no_guess_in_it(alone):
    assert alone.guess_in_population is None


def test_everybody_known_adds_up_to_one_exactly():
    ones = np.ones(49, dtype=np.int64)

    assert Alike(rows=ones, sample=ones).mean_chance(ones) == 1.0


@pytest.mark.parametrize("rows", [[], [0], [2, 0]])
def test_no_rows_have_no_risk(rows):
    sizes = np.array(rows, dtype=np.int64)

    with pytest.raises(ParameterError, match="no rows to judge"):
        Alike(rows=sizes, sample=sizes)


def test_sizes_must_fit_the_classes():
    with pytest.raises(ParameterError, match=r"one size for each of the 2 classes\. Got 3"):
        Alike(rows=np.array([1, 2]), sample=np.array([1, 2, 3]))


def test_a_population_holds_the_table():
    sizes = np.array([3, 2, 2])

    with pytest.raises(DataError, match="fewer rows than the table in 2 classes"):
        Alike(rows=sizes, sample=sizes, population=np.array([3, 1, 1]))

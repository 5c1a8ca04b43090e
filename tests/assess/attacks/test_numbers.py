"""Numbers of callers' code: as many as were asked for, none missing, and probabilities as such."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import DataError
from halfmask.assess.attacks._answers import numbers_of, probabilities_of


def numbers(given, shape, **more):
    return numbers_of(np.asarray(given, float), shape, who="It", what="answers", **more)


def test_one_column_is_as_good_as_none():
    assert numbers([[1], [2]], (2,)).tolist() == [1, 2]
    assert numbers([1, 2], (2,)).tolist() == [1, 2]
    assert numbers([[1, 2]], (1, 2)).tolist() == [[1, 2]]
    assert numbers(np.zeros((0, 1)), (0,)).shape == (0,)


@pytest.mark.parametrize("given", [[1.0], [[1.0, 2.0], [3.0, 4.0]], 1.0, [[[1.0]], [[2.0]]]])
def test_another_number_of_numbers_is_told(given):
    with pytest.raises(DataError, match=r"It must give answers of shape \(2,\). Got \("):
        numbers(given, (2,))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_missing_or_infinite_is_counted(wrong):
    with pytest.raises(DataError, match="It gave NaN or infinite answers for 1 rows"):
        numbers([0.5, wrong], (2,))
    with pytest.raises(DataError, match="for 2 buckets"):
        numbers([[wrong, wrong], [0, wrong], [0, 0]], (3, 2), of="buckets")


def test_probabilities_of_one_class_and_of_several():
    assert probabilities_of(np.array([0.0, 1.0]), (2,), who="It").tolist() == [0, 1]
    rows = np.array([[0.25, 0.75]])
    assert probabilities_of(rows, (1, 2), who="It") is rows


@pytest.mark.parametrize(
    ("case", "n"),
    [
        ([-0.5, 0.5, 1.5], 2),
        ([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]], 2),
    ],
)
def test_what_are_no_probabilities_is_counted(case, n):
    given = np.array(case)
    with pytest.raises(DataError, match=f"It gave what are no probabilities for {n} rows") as e:
        probabilities_of(given, given.shape, who="It")
    assert ("add up to 1" in str(e.value)) == (given.ndim > 1)

"""Discernibility and average class size, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.assess.utility import class_size_utility


def test_by_hand():
    """Classes of 2, 3 and 5 rows and 2 suppressed of 12: 4 + 9 + 25 + 2 * 12 = 62."""
    utility = class_size_utility(np.array([2, 3, 5]), suppressed=2, k=2)

    assert utility.discernibility == 62
    assert utility.average_class_size == pytest.approx(10 / 3)
    assert utility.normalized_average_class_size == pytest.approx(10 / 3 / 2)
    assert utility.suppressed_fraction == pytest.approx(2 / 12)


@given(sizes=st.lists(st.integers(1, 6), max_size=6), suppressed=st.integers(0, 4))
def test_discernibility_counts_pairs_that_look_alike(sizes, suppressed):
    """The definition read literally: each row pays for every row that looks like it."""
    rows = [name for name, size in enumerate(sizes) for _ in range(size)] + [None] * suppressed
    pays = sum(
        1 for one in rows for other in rows if one is None or (other is not None and one == other)
    )

    got = class_size_utility(np.array(sizes, dtype=np.int64), suppressed=suppressed, k=1)

    assert got.discernibility == pays


def test_ten_billion_rows_in_one_class_do_not_overflow():
    utility = class_size_utility(np.array([10**10]), suppressed=0, k=1)

    assert utility.discernibility == 10**20


def test_nothing_left_is_all_suppressed():
    utility = class_size_utility(np.zeros(0, dtype=np.int64), suppressed=3, k=5)

    assert (utility.suppressed_fraction, utility.average_class_size) == (1.0, 0.0)
    assert utility.discernibility == 9


@pytest.mark.parametrize(
    ("sizes", "suppressed", "k"), [([0], 0, 1), ([1], -1, 1), ([1], 0, 0), ([1], 0, 1.5)]
)
def test_what_cannot_be_is_refused(sizes, suppressed, k):
    with pytest.raises(ParameterError):
        class_size_utility(np.array(sizes), suppressed=suppressed, k=k)


def test_sentences_say_the_numbers():
    utility = class_size_utility(np.array([2, 3, 5]), suppressed=2, k=2)

    assert "like 5 rows" in utility.discernibility_sentence
    assert "3.3 rows" in utility.average_class_size_sentence
    assert "2 of 12 rows" in utility.suppressed_sentence
    assert utility.to_dict()["discernibility"] == 62

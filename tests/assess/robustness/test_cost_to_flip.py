"""Costs to flip: what is said of them, and that certified costs above found ones are refused."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.robustness import CostToFlip

INF, NAN = np.inf, np.nan


def _costs(certified, found, exact=None, most=0.5):
    n = len(found)
    return CostToFlip(
        certified=np.array(certified, dtype=float),
        found=np.array(found, dtype=float),
        exact=np.array(exact or [False] * n),
        changed=np.array([[True, it < 1] for it in found]).reshape(n, 2),
        columns=("age", "pay"),
        most=most,
        flipped=pl.DataFrame({"row": range(n)}),
    )


def test_shares_medians_and_columns():
    costs = _costs([0.1, NAN, 0.6, 0.7], [0.1, 0.5, 1.5, INF], [True, False, False, False])
    assert (costs.rows, costs.share_flipped, costs.share_proven, costs.exact_rows) == (
        4,
        0.5,
        0.5,
        1,
    )
    assert (costs.median, costs.certified_median) == (0.5, 0.1)
    assert costs.shares_changed == {"age": 1.0, "pay": 1.0}
    assert costs.sentence == (
        "A change that costs at most 0.5 flips 50 % of 4 rows. The median cost to flip is between "
        "0.1 and 0.5. 50 % provably don't flip within the budget. The changes are mostly of age "
        "and pay."
    )
    few = costs.of(np.array([False, False, True, True]))
    assert (few.rows, few.share_flipped, few.median) == (2, 0, 1.5)
    assert few.flipped is not None
    assert few.flipped["row"].to_list() == [2, 3]
    assert few.shares_changed == {"age": 0, "pay": 0}


def test_a_row_is_proven_only_above_the_budget():
    assert _costs([0.5, 0.51], [0.5, 0.51], [True, True]).share_proven == 0.5


def test_what_sums_round_is_within_the_budget():
    over = 3 * 0.1  # a little above 0.3
    costs = _costs([over, over, 0.31], [over, over, 0.31], [True] * 3, most=0.3)
    assert over > 0.3
    assert (costs.share_flipped, costs.share_proven) == (2 / 3, 1 / 3)
    assert costs.shares_changed == {"age": 1.0, "pay": 1.0}


def test_exact_costs_are_said_as_one_number():
    costs = _costs([0.25, 0.5], [0.25, 0.5], [True, True])
    assert "The median cost to flip is 0.25." in costs.sentence


def test_where_most_rows_do_not_flip_the_median_is_not_known():
    costs = _costs([NAN, NAN, NAN], [0.1, INF, INF])
    assert costs.median is None
    assert "isn't known" in costs.sentence
    assert "is at most 0.1." in _costs([NAN, NAN, NAN], [0.1, 0.1, INF]).sentence
    assert json.loads(json.dumps(costs.to_dict()))["median"] is None


def test_no_rows():
    costs = _costs([], [])
    assert (costs.share_flipped, costs.share_proven, costs.median) == (0, 0, None)
    assert costs.sentence


def test_a_certified_cost_above_a_found_one_is_refused():
    with pytest.raises(DataError, match="above the found one in 1 row"):
        _costs([0.2, 0.3], [0.2, 0.2])
    with pytest.raises(ParameterError):
        _costs([0.2], [0.2, 0.2])


def test_rows_and_cells_are_not_shown():
    assert repr(_costs([0.1], [0.2])) == "CostToFlip(columns=('age', 'pay'), most=0.5)"

"""Raw rows and released cells become features by one encoding."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ColumnNotFoundError
from halfmask.assess.utility import (
    CellExtents,
    ColumnExtents,
    Members,
    feature_plan,
    features_of_cells,
)


def column(low, high, domain, *, categorical, members=None):
    return ColumnExtents(
        low=np.array(low, dtype=float),
        high=np.array(high, dtype=float),
        domain_low=domain[0],
        domain_high=domain[1],
        categorical=categorical,
        members=members,
    )


def cells(**columns):
    n_cells = len(next(iter(columns.values())))
    return CellExtents(columns=columns, sizes=np.ones(n_cells, dtype=np.int64))


def test_a_number_is_the_middle_of_its_range_and_a_set_is_shared_out():
    raw = cells(
        age=column([10, 20], [10, 20], (10, 20), categorical=False),
        city=column([0, 3], [0, 3], (0, 3), categorical=True),
    )
    released = cells(
        age=column([10, np.nan], [20, np.nan], (10, 20), categorical=False),
        city=column([1, np.nan], [2, np.nan], (0, 3), categorical=True),
    )
    plan = feature_plan(raw)

    assert features_of_cells(raw, plan).tolist() == [[10, 1, 0, 0, 0], [20, 0, 0, 0, 1]]
    first, second = features_of_cells(released, plan)
    assert first.tolist() == [15, 0, 0.5, 0.5, 0]
    assert np.isnan(second[0])
    assert second[1:].tolist() == [0, 0, 0, 0]


def test_a_set_with_gaps_gives_nothing_to_what_it_leaves_out():
    gaps = column(
        [0], [2], (0, 2), categorical=True, members=Members(np.array([0, 2]), np.array([0, 2]))
    )
    plan = feature_plan(cells(city=column([0], [0], (0, 2), categorical=True)))

    assert features_of_cells(cells(city=gaps), plan).tolist() == [[0.5, 0, 0.5]]


@pytest.mark.parametrize("explicit", [True, False])
def test_rare_categories_share_a_feature(explicit):
    """Codes 0 to 4 of which 3 and 1 are frequent: the others fall into the last feature."""
    raw = cells(city=column([3, 3, 3, 1, 1, 0, 2, 4], [3, 3, 3, 1, 1, 0, 2, 4], (0, 4),
                            categorical=True))  # fmt: skip
    plan = feature_plan(raw, max_categories=2)
    members = Members(np.array([0, 4]), np.arange(4)) if explicit else None
    wide = cells(city=column([0], [3], (0, 4), categorical=True, members=members))

    assert plan.n_features == 3
    assert features_of_cells(wide, plan).tolist() == [[0.25, 0.25, 0.5]]


def test_codes_may_begin_anywhere():
    raw = cells(city=column([7, 9], [7, 9], (7, 9), categorical=True))

    assert features_of_cells(raw, feature_plan(raw)).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_rows_are_their_class_repeated():
    released = cells(age=column([0, 10], [4, 10], (0, 10), categorical=False))
    plan = feature_plan(released)
    rows = np.array([1, 0, 1])

    by_row = features_of_cells(released.take(rows), plan)

    assert by_row.tolist() == features_of_cells(released, plan)[rows].tolist()


def test_columns_stand_beside_each_other():
    one = cells(age=column([0], [4], (0, 10), categorical=False))
    two = cells(pay=column([5], [5], (0, 10), categorical=False))
    both = one.merged(two)

    assert features_of_cells(both, feature_plan(both)).tolist() == [[2, 5]]


def test_a_column_that_is_missing_is_named():
    plan = feature_plan(cells(age=column([0], [4], (0, 10), categorical=False)))

    with pytest.raises(ColumnNotFoundError, match="'age'"):
        features_of_cells(cells(pay=column([5], [5], (0, 10), categorical=False)), plan)

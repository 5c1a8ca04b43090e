"""Top and bottom coding of ordered categories."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import OrdinalTailCoding
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package

ORDER = ("none", "primary", "secondary", "tertiary", "doctor")


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.sampled_from(ORDER), max_size=20),
    bounds=st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(
        lambda it: it[0] < it[1] and it != (0, 4)
    ),
    dtype=st.sampled_from([pl.String(), pl.Enum(ORDER), pl.Categorical()]),
)
def test_nothing_lies_beyond_a_bound_and_the_rest_stays(cells, bounds, dtype):
    """By places in the order; categories with an order of their own need none."""
    low, high = bounds
    order = None if isinstance(dtype, pl.Enum) else ORDER
    mask = OrdinalTailCoding(low=ORDER[low], high=ORDER[high], order=order)

    found = masked(mask, pl.Series("school", cells, dtype=dtype))

    assert found.dtype == (dtype if isinstance(dtype, pl.Enum) else pl.String())
    assert found.to_list() == [
        None if it is None else ORDER[min(max(ORDER.index(it), low), high)] for it in cells
    ]


def test_one_bound_is_enough():
    """The other end stays."""
    column = pl.Series("school", [*ORDER, None])

    top = masked(OrdinalTailCoding(high="secondary", order=ORDER), column)
    bottom = masked(OrdinalTailCoding(low="secondary", order=ORDER), column)

    assert top.to_list() == ["none", "primary", "secondary", "secondary", "secondary", None]
    assert bottom.to_list() == ["secondary", "secondary", "secondary", "tertiary", "doctor", None]


def test_cells_that_the_order_lacks_are_refused_without_a_value():
    """How many, of which column."""
    with pytest.raises(DataError, match="'school' has 2 cells") as refused:
        masked(
            OrdinalTailCoding(high="primary", order=ORDER),
            pl.Series("school", ["canary", "canary", "none", None]),
        )
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("dtype", "order"),
    [(pl.Int64(), ORDER), (pl.String(), None), (pl.Enum(ORDER), ORDER), (pl.Boolean(), None)],
)
def test_other_columns_are_refused(dtype, order):
    """Without an order, or with two."""
    with pytest.raises(SchemaError, match="'school'") as refused:
        OrdinalTailCoding(high="primary", order=order).written("school", dtype)
    if order is not None:  # a hint to give what was given leads nowhere
        assert "Give the mask an 'order'" not in str(refused.value)


FAULTS: dict[str, dict[str, Any]] = {
    "no bound": {"order": ORDER},
    "unknown": {"low": "canary", "order": ORDER},
    "twice": {"low": "primary", "order": ("none", "primary", "primary")},
    "crossed": {"low": "doctor", "high": "none", "order": ORDER},
    "meeting": {"low": "primary", "high": "primary", "order": ORDER},
    "the ends": {"low": "none", "high": "doctor", "order": ORDER},
    "the end": {"high": "doctor", "order": ORDER},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_that_can_not_be_are_refused(fault):
    """By name, without a category."""
    with pytest.raises(ParameterError, match="'ordinal-tails'") as refused:
        OrdinalTailCoding(**FAULTS[fault])
    assert "canary" not in str(refused.value)


def test_a_bound_that_the_column_lacks_is_refused():
    """Of categories with an order of their own."""
    with pytest.raises(ParameterError, match="'high' of the mask"):
        OrdinalTailCoding(high="canary").written("school", pl.Enum(ORDER))

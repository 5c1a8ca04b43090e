"""Top and bottom coding: exact bounds, and shares that hold."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.masks import TailCoding, ValueCounts
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package

whole = st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1, max_size=30)


@given(cells=whole, bounds=st.tuples(st.integers(-100, 100), st.integers(1, 100)))
def test_nothing_lies_beyond_a_bound_and_the_rest_stays(cells, bounds):
    """Top and bottom coding is the clip of the definition."""
    low, high = bounds[0], bounds[0] + bounds[1]

    found = masked(TailCoding(low=low, high=high), pl.Series("n", cells, dtype=pl.Int64))

    assert found.to_list() == [None if it is None else min(max(it, low), high) for it in cells]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([-(2**63), 2**53 + 1, 2**63 - 1, None], pl.Int64),
        ([0, 2**53 + 1, 2**64 - 1], pl.UInt64),
        ([Decimal("-0.01"), Decimal("9007199254740993.37"), Decimal("1e20")], pl.Decimal(30, 2)),
    ],
    ids=["whole", "unsigned", "decimal"],
)
def test_numbers_that_no_float_holds_are_compared_exactly(cells, dtype):
    """Cells between the bounds keep their last digit."""
    low, high = 0, 2**60

    found = masked(TailCoding(low=low, high=high), pl.Series("pay", cells, dtype=dtype))

    assert found.to_list() == [None if it is None else min(max(it, low), high) for it in cells]


def test_bounds_of_decimals_are_those_that_are_written():
    """0.1 is a tenth, and has a place of its own where the column has none."""
    column = pl.Series("pay", [Decimal(0), Decimal(1)], dtype=pl.Decimal(10, 0))

    found = masked(TailCoding(low=0.1, high=0.35), column)

    assert found.to_list() == [Decimal("0.1"), Decimal("0.35")]


@given(
    cells=st.lists(
        st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1
    ),
    high=st.floats(width=32, allow_nan=False, allow_infinity=False) | st.just(0.1),
)
@example(cells=[0.10000000149011612, 3.0], high=2.5)
def test_a_column_of_single_precision_stays_one_if_it_holds_the_bounds(cells, high):
    """Cells between the bounds have the digits that they had: 0.1, not 0.10000000149011612."""
    column = pl.Series("pay", cells, dtype=pl.Float32)

    found = masked(TailCoding(high=high), column)

    assert found.dtype == (pl.Float64 if high == 0.1 else pl.Float32)
    assert found.to_list() == [None if it is None else min(it, high) for it in cells]


@pytest.mark.parametrize("high", [1e300, 0.1, 2**24 + 1])
def test_a_bound_that_single_precision_does_not_hold_makes_it_double(high):
    column = pl.Series("pay", [0.5, 1.0, None, 3e38], dtype=pl.Float32)
    found = masked(TailCoding(high=high), column)
    assert found.dtype == pl.Float64
    assert found.to_list() == [None if it is None else min(it, high) for it in column]


def test_a_bound_by_share_is_exact():
    """Of five decimals a fifth may be beyond each bound."""
    cells = [Decimal(it) for it in ("1.01", "10000000000000000.02", "10000000000000000.03", "4e16")]
    column = pl.Series("pay", [*cells, Decimal("5e16")], dtype=pl.Decimal(30, 2))

    found = masked(
        TailCoding(low_share=0.2, high_share=0.2), column, ValueCounts.of(column)
    ).to_list()

    assert found == [cells[1], cells[1], cells[2], cells[3], cells[3]]


def test_whole_numbers_between_bounds_with_places_are_floats_or_refused():
    """Beyond a bound any size will do; between bounds a float must hold it."""
    mask = TailCoding(high=0.5)

    assert masked(mask, pl.Series("n", [-3, 2**62])).to_list() == [-3.0, 0.5]
    with pytest.raises(DataError, match="beyond 2\\*\\*53"):
        masked(mask, pl.Series("n", [-(2**53) - 1]))


@pytest.mark.slow
@given(
    cells=st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    shares=st.tuples(*2 * [st.none() | st.decimals("0.01", "0.5", places=3).map(float)]),
)
@example(cells=list(range(100)), shares=(0.29, 0.29))  # 29: in binary 28.999999999999996
def test_no_more_than_the_share_is_in_a_tail(cells, shares):
    """And no bound further in would do: the next number has more than the share beyond it."""
    low, high = shares
    if (low is None and high is None) or (low or 0) + (high or 0) >= 1:
        return
    column = pl.Series("n", cells, dtype=pl.Int64)

    found = masked(
        TailCoding(low_share=low, high_share=high), column, ValueCounts.of(column)
    ).to_list()

    n, bottom, top = len(cells), min(found), max(found)
    low, high = (None if it is None else Fraction(str(it)) for it in shares)
    if high is not None:
        assert sum(it > top for it in cells) <= high * n
        assert top == min(cells) or sum(it >= top for it in cells) > high * n
    else:
        assert top == max(cells)
    if low is not None:
        assert sum(it < bottom for it in cells) <= low * n
        assert bottom == max(cells) or sum(it <= bottom for it in cells) > low * n
    else:
        assert bottom == min(cells)


def test_bounds_by_share_that_cross_the_given_one_are_refused():
    """The names of columns, not their values."""
    column = pl.Series("n", [1, 2, 3, 40])
    with pytest.raises(DataError, match="bounds of the mask 'tails' cross in column 'n'"):
        masked(TailCoding(low=41, high_share=0.4), column, ValueCounts.of(column))


def test_halves_of_both_sides_are_refused():
    """Of 1 and 2 a half lies below 2 and a half above 1: the bounds would cross."""
    with pytest.raises(ParameterError, match="below 1 together"):
        TailCoding(low_share=0.5, high_share=0.5)


@pytest.mark.parametrize(
    "make",
    [
        TailCoding,
        lambda: TailCoding(low=3, high=3),
        lambda: TailCoding(low=3, low_share=0.1),
        lambda: TailCoding(high_share=0.6),
        lambda: TailCoding(high=float("inf")),
        lambda: TailCoding(high=2**53 + 1),
    ],
)
def test_parameters_that_can_not_be_are_refused(make):
    """By name."""
    with pytest.raises(ParameterError):
        make()

"""Rounding writes the nearest multiple, exactly, or refuses."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import RandomNoise, Rounding, TailCoding
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package

whole = st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1, max_size=30)


@given(cells=whole, base=st.integers(1, 10_000))
def test_rounding_is_the_nearest_multiple_and_even_in_the_middle(cells, base):
    """By exact fractions; missing stays missing, whole stays whole."""
    found = masked(Rounding(base=base), pl.Series("n", cells, dtype=pl.Int64))

    assert found.dtype == pl.Int64
    for cell, got in zip(cells, found, strict=True):
        assert got == (None if cell is None else round(Fraction(cell, base)) * base)


@given(
    cells=st.lists(st.none() | st.integers(-(10**20), 10**20), min_size=1, max_size=20),
    base=st.sampled_from([0.05, 0.125, 0.5, 7.0, 1000.0]),
)
def test_decimals_are_rounded_exactly(cells, base):
    """Money of 20 digits: by exact fractions; a float would lose the last ones."""
    amounts = [None if it is None else Decimal(it).scaleb(-2) for it in cells]

    found = masked(Rounding(base=base), pl.Series("pay", amounts, dtype=pl.Decimal(30, 2)))

    exact = Fraction(str(base))
    for amount, got in zip(amounts, found, strict=True):
        if amount is None:
            assert got is None
        else:
            assert Fraction(got) == round(Fraction(amount) / exact) * exact


def test_multiples_have_the_digits_of_the_base():
    """3 * 0.1 is 0.3, and no sign is left of a small negative number."""
    found = masked(Rounding(base=0.1), pl.Series("x", [0.31, -0.04, None, 12.349]))

    assert found.to_list() == [0.3, 0.0, None, 12.3]
    assert str(found[1]) == "0.0"


def test_floats_that_can_not_tell_multiples_apart_are_refused():
    """Too many bases."""
    with pytest.raises(DataError, match="larger base"):
        masked(Rounding(base=1e-9), pl.Series("n", [1e9]))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("pay", [2**63 - 1]),
        pl.Series("pay", [2**64 - 1], dtype=pl.UInt64),
        pl.Series("pay", [Decimal(10**36)], dtype=pl.Decimal(38, 0)),
    ],
    ids=["rounded up", "unsigned", "decimal"],
)
def test_numbers_of_too_many_digits_are_refused_without_a_value(column):
    """What is written has 64 bits, or 38 digits."""
    with pytest.raises(DataError, match="'pay' has numbers of too many digits") as refused:
        masked(Rounding(base=1000 if column.dtype.is_integer() else 0.05), column)
    assert str(column[0]) not in str(refused.value)


def test_decimals_may_not_have_too_many_places():
    """A base of more digits than decimals have here."""
    with pytest.raises(SchemaError, match="'pay' and its mask 'round' have 20 digits behind"):
        Rounding(base=1e-20).written("pay", pl.Decimal(10, 2))


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1, max_size=30),
    digits=st.integers(1, 15),
)
def test_whole_numbers_keep_their_leading_digits(cells, digits):
    """By exact integers; missing stays missing, whole stays whole."""
    found = masked(Rounding(digits=digits), pl.Series("n", cells, dtype=pl.Int64))

    assert found.dtype == pl.Int64
    for cell, got in zip(cells, found, strict=True):
        if cell is None:
            assert got is None
        else:
            unit = 10 ** max(0, len(str(abs(cell))) - digits)
            assert got == round(Fraction(cell, unit)) * unit


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.integers(-(10**25), 10**25), min_size=1, max_size=20),
    digits=st.integers(1, 15),
)
def test_decimals_keep_their_leading_digits(cells, digits):
    """Money, by Python's decimals."""
    amounts = [None if it is None else Decimal(it).scaleb(-2) for it in cells]

    found = masked(Rounding(digits=digits), pl.Series("pay", amounts, dtype=pl.Decimal(30, 2)))

    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    assert found.to_list() == [None if it is None else context.plus(it) for it in amounts]


@given(
    cells=st.lists(st.none() | st.floats(-9e307, 9e307, allow_nan=False), min_size=1, max_size=30),
    digits=st.integers(1, 15),
)
def test_floats_keep_their_leading_digits(cells, digits):
    """What is written has so many digits, and lies within half of the last one."""
    found = masked(Rounding(digits=digits), pl.Series("x", cells, dtype=pl.Float64))

    for cell, got in zip(cells, found, strict=True):
        if cell is None:
            assert got is None
            continue
        assert got == float(f"{got:.{digits - 1}e}")
        exact = Decimal(cell)
        half = Decimal(5).scaleb(exact.adjusted() - digits) if cell else Decimal(0)
        assert abs(Decimal(got) - exact) <= half * (1 + Decimal("1e-12"))
        assert math.copysign(1, got) == math.copysign(1, cell or 0.0)


def test_digits_of_floats_are_those_that_are_written():
    """Half-way in decimals is even, and no rest of a multiplication is left."""
    found = masked(
        Rounding(digits=2), pl.Series("x", [0.125, 0.135, 123456.0, 1e-30, 0.0, 9.99e22, 1.15e-5])
    )

    assert found.to_list() == [0.12, 0.14, 120000.0, 1e-30, 0.0, 1e23, 1.2e-5]


def test_a_float_that_would_be_rounded_to_infinity_is_refused():
    """Without its digits."""
    with pytest.raises(DataError, match="'x' has numbers that its mask 'round' would") as refused:
        masked(Rounding(digits=1), pl.Series("x", [1.7e308]))
    assert "1.7" not in str(refused.value)


@pytest.mark.parametrize(
    "make",
    [
        Rounding,
        lambda: Rounding(base=10, digits=2),
        lambda: Rounding(digits=0),
        lambda: Rounding(digits=16),
        lambda: Rounding(digits=True),
        lambda: Rounding(digits=1.5),  # type: ignore[arg-type] # not whole
        lambda: Rounding(base=0),
        lambda: Rounding(base=float("nan")),
        lambda: Rounding(base=True),
        lambda: Rounding(base="5"),  # type: ignore[arg-type] # not a number
        lambda: TailCoding(high=True),
        lambda: TailCoding(low="5"),  # type: ignore[arg-type] # as above
        lambda: RandomNoise(law="uniform", scale=True, decimals=0),
    ],
)
def test_parameters_that_can_not_be_are_refused(make):
    """By name."""
    with pytest.raises(ParameterError):
        make()

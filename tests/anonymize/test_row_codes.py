"""A sensitive column's values by their places in an order."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import HierarchyError
from halfmask.anonymize._summary import SensitiveCodes

ORDER = ("low", "middle", "high")


@pytest.mark.parametrize("dtype", [pl.String(), pl.Categorical()])
def test_values_are_coded_by_the_order_however_they_are_kept(dtype):
    series = pl.Series("pay", ["high", "low", "high"], dtype=dtype)

    codes = SensitiveCodes.of(series, order=ORDER, missing=False)

    assert codes.codes.tolist() == [2, 0, 2]
    assert (codes.name, codes.n_values, codes.order) == ("pay", 3, ORDER)


def test_missing_is_the_last_value():
    codes = SensitiveCodes.of(pl.Series("pay", ["low", None]), order=ORDER, missing=True)

    assert (codes.codes.tolist(), codes.n_values) == ([0, 3], 4)


def test_another_batch_is_coded_alike():
    codes = SensitiveCodes.of(pl.Series("pay", ["low", None]), order=ORDER, missing=True)

    assert codes.of_batch(pl.Series("pay", ["middle", "middle", None])).tolist() == [1, 1, 3]


def test_numbers_are_found_as_a_hierarchy_spells_them():
    """A column of whole numbers with gaps arrives as floats from many libraries."""
    codes = SensitiveCodes.of(pl.Series("n", [10.0, 9.0]), order=("9", "10"), missing=False)

    assert codes.codes.tolist() == [1, 0]


def test_a_value_that_the_order_lacks_is_counted_and_not_named():
    with pytest.raises(HierarchyError, match="lacks 1 value of the column") as error:
        SensitiveCodes.of(pl.Series("pay", ["low", "CANARY"]), order=ORDER, missing=False)
    assert "CANARY" not in str(error.value)


def test_no_value_is_in_the_repr():
    codes = SensitiveCodes.of(pl.Series("pay", ["low"]), order=ORDER, missing=False)

    assert repr(codes) == "SensitiveCodes('pay', 3 values)"

"""Which cells are equal, and in which order values are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.guarantees import DistinctLDiversity, measure
from halfmask.verifier.tables.part import dictionaries, is_judgeable, sensitive_values


def coded(cells, kind="categorical", dtype=None):
    """Return the number of each cell's value, and what is known of the values."""
    frame = pl.LazyFrame({"x": pl.Series(cells, dtype=dtype, strict=False)})
    (known,) = dictionaries(frame, dict(frame.collect_schema())).values()
    values = sensitive_values(known, kind=kind)
    codes = frame.select(known.codes()).collect().to_series().to_numpy()
    return values.value_of_code[codes].tolist(), values


@pytest.mark.parametrize(
    ("cells", "kind", "dtype"),
    [
        ([10, 9, -1], "numeric", pl.Int64()),
        ([10.5, 9.0, -0.5], "numeric", pl.Float64()),
        ([Decimal("10.5"), Decimal(9), Decimal("-0.5")], "numeric", pl.Decimal(10, 2)),
        (["10", "9", "-1"], "numeric", pl.String()),
        ([dt.date(2021, 1, 1), dt.date(2020, 1, 1), dt.date(1969, 1, 1)], "datetime", pl.Date()),
        (["2021-01-01", "2020-01-01", "1969-01-01"], "datetime", pl.String()),
    ],
)
def test_numbers_and_times_are_in_their_order(cells, kind, dtype):
    """As texts, "-1", "10" and "9" would be in another."""
    numbers, values = coded(cells, kind, dtype)

    assert numbers == [2, 1, 0]
    assert (values.in_order, values.is_scale) == (True, True)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["b", "a"], "ordinal"), (["10", "x"], "numeric"), (["2020-01-01", "2020"], "datetime")],
)
def test_other_texts_have_no_order(cells, kind):
    _, values = coded(cells, kind)

    assert not values.in_order


def test_texts_that_are_one_number_are_one_sensitive_value():
    numbers, values = coded(["1", "1.0", "2"], "numeric")

    assert (numbers, values.n_values) == ([0, 0, 1], 2)


CELLS = st.none() | st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan, -math.nan, math.inf])


@pytest.mark.slow
@given(st.lists(CELLS, min_size=1, max_size=8))
def test_what_counts_as_one_value_is_one_rule(cells):
    """`measure` and the verifier, each on its own; Python counts what is equal or missing."""
    different = {None if cell is None or math.isnan(cell) else cell for cell in cells}
    table = pl.DataFrame({"x": cells}, schema={"x": pl.Float64})

    _, values = coded(cells, "numeric", pl.Float64())
    (judged,) = measure(
        table, quasi_identifiers=[], guarantees=[DistinctLDiversity(l=2, column="x")]
    )

    assert values.n_values == judged.achieved == len(different)


def test_minus_zero_is_another_cell_and_the_same_sensitive_value():
    frame = pl.LazyFrame({"x": [0.0, -0.0]})
    known = dictionaries(frame, {"x": pl.Float64()})["x"]

    assert known.n_codes == 3
    assert coded([0.0, -0.0], "numeric")[0] == [0, 0]


def test_missing_is_the_last_value():
    numbers, values = coded([2, None, 1], "numeric")

    assert (numbers, values.n_values, values.has_missing) == ([1, 2, 0], 3, True)


@pytest.mark.parametrize(
    ("cells", "dtype", "labels"),
    [
        ([39.0, 0.5], pl.Float64(), ("0.5", "39")),
        ([dt.date(2020, 1, 2)], pl.Date(), ("2020-01-02",)),
        ([True, False], pl.Boolean(), ("false", "true")),
        ([7], pl.Int8(), ("7",)),
    ],
)
def test_values_are_called_as_hierarchies_spell_them(cells, dtype, labels):
    assert coded(cells, "ordinal", dtype)[1].labels == labels


def test_lists_and_structs_cannot_be_judged():
    assert is_judgeable(pl.String())
    assert not is_judgeable(pl.List(pl.Int64()))
    assert not is_judgeable(pl.Struct({"a": pl.Int64()}))

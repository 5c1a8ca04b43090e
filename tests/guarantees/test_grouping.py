from __future__ import annotations

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, HierarchyError, ParameterError
from halfmask.guarantees import class_of_row, value_codes

CELLS = {
    "text": st.none() | st.sampled_from(["", "a", "b", "ä"]),
    "whole": st.none() | st.integers(-2, 2) | st.sampled_from([2**40, -(2**62)]),
    "real": st.none() | st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf]),
    "truth": st.none() | st.booleans(),
    "day": st.none() | st.sampled_from([dt.date(2020, 2, 29), dt.date(1999, 1, 1)]),
}
DTYPES = {
    "text": pl.String,
    "whole": pl.Int64,
    "real": pl.Float64,
    "truth": pl.Boolean,
    "day": pl.Date,
}


def same(left: object, right: object) -> bool:
    """Say whether two cells are one value: NaN is a missing cell, and the two zeros are one."""
    nothing = [it is None or it != it for it in (left, right)]  # noqa: PLR0124 # NaN alone is so
    return all(nothing) or (left == right and not any(nothing))


@pytest.mark.slow
@given(rows=st.lists(st.tuples(*CELLS.values()), max_size=25), columns=st.data())
def test_rows_share_a_class_exactly_when_all_their_cells_are_equal(rows, columns):
    frame = pl.DataFrame(rows, schema=DTYPES, orient="row")
    chosen = columns.draw(st.lists(st.sampled_from(list(DTYPES)), unique=True))
    places = [list(DTYPES).index(name) for name in chosen]

    codes, n_classes = class_of_row(frame, quasi_identifiers=chosen)

    assert sorted(set(codes.tolist())) == list(range(n_classes))
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            alike = all(same(left[place], right[place]) for place in places)
            assert (codes[i] == codes[j]) == alike


def test_keys_stay_exact_when_the_product_of_the_columns_leaves_64_bits():
    """Five columns of 2^16 values: in 64 bits the first would be shifted out of the key."""
    n = 2**16
    numbers = np.append(np.arange(n), 0)
    frame = pl.DataFrame({f"c{i}": numbers for i in range(5)})
    frame[n, "c0"] = 1

    for names in (frame.columns, frame.columns[::-1]):
        codes, n_classes = class_of_row(frame, quasi_identifiers=names)

        assert n_classes == n + 1
        assert codes[0] != codes[n]


def test_categories_are_grouped_by_their_text_and_not_by_their_number():
    first = pl.Series("c", ["x", "y", "x"], dtype=pl.Categorical)
    enum = pl.Series("e", ["b", "a", None], dtype=pl.Enum(["b", "a", "unused"]))

    codes, n_classes = class_of_row(pl.DataFrame([first, enum]), quasi_identifiers=["c", "e"])

    assert (len(set(codes.tolist())), n_classes) == (3, 3)
    assert value_codes(first)[0].tolist() == [0, 1, 0]
    assert value_codes(enum)[0].tolist() == [0, 1, 3]
    assert value_codes(enum)[1] == 4


def test_without_quasi_identifiers_all_rows_are_of_one_class():
    codes, n_classes = class_of_row(pl.DataFrame({"a": [1, 2]}), quasi_identifiers=[])

    assert (codes.tolist(), n_classes) == ([0, 0], 1)


def test_a_table_without_rows_has_no_classes():
    codes, n_classes = class_of_row(pl.DataFrame({"a": []}), quasi_identifiers=["a"])

    assert (codes.tolist(), n_classes) == ([], 0)


def test_a_misspelt_column_is_named_with_the_nearest_one():
    with pytest.raises(ColumnNotFoundError, match=r"'age' for 'ages'"):
        class_of_row(pl.DataFrame({"age": [1]}), quasi_identifiers=["ages"])


@pytest.mark.parametrize("cells", [[[1], [2]], [{"x": 1}], [object()], [b"x"]])
def test_cells_that_are_no_plain_values_are_refused(cells):
    frame = pl.DataFrame({"odd": cells})

    with pytest.raises(DataError, match="'odd'"):
        class_of_row(frame, quasi_identifiers=["odd"])
    with pytest.raises(DataError, match="'odd'"):
        value_codes(frame["odd"])


@pytest.mark.slow
@given(st.lists(CELLS["whole"], max_size=20))
def test_numbers_are_coded_by_size_and_missing_comes_last(cells):
    codes, n_values = value_codes(pl.Series("n", cells, dtype=pl.Int64))

    ranked = sorted({cell for cell in cells if cell is not None})
    expected = [len(ranked) if cell is None else ranked.index(cell) for cell in cells]
    assert codes.tolist() == expected
    assert n_values == len(ranked) + (None in cells)


def test_a_given_order_counts_values_that_do_not_occur_and_spells_numbers_as_text():
    codes, n_values = value_codes(pl.Series("n", [2.0, None, 10.0]), order=["10", "5", "2"])

    assert (codes.tolist(), n_values) == ([2, 3, 0], 4)
    assert value_codes(pl.Series([2, 10]), order=[10, 5, 2])[0].tolist() == [2, 0]


def test_an_order_that_lacks_a_value_is_refused_without_naming_it():
    with pytest.raises(HierarchyError, match=r"'illness'.*2 rows") as error:
        value_codes(pl.Series("illness", ["canary", "flu", "canary"]), order=["flu"])

    assert "canary" not in str(error.value)


def test_an_order_that_names_a_value_twice_is_refused_without_naming_it():
    with pytest.raises(ParameterError, match="twice") as error:
        value_codes(pl.Series("illness", ["flu"]), order=["flu", "flu"])

    assert "flu" not in str(error.value)

"""Cells made what the caller says of them, and none lost on the way."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.data._casts import Coerced, as_declared, check_declared, mark_missing
from halfmask.data._declarations import Declaration


def test_marked_texts_are_missing_and_numbers_are_not():
    frame = pl.DataFrame({"a": ["?", "x", None, " ?"], "n": [1, 2, 3, 4]})

    found = mark_missing(frame, ("?", "1"))

    assert found["a"].to_list() == [None, "x", None, " ?"]
    assert found["n"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize("markers", [None, ()])
def test_without_markers_nothing_changes(markers):
    frame = pl.DataFrame({"a": ["", "x"]})

    assert mark_missing(frame, markers) is frame


def test_a_declared_type_is_taken_by_every_cell():
    frame = pl.DataFrame({"a": ["007", None], "b": [1.0, 2.0], "c": ["x", "y"]})

    said = Declaration(dtype=pl.Int64())
    found = as_declared(frame, {"a": said, "b": said, "gone": said}, Coerced(()))

    assert found.schema == {"a": pl.Int64(), "b": pl.Int64(), "c": pl.String()}
    assert found["a"].to_list() == [7, None]


@pytest.mark.parametrize(
    ("cells", "dtype", "lost"),
    [
        (["1", "CANARY", "2.5"], pl.Int64(), 2),
        ([1.5, 2.0, -0.5], pl.Int64(), 2),
        ([300, 1], pl.UInt8(), 1),
        (["2020-02-30"], pl.Date(), 1),
    ],
)
def test_a_cell_that_does_not_fit_is_counted_and_not_named(cells, dtype, lost):
    frame = pl.DataFrame({"age": cells})

    with pytest.raises(SchemaError, match=f"'age' is declared to be .* and {lost} of") as error:
        as_declared(frame, {"age": Declaration(dtype=dtype)}, Coerced(()))
    assert "CANARY" not in str(error.value)


def test_a_type_for_a_column_that_is_not_there_is_refused():
    check_declared({"age": "integer"}, ["age", "sex"])
    with pytest.raises(ColumnNotFoundError, match="'age' for 'agee'"):
        check_declared({"agee": "integer"}, ["age", "sex"])

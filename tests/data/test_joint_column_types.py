"""Whether files are parts of one table."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import SchemaError
from halfmask.data._column_types import joint_dtypes, same_columns

INT, TEXT, NOTHING = pl.Int64(), pl.String(), pl.Null()


def test_columns_may_come_in_any_order():
    same_columns(["b", "a"], ["a", "b"], what="File 2")


def test_other_columns_are_counted_and_not_named():
    with pytest.raises(SchemaError, match=r"File 2 lacks 1 columns .* has 2 that") as error:
        same_columns(["a", "CANARY", "d"], ["a", "b"], what="File 2")
    assert "CANARY" not in str(error.value)


@pytest.mark.parametrize(
    ("first", "second", "joint"),
    [(INT, INT, INT), (NOTHING, INT, INT), (INT, NOTHING, INT), (NOTHING, NOTHING, NOTHING)],
)
def test_an_empty_column_has_the_type_of_the_other_file(first, second, joint):
    found = joint_dtypes({"a": second}, {"a": first}, declared={}, what="File 2")

    assert found == {"a": joint}


def test_two_types_are_refused_unless_one_is_declared():
    with pytest.raises(SchemaError, match=r"'a' is String in file 2 and Int64 before"):
        joint_dtypes({"a": TEXT}, {"a": INT}, declared={}, what="File 2")

    assert joint_dtypes({"a": TEXT}, {"a": INT}, declared={"a": TEXT}, what="File 2") == {"a": INT}


def test_ordered_categories_are_counted_and_not_named():
    first, second = pl.Enum(["CANARY"]), pl.Enum(["CANARY", "x"])

    with pytest.raises(SchemaError, match=r"'a' is Enum of 2 in file 2 and Enum of 1 before"):
        joint_dtypes({"a": second}, {"a": first}, declared={}, what="File 2")

"""Keys on the command line: what is quoted is read as it was, and nothing else is guessed."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.cli._budget import Declarations
from halfmask.cli._failures import UsageError

KEY = st.text(st.sampled_from("ab ,\"=;'\\\n\t名é"), max_size=6)
COLUMN = st.sampled_from(["town", "a=b", "x,y", "=", "a b"])


@given(column=COLUMN, keys=st.lists(KEY, min_size=1, max_size=4, unique=True))
def test_keys_that_are_quoted_are_read_as_they_were(column, keys):
    written = ",".join('"' + key.replace('"', '""') + '"' for key in keys)
    declared = Declarations(keys=[f"{column}={written}"])
    assert declared.declared_keys({column: pl.String()}) == {column: keys}


@given(text=st.text(st.sampled_from('ab ,"='), min_size=1, max_size=8))
def test_keys_that_are_not_quoted_have_neither_commas_nor_marks_nor_outer_blanks(text):
    try:
        found = Declarations(keys=[f"town={text}"]).declared_keys({"town": pl.String()})["town"]
    except UsageError:
        return
    if '"' not in text:
        assert found == [key.strip(" ") for key in text.split(",")]
        assert all(found)


@pytest.mark.parametrize(
    ("dtype", "text", "keys"),
    [(pl.Int64(), "1, 2 ,-3", [1, 2, -3]), (pl.Boolean(), "true,false", [True, False])],
)
def test_keys_are_values_of_their_column(dtype, text, keys):
    assert Declarations(keys=[f"c={text}"]).declared_keys({"c": dtype}) == {"c": keys}

"""No column may be called what selects other columns."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask import SchemaError
from halfmask.data import open_table


@pytest.mark.parametrize("name", ["*", "^name$", "^.*$"])
def test_a_column_called_as_a_pattern_is_refused(name, tmp_path):
    """Asked for by its name, it would come with the columns that it matches, dropped ones too."""
    frame = pl.DataFrame({"name": ["CANARY"], name: ["x"]})
    frame.write_csv(tmp_path / "table.csv")
    frame.write_parquet(tmp_path / "table.parquet")

    for table in (frame, frame.to_arrow(), tmp_path / "table.csv", tmp_path / "table.parquet"):
        with pytest.raises(SchemaError, match="number 2 of 2"):
            open_table(table)


@pytest.mark.parametrize("name", ["\0cell", "a\0"])
def test_a_column_whose_name_holds_nul_is_refused(name):
    """Our own columns begin with it, and Arrow ends a name there."""
    with pytest.raises(SchemaError, match="number 2 of 2"):
        open_table(pl.DataFrame({"a": ["x"], name: ["x"]}))


@pytest.mark.parametrize("name", ["^name", "name$", "a*", "**", "$^"])
def test_others_are_columns_like_any(name):
    frame = pl.DataFrame({"name": ["a"], name: ["x"]})

    assert open_table(frame).read(columns=[name]).to_dict(as_series=False) == {name: ["x"]}

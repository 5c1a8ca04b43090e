"""Tables that nobody wants to synthesize: each kind gives a right result or a named error."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import halfmask
from halfmask import DataError, HalfmaskError, Policy, SchemaError

KEY = bytes(32)
KINDS = {
    "full": 'kind = "full"',
    "partial": 'kind = "partial"\ncolumns = ["b"]',
    "blend": 'kind = "hybrid"\noriginal_share = 0.4',
    "groups": 'kind = "hybrid"\nk = 2',
}


def policy(kind: str, *, numeric: str = "numeric", more: str = "") -> Policy:
    return Policy.from_toml(
        f'halfmask = 1\n[columns.a]\nrole = "quasi_identifier"\nkind = "{numeric}"\n'
        f'[columns.b]\nrole = "sensitive"\nkind = "categorical"\n[synthesis]\n{kind}\n{more}'
    )


def written(table: pl.DataFrame, wanted: Policy, folder: object) -> pl.DataFrame:
    release = halfmask.synthesize(table, wanted, key=KEY).write(f"{folder}/out")
    found = halfmask.verify(f"{folder}/out", originals=table if "full" in str(wanted) else None)
    assert found.holds or not found.is_broken
    rows: pl.DataFrame = release.data
    return rows


@pytest.mark.parametrize("kind", ["full", "partial", "blend"])
def test_one_row(tmp_path, kind):
    """A cell is drawn from five rows: the row of the one person was the release."""
    table = pl.DataFrame({"a": [7], "b": ["x"]})
    with pytest.raises(DataError, match="a cell is drawn from 5 at least"):
        written(table, policy(KINDS[kind]), tmp_path)
    rows = written(pl.concat([table] * 5), policy(KINDS[kind]), tmp_path)
    assert rows.rows() == [(7, "x")] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_column(tmp_path, kind):
    table = pl.DataFrame({"a": [i % 7 for i in range(100)], "b": ["x"] * 100})
    rows = written(table, policy(KINDS[kind]), tmp_path)
    assert set(rows["b"]) == {"x"}
    assert rows.height >= 90


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.Date])
def test_a_column_that_is_all_missing(tmp_path, kind, dtype):
    table = pl.DataFrame({"a": pl.Series([None] * 100, dtype=dtype), "b": ["x", "y"] * 50})
    numeric = "datetime" if dtype == pl.Date else "numeric"
    rows = written(table, policy(KINDS[kind], numeric=numeric), tmp_path)
    assert rows["a"].null_count() == rows.height
    assert rows.schema["a"] == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_a_category_for_each_row_is_refused_without_naming_one(kind):
    table = pl.DataFrame({"a": range(100), "b": [f"canary-{i}" for i in range(100)]})
    with pytest.raises(SchemaError, match="'b' has 100 of 100 rows") as raised:
        halfmask.synthesize(table, policy(KINDS[kind]), key=KEY)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_lists_are_refused(kind):
    table = pl.DataFrame({"a": [1, 2] * 20, "b": [["canary"], ["x"]] * 20})
    with pytest.raises(SchemaError, match="'b'") as raised:
        halfmask.synthesize(table, policy(KINDS[kind]), key=KEY)
    assert "canary" not in str(raised.value)


def test_rules_that_no_row_keeps():
    table = pl.DataFrame({"a": [2] * 50, "b": ["x", "y"] * 25, "c": [1] * 50})
    columns = '[columns.c]\nrole = "insensitive"\nkind = "numeric"\n'
    text = policy(KINDS["full"]).to_toml()
    rule = 'rules = [{ rule = "at-most", low = "a", high = "c" }]\n'
    wanted = Policy.from_toml(text.replace("[synthesis]\n", columns + "[synthesis]\n" + rule))
    with pytest.raises(DataError, match="50 of 50 rows break the rule"):
        halfmask.synthesize(table, wanted, key=KEY)


@pytest.mark.parametrize("kind", KINDS)
def test_times_and_truths_and_nan(tmp_path, kind):
    moments = [dt.datetime(2024, 1, 1 + i % 28, 12, tzinfo=dt.UTC) for i in range(100)]
    table = pl.DataFrame({"a": moments, "b": [True, False, None, True] * 25})
    rows = written(table, policy(KINDS[kind], numeric="datetime"), tmp_path)
    assert rows.schema == table.schema
    nan = pl.DataFrame({"a": [1.5, float("nan")] * 50, "b": ["x"] * 100})
    drawn = halfmask.synthesize(nan, policy(KINDS[kind]), key=KEY).data
    assert not drawn["a"].is_nan().any()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_rows_for_groups_are_an_error_of_ours(n):
    table = pl.DataFrame({"a": list(range(n)), "b": ["x"] * n}, schema={"a": pl.Int64, "b": str})
    try:
        halfmask.synthesize(table, policy(KINDS["groups"]), key=KEY)
    except HalfmaskError:
        assert n < 2

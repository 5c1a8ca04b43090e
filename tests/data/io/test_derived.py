"""Columns made of others while a table is read."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table, write_table
from halfmask.engines import LocalEngine, map_table

TABLE = pl.DataFrame(
    {
        "age": [41, 17, 33, 58],
        "x": [1.25, 2.5, None, 9.0],
        "sex": ["f", "m", "f", "m"],
        "y": [5.0, 6.5, None, 7.0],
    }
)
TILES = ["1|5", "2|6", None, "9|7"]


class Tile:
    """Whole kilometres of two numbers, as a text."""

    reads = replaces = ("x", "y")
    dtype = pl.String()

    def derive(self, frame: pl.DataFrame) -> pl.Series:
        whole = frame.select(pl.col("x", "y").cast(float).floor().cast(int).cast(str))
        return whole.select(pl.concat_str("x", "y", separator="|")).to_series()


OPTIONS = ReadOptions(derived={"home": Tile()})


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "jsonl", "frame"])
def test_stands_where_its_first_column_stood_in_every_format(tmp_path: Path, form: str) -> None:
    where: object = TABLE
    if form != "frame":
        where = tmp_path / f"table.{form}"
        write_table(TABLE, where, format=form)  # type: ignore[arg-type] # one of them
    source = open_table(where, options=OPTIONS)
    assert source.columns == ("age", "home", "sex")
    assert source.dtypes["home"] == pl.String
    assert source.read()["home"].to_list() == TILES
    batches = [batch.to_series().to_list() for batch in source.batches(3, columns=["home"])]
    assert batches == [TILES[:3], TILES[3:]]
    assert source.without(["home"]).columns == ("age", "sex")


def test_raw_columns_are_read_as_declared(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("x;y;age\n1,25;5,0;41\n2,5;6,5;17\n", encoding="utf-8")
    options = ReadOptions(number_formats={"x": "1234,5", "y": "1234,5"}, derived={"home": Tile()})
    assert open_table(file, options=options).read().rows() == [("1|5", 41), ("2|6", 17)]


def test_options_of_some_columns_keep_what_is_read_for_them() -> None:
    options = ReadOptions(
        dtypes={"x": "float", "y": "float", "age": "string"},
        coerce=("x",),
        derived={"home": Tile(), "work": Tile()},
    )
    some = options.of(["home"])
    assert (set(some.dtypes), some.coerce, list(some.derived)) == ({"x", "y"}, ("x",), ["home"])
    assert not options.of(["sex"]).dtypes


def test_two_of_the_same_columns() -> None:
    source = open_table(TABLE, options=ReadOptions(derived={"home": Tile(), "work": Tile()}))
    assert source.columns == ("age", "home", "work", "sex")


class Initial:
    """The first letter of a text, in its place."""

    reads = replaces = ("sex",)
    dtype = pl.String()

    def derive(self, frame: pl.DataFrame) -> pl.Series:
        return frame["sex"] + "!"


def test_an_opened_table_is_given_it_once() -> None:
    options = ReadOptions(derived={"home": Tile(), "sex": Initial()})
    opened = open_table(open_table(TABLE), options=options)
    again = open_table(opened.without(["age"]), options=options)
    assert opened.columns == ("age", "home", "sex")
    assert again.read().equals(opened.read().drop("age"))
    assert again.read()["sex"].to_list() == ["f!", "m!", "f!", "m!"]


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        (TABLE.drop("y"), ColumnNotFoundError, "'y'"),
        (TABLE.rename({"age": "home"}), SchemaError, "'home' is made of others"),
        (TABLE.select("age", pl.lit("a").alias("home")), ColumnNotFoundError, "'x'"),
    ],
)
def test_what_it_needs_is_missing_or_its_name_is_taken(
    table: pl.DataFrame, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        open_table(table, options=OPTIONS)


def test_an_opened_table_that_has_both_is_refused() -> None:
    with pytest.raises(SchemaError, match="'home' is made of others"):
        open_table(open_table(TABLE.rename({"age": "home"})), options=OPTIONS)


def test_options_take_no_other_thing() -> None:
    with pytest.raises(ParameterError, match="derived"):
        ReadOptions(derived={"home": "x"})  # type: ignore[dict-item] # what is tested


def _tiles(_number: int, batch: pl.DataFrame) -> list[str | None]:
    return batch["home"].to_list()


def test_parts_of_a_table_have_it_too(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    TABLE.write_parquet(file, row_group_size=2)
    source = open_table(file, options=OPTIONS)
    found = [each for part in map_table(LocalEngine(), source, ["home"], _tiles) for each in part]
    assert found == TILES
    part = pickle.loads(pickle.dumps(source.part(range(1, 4))))  # noqa: S301 # our own
    assert part.read()["home"].to_list() == TILES[1:]

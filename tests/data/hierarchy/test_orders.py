"""The order of categories: from the type of a column, or from its labels."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask._errors import SchemaError
from halfmask.data import has_order, natural_order, open_table, orders_of

SIZES = ("S", "M", "L", "XL")
CELLS = ["L", "S", None, "M"]


def as_polars():
    return pl.DataFrame(
        {"size": CELLS, "x": [1, 2, 3, 4]}, schema_overrides={"size": pl.Enum(SIZES)}
    )


def as_pandas():
    sizes = pd.Categorical(CELLS, categories=list(SIZES), ordered=True)
    return pd.DataFrame({"size": sizes, "x": [1, 2, 3, 4]})


def as_arrow():
    return pa.Table.from_pandas(as_pandas())


@pytest.mark.parametrize("frame", [as_polars, as_pandas, as_arrow])
def test_an_ordered_type_says_the_order(frame):
    assert orders_of(frame()) == {"size": SIZES}
    assert open_table(frame()).orders == {"size": SIZES}
    assert open_table(frame()).without(["size"]).orders == {}


def test_types_without_order_say_none():
    unordered = pd.DataFrame({"size": pd.Categorical(CELLS)})

    assert orders_of(unordered) == {}
    assert orders_of(pa.Table.from_pandas(unordered)) == {}
    assert orders_of(pl.DataFrame({"size": CELLS}, schema={"size": pl.Categorical})) == {}
    assert orders_of({"size": CELLS}) == {}


@pytest.mark.parametrize("library", [lambda it: it, pa.Table.from_pandas])
def test_numbers_have_the_order_of_numbers_or_are_refused(library):
    def frame(*order):
        return library(
            pd.DataFrame({"x": pd.Categorical([1, 3, 2], categories=order, ordered=True)})
        )

    assert orders_of(frame(1, 2, 3)) == {}
    assert open_table(frame(1, 2, 3)).read()["x"].to_list() == [1, 3, 2]
    with pytest.raises(SchemaError, match="'x' has ordered categories that are no texts"):
        open_table(frame(3, 1, 2))


@pytest.mark.parametrize("written", ["polars", "pandas"])
def test_a_file_keeps_the_order(tmp_path, written):
    if written == "polars":
        as_polars().write_parquet(tmp_path / "t.parquet")
        as_polars().write_ipc(tmp_path / "t.arrow")
    else:
        pq.write_table(as_arrow(), tmp_path / "t.parquet", row_group_size=2)
        with pa.ipc.new_file(tmp_path / "t.arrow", as_arrow().schema) as file:
            file.write_table(as_arrow())

    for name in ("t.parquet", "t.arrow"):
        assert open_table(str(tmp_path / name)).orders == {"size": SIZES}


def test_files_of_different_orders_have_none(tmp_path):
    as_pandas().to_parquet(tmp_path / "1.parquet")
    turned = as_pandas()
    turned["size"] = turned["size"].cat.reorder_categories(list(SIZES[::-1]))
    turned.to_parquet(tmp_path / "2.parquet")

    assert open_table(str(tmp_path)).orders == {}


@pytest.mark.parametrize(
    "labels",
    [
        ["<5", "5-9", "10-14", "100+"],
        ["under 18", "18-24", "25 to 34", "65 and over"],
        ["0-9 years", "10-19 years", "20-99 years", "100+ years"],
        ["[0, 5)", "[5, 10)", "[10, 15)", ">=15"],
        ["1st-4th", "5th-6th", "7th-8th", "10th"],
        ["-10 to -5", "-5 to 0", "0 to 5", "5 to 10"],
        ["$0-9k", "$10-19k", "$100-199k", "$1000k+"],
        ["<500", "500-999", "1,000-4,999", "5,000+"],
        ["up to 10'000", "10'001-50'000", "more than 50'000"],
        ["(0,100]", "(100,200]", "(200,1e+03]", "(1e+03,2e+03]"],
        ["0k-9k", "10k-99k", "100k-499k", "500k-1000k", "1m+"],
        ["1953-07-06", "1953-07-11", "1953-08-08"],
    ],
)
def test_labels_of_ranges_are_ordered_by_their_numbers(labels):
    shuffled = pl.Series(labels[::-1])

    assert has_order(shuffled)
    assert natural_order(shuffled).to_list() == labels


@pytest.mark.parametrize(
    "texts",
    [["low", "mid", "high"], ["E11.9", "F32", "J45", "K21"], ["Bree 1", "Dale 2"], [], [""]],
)
def test_other_texts_have_no_order_of_their_own(texts):
    series = pl.Series(texts, dtype=pl.String)

    assert not has_order(series)
    assert natural_order(series).to_list() == sorted(texts)

"""Columns of lists are read as texts from every source that has lists."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.guarantees import DistinctLDiversity, measure

SETS = [["milk", "bread"], ["bread", "milk", "milk"], [], None, ["beer", None]]
FRAME = pl.DataFrame({"n": range(5), "bought": SETS})
#: Equal sets are equal texts.
READ = ["bread|milk", "bread|milk", "", None, "beer"]
OPTIONS = ReadOptions(lists={"bought": "|"})


@pytest.mark.parametrize("form", ["polars", "pyarrow", "pandas", "parquet", "ipc", "ndjson"])
def test_every_source_gives_the_same_texts(tmp_path, form):
    where: object
    match form:
        case "polars":
            where = FRAME
        case "pyarrow":
            where = FRAME.to_arrow()
        case "pandas":
            where = FRAME.to_pandas()
        case _:
            ending = {"parquet": "parquet", "ipc": "arrow", "ndjson": "jsonl"}[form]
            where = tmp_path / f"table.{ending}"
            getattr(FRAME, f"write_{form}")(where)

    source = open_table(where, options=OPTIONS)

    assert source.dtypes == {"n": pl.Int64, "bought": pl.String}
    assert source.read()["bought"].to_list() == READ
    with pytest.raises((SchemaError, DataError)):
        open_table(where).read()


def test_files_of_a_folder_may_have_empty_lists_alone(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"bought": []}\n', encoding="utf-8")
    (tmp_path / "2.jsonl").write_text('{"bought": ["milk"]}\n{"bought": null}\n', encoding="utf-8")

    assert open_table(tmp_path, options=OPTIONS).read()["bought"].to_list() == ["", "milk", None]


@pytest.mark.parametrize("items", [["a|b"], [""]])
def test_items_that_would_be_other_sets_are_refused(items):
    with pytest.raises(DataError, match="1 items of lists") as caught:
        open_table(pl.DataFrame({"bought": [items, ["a"]]}), options=OPTIONS)
    assert "a|b" not in str(caught.value)


def test_numbers_in_lists_are_items_and_other_columns_stay():
    assert open_table(pl.DataFrame({"bought": [[1, 2]]}), options=OPTIONS).read().item() == "1|2"
    texts = pl.DataFrame({"bought": ["b|a", "a||b|a", "", None]})
    found = open_table(texts, options=OPTIONS).read()["bought"].to_list()
    assert found == ["a|b", "a|b", "", None]


def test_sets_in_a_file_of_text_are_equal_texts(tmp_path):
    """So that guarantees, the verifier and attacks count one value."""
    (tmp_path / "t.csv").write_text("town,ill\nx,flu|cold\nx,cold|flu\n", encoding="utf-8")
    table = open_table(tmp_path / "t.csv", options=ReadOptions(lists={"ill": "|"})).read()

    (judged,) = measure(
        table, quasi_identifiers=["town"], guarantees=[DistinctLDiversity(l=2, column="ill")]
    )

    assert table["ill"].to_list() == ["cold|flu"] * 2
    assert judged.achieved == 1
    with pytest.raises(ColumnNotFoundError):
        open_table(tmp_path / "t.csv", options=ReadOptions(lists={"il": "|"}))


def test_lists_of_lists_and_unknown_columns_are_refused():
    with pytest.raises(SchemaError, match="'bought'"):
        open_table(pl.DataFrame({"bought": [[["a"]]]}), options=OPTIONS)
    with pytest.raises(ColumnNotFoundError, match="bought"):
        open_table(pl.DataFrame({"n": [1]}), options=OPTIONS)


@pytest.mark.parametrize("separator", ["", 1, None])
def test_a_separator_is_a_text(separator):
    with pytest.raises(ParameterError, match="separator"):
        ReadOptions(lists={"bought": separator})

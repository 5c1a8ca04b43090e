from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.data import ReadOptions, open_table

CANARY = "canary-Zx81"
TABLE = pl.DataFrame(
    {"age": [41, None, 17, 5], "sex": ["f", "m", None, "f"], "pay": [1.5, 2.5, float("nan"), 0.0]}
)
SETTLED = TABLE.with_columns(pl.col("pay").fill_nan(None))
WRITE = {
    "parquet": lambda table, path: table.write_parquet(path, row_group_size=2),
    "arrow": lambda table, path: table.write_ipc(path, record_batch_size=3),
    "arrows": lambda table, path: table.write_ipc_stream(path),
}


@pytest.fixture(params=sorted(WRITE))
def written(request, tmp_path):
    def write(table, name="people"):
        path = tmp_path / f"{name}.{request.param}"
        WRITE[request.param](table, path)
        return path

    return write


def test_tables_are_read_as_they_are_written(written):
    source = open_table(written(TABLE))

    assert source.read().equals(SETTLED)
    assert source.n_rows == 4
    assert source.dtypes == dict(SETTLED.schema)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5])
def test_batches_have_the_rows_asked_for(written, n_rows):
    source = open_table(written(TABLE))

    batches = list(source.batches(n_rows))

    assert pl.concat(batches).equals(SETTLED)
    assert [b.height for b in batches[:-1]] == [n_rows] * (len(batches) - 1)
    assert 0 < batches[-1].height <= n_rows


def test_columns_come_in_the_order_asked_for(written):
    source = open_table(written(TABLE))

    assert source.read(columns=["sex", "age"]).equals(SETTLED.select("sex", "age"))


def test_categories_are_texts(written):
    table = TABLE.with_columns(pl.col("sex").cast(pl.Enum(["f", "m", "never"])))

    assert open_table(written(table)).read().equals(SETTLED)


def test_markers_and_declared_types_hold(written):
    options = ReadOptions(missing=("m",), dtypes={"age": "float", "pay": "string"})

    table = open_table(written(TABLE), options=options).read()

    assert table["sex"].to_list() == ["f", None, None, "f"]
    assert table["age"].dtype == pl.Float64
    assert table["pay"].to_list() == ["1.5", "2.5", None, "0"]  # as JSON and CSV write it


def test_a_cast_that_would_lose_decimals_is_an_error(written):
    source = open_table(written(TABLE), options=ReadOptions(dtypes={"pay": "integer"}))

    with pytest.raises(SchemaError, match="'pay' is declared to be Int64, and 2 of"):
        source.read()


def test_an_unknown_declared_column_is_an_error(written):
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'sex'"):
        open_table(written(TABLE), options=ReadOptions(dtypes={"sez": "string"}))


def test_a_table_without_rows_is_an_error(written):
    with pytest.raises(DataError, match="no rows"):
        open_table(written(TABLE.clear()))


@pytest.mark.parametrize("column", [[[1]], [{"x": 1}], [b"x"]])
def test_nested_columns_are_refused(written, column):
    with pytest.raises(SchemaError, match="'a' holds values of type"):
        open_table(written(pl.DataFrame({"a": column})))


def test_damaged_files_are_errors_that_quote_nothing(written):
    table = pl.DataFrame({"a": [CANARY + str(n) for n in range(50)], "b": range(50)})
    path = written(table, name=CANARY)
    content = path.read_bytes()
    for cut in (5, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:cut])
        try:
            open_table(path).read()
        except (DataError, SchemaError) as error:
            assert CANARY not in repr(error)  # noqa: PT017 - some cuts leave a readable stream
        else:
            assert path.suffix == ".arrows"


@pytest.mark.parametrize("form", ["arrow", "arrows"])
def test_texts_of_an_arrow_file_that_are_no_text_are_an_error(tmp_path, form):
    table = pa.table({"a": ["AAAA", "b"]})
    path = tmp_path / f"x.{form}"
    new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
    with new(path, table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(path.read_bytes().replace(b"AAAA", b"\xff\xfe\xfd\xfc"))

    with pytest.raises(DataError, match="damaged"):
        open_table(path).read()


def test_a_row_group_as_large_as_the_file_is_read_by_slices(tmp_path):
    table = pl.DataFrame({"n": range(10_000)}).with_columns(t=pl.col("n").cast(pl.String))
    table.write_parquet(tmp_path / "x.parquet", row_group_size=10_000)

    batches = list(open_table(tmp_path / "x.parquet").batches(999))

    assert [b.height for b in batches] == [999] * 10 + [10]
    assert pl.concat(batches).equals(table)


def test_a_name_with_glob_characters_or_an_equals_sign_is_a_name(tmp_path):
    folder = tmp_path / "year=2024[1]*"
    folder.mkdir()
    TABLE.write_parquet(folder / "x?[a].parquet")

    assert open_table(folder / "x?[a].parquet").read().equals(SETTLED)
    assert open_table(folder).columns == ("age", "sex", "pay")


def test_the_files_of_a_folder_are_one_table(tmp_path):
    TABLE.write_parquet(tmp_path / "1.parquet")
    TABLE.select("pay", "sex", "age").head(1).write_parquet(tmp_path / "2.parquet")
    (tmp_path / "_metadata").write_text("")

    source = open_table(tmp_path)

    assert source.read().equals(pl.concat([SETTLED, SETTLED.head(1)]))
    assert [b.height for b in source.batches(3)] == [3, 2]


def test_a_column_empty_in_one_file_has_the_type_of_the_others(tmp_path):
    for n, values in enumerate([[None, None], [1, 2], [None, 3]]):
        pq.write_table(pa.table({"a": pa.array(values)}), tmp_path / f"{n}.parquet")

    assert open_table(tmp_path).read()["a"].to_list() == [None, None, 1, 2, None, 3]


def test_types_that_differ_between_files_are_an_error_unless_declared(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": ["2"]}).write_parquet(tmp_path / "2.parquet")

    with pytest.raises(SchemaError, match=r"'a' is String in file 2 of .* and Int64 before"):
        open_table(tmp_path)
    table = open_table(tmp_path, options=ReadOptions(dtypes={"a": "integer"})).read()
    assert table["a"].to_list() == [1, 2]


def test_columns_that_differ_between_files_are_an_error(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": [1], CANARY: [2]}).write_parquet(tmp_path / "2.parquet")

    with pytest.raises(
        SchemaError, match=r"File 2 .* lacks 0 columns of file 1 and has 1"
    ) as caught:
        open_table(tmp_path)

    assert CANARY not in str(caught.value)


def test_formats_that_differ_between_files_are_an_error(tmp_path):
    TABLE.write_parquet(tmp_path / "1.parquet")
    TABLE.write_csv(tmp_path / "2.csv")

    with pytest.raises(SchemaError, match=r"File 2 .* is of format csv, file 1 of parquet"):
        open_table(tmp_path)


@pytest.mark.slow
def test_ten_thousand_columns_and_a_million_categories_are_read(tmp_path):
    wide = pl.DataFrame({f"c{n}": [n, n] for n in range(10_000)})
    wide.write_parquet(tmp_path / "wide.parquet")
    many = pl.DataFrame({"a": pl.Series(range(1_000_000)).cast(pl.String).cast(pl.Categorical)})
    many.write_parquet(tmp_path / "many.parquet")

    assert open_table(tmp_path / "wide.parquet").read().equals(wide)
    assert open_table(tmp_path / "many.parquet").read()["a"].n_unique() == 1_000_000


def test_pandas_metadata_and_index_columns_are_plain_columns(tmp_path):
    import pandas as pd  # noqa: PLC0415 - one test needs it

    pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who")).to_parquet(
        tmp_path / "x.parquet"
    )

    assert open_table(tmp_path / "x.parquet").columns == ("a", "who")

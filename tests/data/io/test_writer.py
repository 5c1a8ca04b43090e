# ruff: noqa: PT012 - what is tested is what a block leaves when it raises
from __future__ import annotations

import csv
import errno
import gzip
import io
import math
import os
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError, ReleaseError, SchemaError
from halfmask.data import ReadOptions, TableWriter, open_table, to_polars, write_table
from halfmask.data.io import writer as writer_module

CANARY = "canary-Zx81"
TABLE = pl.DataFrame({"age": [41, None, 17], "sex": ["f", "m", None], "pay": [1.5, None, -0.25]})
TYPED_FORMATS = ["parquet", "arrow", "arrows"]
TEXT_FORMATS = ["csv", "tsv", "jsonl", "csv.gz", "jsonl.zst", "tsv.zst"]

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
INSTANTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001 - naive is meant
VALUES = {
    pl.String(): TEXTS.filter(bool),
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.Float64(): st.floats(allow_nan=False, allow_infinity=False),
    pl.Boolean(): st.booleans(),
    pl.Date(): st.dates(date(1700, 1, 1), date(2200, 1, 1)),
    pl.Datetime("us"): INSTANTS,
}
MORE_VALUES = VALUES | {
    pl.Int8(): st.integers(-128, 127),
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Float32(): st.floats(width=32, allow_nan=False),
    pl.Decimal(20, 2): st.decimals(-(10**9), 10**9, places=2),
    pl.Time(): st.times(),
    pl.Duration("us"): st.timedeltas(timedelta(days=-9999), timedelta(days=9999)),
    pl.Datetime("ns"): INSTANTS,
    pl.Datetime("ms", "UTC"): INSTANTS.map(lambda t: t.replace(microsecond=0)),
}


@st.composite
def tables(draw, values, min_rows=1):
    n_rows = draw(st.integers(min_rows, 5))
    dtypes = draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=5))
    columns = []
    for n, dtype in enumerate(dtypes):
        cells = draw(st.lists(st.none() | values[dtype], min_size=n_rows, max_size=n_rows))
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            naive = pl.Series(f"c{n}", cells, dtype=pl.Datetime(dtype.time_unit))
            columns.append(naive.dt.replace_time_zone(dtype.time_zone))
        else:
            columns.append(pl.Series(f"c{n}", cells, dtype=dtype))
    return pl.DataFrame(columns)


@pytest.mark.slow
@given(tables(MORE_VALUES), st.sampled_from(TYPED_FORMATS))
def test_typed_formats_give_back_the_same_table(tmp_path_factory, table, form):
    path = tmp_path_factory.mktemp("typed") / f"x.{form}"

    assert write_table(table, path) == table.height
    assert open_table(path).read().equals(table)


@pytest.mark.slow
@given(tables(VALUES), st.sampled_from(TEXT_FORMATS))
def test_text_formats_give_back_the_same_table(tmp_path_factory, table, form):
    path = tmp_path_factory.mktemp("text") / f"x.{form}"
    # A column of texts that all are numbers comes back as texts if it is said to.
    options = ReadOptions(dtypes=dict(table.schema))

    write_table(table, path, guard_formulas=False)

    assert open_table(path, options=options).read().equals(table)


@pytest.mark.slow
@given(tables(VALUES), st.lists(st.integers(0, 5)))
def test_batches_add_up_to_the_table(tmp_path_factory, table, cuts):
    path = tmp_path_factory.mktemp("batches") / "x.parquet"
    bounds = [0, *sorted(min(cut, table.height) for cut in cuts), table.height]
    batches = [table.slice(a, b - a) for a, b in pairwise(bounds)]

    assert write_table(iter(batches), path) == table.height
    assert open_table(path).read().equals(table)


@pytest.mark.parametrize("form", [*TYPED_FORMATS, *TEXT_FORMATS])
@pytest.mark.parametrize("make", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy])
def test_frames_of_any_library_are_written(tmp_path, form, make):
    write_table(make(TABLE), tmp_path / f"x.{form}")

    table = open_table(tmp_path / f"x.{form}").read()

    assert table.with_columns(pl.col("age").cast(pl.Int64)).equals(TABLE)


def test_a_source_is_written(tmp_path):
    write_table(TABLE, tmp_path / "a.parquet")
    write_table(open_table(tmp_path / "a.parquet"), tmp_path / "b.jsonl")

    assert open_table(tmp_path / "b.jsonl").read().equals(TABLE)


@pytest.mark.parametrize("form", [*TYPED_FORMATS, *TEXT_FORMATS])
def test_many_small_batches_are_flushed_and_make_one_table(tmp_path, monkeypatch, form):
    monkeypatch.setattr(writer_module, "_CELLS", 20)
    with TableWriter(tmp_path / f"x.{form}") as writer:
        for n in range(50):
            writer.write(pl.DataFrame({"a": [n], "b": [f"t{n}"]}))

    assert writer.rows == 50
    assert open_table(tmp_path / f"x.{form}").read()["a"].to_list() == list(range(50))


@pytest.mark.parametrize("form", [*TYPED_FORMATS, *TEXT_FORMATS])
def test_equal_tables_make_equal_bytes(tmp_path, form):
    for name in "ab":
        write_table(TABLE, tmp_path / f"{name}.{form}")

    assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()


def test_a_csv_file_is_what_the_csv_module_reads(tmp_path):
    table = pl.DataFrame({"a": ['x,"y"\r\nz', "", None], "b": [1, 2, 3]})
    write_table(table, tmp_path / "x.csv")

    with (tmp_path / "x.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["a", "b"], ['x,"y"\r\nz', "1"], ["", "2"], ["", "3"]]


def test_a_missing_cell_of_a_lone_column_is_no_empty_line(tmp_path):
    write_table(pl.DataFrame({"a": [1, None, 3]}), tmp_path / "x.csv")

    assert (tmp_path / "x.csv").read_text() == 'a\n1\n""\n3\n'
    assert open_table(tmp_path / "x.csv").read()["a"].to_list() == [1, None, 3]


RISKY = ["=1+1", "+cmd", "-2+3", "@SUM(1)", "\t=1", "\r=1", "＝1", "'=1", "''@x", "-"]  # noqa: RUF001 - wide signs
HARMLESS = ["-5", "+5.5", "-1e5", "[17, 30]", "a=b", "'quoted'", "", None]


def test_formulas_are_guarded_in_texts_of_csv_only(tmp_path):
    table = pl.DataFrame({"t": RISKY + HARMLESS, "n": [-1] * (len(RISKY) + len(HARMLESS))})
    for name, guard in (("x.csv", True), ("y.csv", False), ("z.jsonl", True)):
        write_table(table, tmp_path / name, guard_formulas=guard)
    options = ReadOptions(missing=(), dtypes={"t": "string"})
    read = {n: open_table(tmp_path / n, options=options).read() for n in ("x.csv", "y.csv")}

    assert read["x.csv"]["t"].to_list()[: len(RISKY)] == ["'" + text for text in RISKY]
    assert read["x.csv"]["t"].to_list()[len(RISKY) :] == [text or "" for text in HARMLESS]
    assert read["x.csv"]["n"].to_list() == table["n"].to_list()
    assert read["y.csv"]["t"].to_list() == [text or "" for text in RISKY + HARMLESS]
    assert open_table(tmp_path / "z.jsonl").read()["t"].to_list() == RISKY + HARMLESS


@pytest.mark.slow
@given(st.lists(st.text("'=-+@a1", max_size=4), unique=True))
def test_the_guard_keeps_different_texts_different(texts):
    from halfmask.data.io._sinks import guarded  # noqa: PLC0415 - one test needs it

    assert guarded(pl.DataFrame({"a": texts}, schema={"a": pl.String}))["a"].n_unique() == len(
        texts
    )


def test_nan_is_written_as_missing_and_infinity_as_it_is(tmp_path):
    table = pl.DataFrame({"a": [math.nan, math.inf, 1.5]})
    for form in ("csv", "parquet", "arrow"):
        write_table(table, tmp_path / f"x.{form}")

        assert open_table(tmp_path / f"x.{form}").read()["a"].to_list() == [None, math.inf, 1.5]


def test_json_has_no_infinity(tmp_path):
    with pytest.raises(ReleaseError, match="'a' has 1 infinite"):
        write_table(pl.DataFrame({"a": [math.inf]}), tmp_path / "x.jsonl")

    assert list(tmp_path.iterdir()) == []


def everything(path):
    """All bytes that the file gives away: as it lies, decompressed, and what its footer says."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        return content + gzip.decompress(content)
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        said = [str(file.metadata), str(file.metadata.metadata), str(file.schema_arrow.metadata)]
        for group in range(file.num_row_groups):
            columns = range(file.metadata.num_columns)
            said += [str(file.metadata.row_group(group).column(c).to_dict()) for c in columns]
        pages = io.BytesIO()
        pq.write_table(file.read(), pages, compression="none", use_dictionary=False)
        return content + "".join(said).encode() + pages.getvalue()
    if path.suffix in {".arrow", ".arrows"}:
        opened = (pa.ipc.open_file if path.suffix == ".arrow" else pa.ipc.open_stream)(path)
        table = opened.read_all()
        buffers = [b for c in table.columns for k in c.chunks for b in k.buffers() if b is not None]
        return content + b"".join(b.to_pybytes() for b in buffers) + str(table.schema).encode()
    return content


def hidden():
    """A table with canaries where no row of it is."""
    texts = pa.array(["seen", CANARY, CANARY, "seen"]).slice(0, 2)
    _, offsets, data = texts.buffers()
    masked = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x01"), offsets, data], null_count=1
    )
    number = int.from_bytes(b"canary#1", "little")
    numbers = pa.array([1, number, number])
    masked_number = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), numbers.buffers()[1]], null_count=1
    )
    return pa.table(
        {
            "text": masked,
            "number": masked_number,
            "flag": pa.array([True] * 64).slice(3, 2),
            "coded": pa.DictionaryArray.from_arrays([0, 0], ["seen", CANARY]),
        },
        metadata={"note": CANARY},
    )


@pytest.mark.parametrize("form", [*TYPED_FORMATS, "csv", "jsonl", "csv.gz"])
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_nothing_leaves_but_the_values_of_the_rows(tmp_path, form, library):
    table = hidden()
    if library == "polars":
        table = pl.DataFrame(
            {
                "text": pl.Series(["seen", CANARY])[:1],
                "coded": pl.Series(["seen", CANARY], dtype=pl.Categorical)[:1],
                "enum": pl.Series(["seen"], dtype=pl.Enum(["seen", CANARY])),
                "number": pl.Series([1, int.from_bytes(b"canary#1", "little")])[:1],
            }
        )
    if library == "pandas":
        table = pd.DataFrame(
            {"coded": pd.Categorical(["seen"], categories=["seen", CANARY]), "number": [1]},
            index=pd.Index([CANARY], name=CANARY),
        )
        table.attrs["note"] = CANARY
    path = tmp_path / f"x.{form}"

    write_table(table, path)

    found = everything(path)
    assert b"seen" in found
    assert CANARY.encode() not in found
    assert b"canary#1" not in found
    assert b"pandas" not in found


def test_the_search_for_canaries_finds_those_of_a_plain_writer(tmp_path):
    pq.write_table(hidden(), tmp_path / "x.parquet")
    with pa.ipc.new_file(tmp_path / "x.arrow", hidden().schema) as plain:
        plain.write_table(hidden())

    assert CANARY.encode() in everything(tmp_path / "x.parquet")
    assert b"canary#1" in everything(tmp_path / "x.arrow")


def test_bits_behind_the_last_row_are_zero(tmp_path):
    table = pa.table({"flag": pa.array([True] * 64).slice(3, 2)})
    write_table(table, tmp_path / "x.arrow")

    flags = pa.ipc.open_file(tmp_path / "x.arrow").read_all().column("flag").chunk(0)

    assert flags.buffers()[1].to_pybytes()[0] == 0b11


def test_parquet_statistics_are_of_the_written_rows(tmp_path):
    table = pl.DataFrame({"a": [0, 5, 6, 99], "b": ["A", "m", "n", "z"]})
    write_table(table[1:3], tmp_path / "x.parquet")

    group = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0)

    assert [(c.min, c.max) for c in (group.column(n).statistics for n in (0, 1))] == [
        (5, 6),
        ("m", "n"),
    ]
    assert pq.ParquetFile(tmp_path / "x.parquet").metadata.metadata is None


def test_an_output_that_exists_stays_unless_it_may_be_overwritten(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"old")

    with pytest.raises(ReleaseError, match="exists"):
        write_table(TABLE, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == b"old"

    write_table(TABLE, tmp_path / "x.csv", overwrite=True)
    assert open_table(tmp_path / "x.csv").read().equals(TABLE)


@pytest.mark.parametrize("form", [*TYPED_FORMATS, *TEXT_FORMATS])
def test_an_error_leaves_nothing(tmp_path, form):
    path = tmp_path / f"x.{form}"
    with pytest.raises(DataError), TableWriter(path) as writer:
        writer.write(TABLE)
        raise DataError("no")
    with pytest.raises(SchemaError, match="other columns or types"):
        write_table([TABLE, TABLE.rename({"age": CANARY})], path)
    with pytest.raises(SchemaError, match="other columns or types"):
        write_table([TABLE, TABLE.cast({"age": pl.Float64})], path)
    with pytest.raises(DataError, match="must be a frame"):
        write_table([TABLE, {"age": CANARY}], path)
    with pytest.raises(ReleaseError, match="No batch was written"):
        write_table([], path)

    assert list(tmp_path.iterdir()) == []


def test_an_error_that_is_caught_inside_of_the_block_still_leaves_nothing(tmp_path):
    with (
        pytest.raises(ReleaseError, match="could not be written"),
        TableWriter(tmp_path / "x.csv") as writer,
    ):
        writer.write(TABLE)
        with pytest.raises(SchemaError):
            writer.write(TABLE.head(0).select("age"))

    assert list(tmp_path.iterdir()) == []


def test_a_table_without_rows_has_a_header(tmp_path):
    assert write_table(TABLE.clear(), tmp_path / "x.csv") == 0

    assert (tmp_path / "x.csv").read_text() == "age,sex,pay\n"


@pytest.mark.parametrize("form", [*TYPED_FORMATS, *TEXT_FORMATS])
@pytest.mark.parametrize("allowed", [0, 100, 5_000])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, form, allowed):
    real = os.fdopen

    class Full:
        """A file on a disk with room for a few bytes."""

        closed = False

        def __init__(self, file):
            self._file = file
            self._left = allowed

        def write(self, data):
            size = memoryview(data).nbytes
            if size > self._left:
                raise OSError(errno.ENOSPC, "No space left on device", CANARY)
            self._left -= size
            return self._file.write(data)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self._file.close()

        def flush(self):
            self._file.flush()

        def close(self):
            self._file.close()

    monkeypatch.setattr("halfmask.data.io.atomic.os.fdopen", lambda *a: Full(real(*a)))
    monkeypatch.setattr(writer_module, "_CELLS", 2_000)
    rows = pl.DataFrame({"a": range(2_000)}).with_columns(b=pl.col("a").hash().cast(pl.String))

    with pytest.raises(ReleaseError, match="disk is full") as caught:
        write_table(rows.iter_slices(500), tmp_path / f"x.{form}")

    assert CANARY not in repr(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_standard_output_gets_a_whole_table_or_nothing(monkeypatch):
    class Output:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Output)
    with pytest.raises(DataError), TableWriter("-", format="csv") as writer:
        writer.write(TABLE)
        raise DataError("no")
    assert Output.buffer.getvalue() == b""

    write_table(TABLE, "-", format="parquet")
    assert pl.read_parquet(Output.buffer.getvalue()).equals(TABLE)


def test_formats_that_are_not_said_or_not_known_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="format"):
        write_table(TABLE, tmp_path / "table")
    with pytest.raises(ParameterError, match="format"):
        write_table(TABLE, "-")
    with pytest.raises(ParameterError, match="'format'"):
        write_table(TABLE, tmp_path / "x", format="xlsx")  # type: ignore[arg-type] # the point
    with pytest.raises(ParameterError, match="compressed inside"):
        write_table(TABLE, tmp_path / "x.parquet.gz")

    write_table(TABLE, tmp_path / "table", format="parquet")
    assert open_table(tmp_path / "table").format == "parquet"


def test_a_writer_writes_inside_of_its_block_only(tmp_path):
    writer = TableWriter(tmp_path / "x.csv")
    with pytest.raises(ParameterError, match="with block"):
        writer.write(TABLE)
    with writer:
        writer.write(TABLE)
    with pytest.raises(ParameterError, match="with block"):
        writer.write(TABLE)


def test_odd_types_have_their_texts_in_csv(tmp_path):
    table = pl.DataFrame(
        {"span": [timedelta(seconds=90)], "time": [time(1, 2)], "sum": [Decimal("1.10")]}
    )
    write_table(table, tmp_path / "x.csv")

    assert (tmp_path / "x.csv").read_text() == "span,time,sum\nPT1M30S,01:02:00.000000000,1.10\n"


@pytest.mark.slow
def test_two_thousand_columns_and_many_categories_are_written(tmp_path):
    wide = pl.DataFrame({f"c{n}": [n, None] for n in range(2_000)})
    # More than 16 bits number.
    many = pl.DataFrame({"a": pl.Series(range(100_000)).cast(pl.String).cast(pl.Categorical)})
    for form in ("parquet", "arrow", "csv"):
        write_table(wide, tmp_path / f"wide.{form}")
        write_table(many, tmp_path / f"many.{form}")

        assert open_table(tmp_path / f"wide.{form}").read().equals(wide)
        assert open_table(tmp_path / f"many.{form}").n_rows == 100_000


def test_a_plain_parquet_file_is_read_by_others_as_it_is(tmp_path):
    write_table(TABLE, tmp_path / "x.parquet")

    assert to_polars(pd.read_parquet(tmp_path / "x.parquet"))["sex"].to_list() == ["f", "m", None]
    assert pq.read_table(tmp_path / "x.parquet").schema.field("sex").type == pa.string()


def test_times_in_a_csv_file_of_one_column_keep_their_fractions(tmp_path):
    write_table(pl.DataFrame({"time": [time(1, 2, 0, 500), None]}), tmp_path / "x.csv")

    assert (tmp_path / "x.csv").read_text() == 'time\n01:02:00.000500000\n""\n'

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io._source import rebatch
from halfmask.data.io.formats import FileForm, form_of_name

CANARY = "canary-Zx81"
TABLE = pl.DataFrame({"age": [41, 17, 33], "sex": ["f", "m", "f"]})


def contents():
    csv, parquet, arrow, stream, jsonl = (io.BytesIO() for _ in range(5))
    TABLE.write_csv(csv)
    TABLE.write_parquet(parquet)
    TABLE.write_ipc(arrow)
    TABLE.write_ipc_stream(stream)
    TABLE.write_ndjson(jsonl)
    return {
        "csv": csv.getvalue(),
        "parquet": parquet.getvalue(),
        "arrow": arrow.getvalue(),
        "arrows": stream.getvalue(),
        "jsonl": jsonl.getvalue(),
    }


CONTENTS = contents()


@pytest.mark.parametrize("frame", [TABLE, TABLE.lazy(), TABLE.to_arrow(), TABLE.to_pandas()])
def test_frames_are_tables_to_read(frame):
    source = open_table(frame)

    assert source.read().equals(TABLE)
    assert source.columns == ("age", "sex")
    assert source.n_rows == 3
    assert [b.height for b in source.batches(2)] == [2, 1]


@pytest.mark.parametrize("form", CONTENTS)
def test_a_format_is_known_by_its_bytes(tmp_path, form):
    path = tmp_path / "table"
    path.write_bytes(CONTENTS[form])

    source = open_table(path)

    assert source.format == form
    assert source.read().equals(TABLE)


@pytest.mark.parametrize("form", CONTENTS)
def test_standard_input_is_read_as_often_as_wanted(monkeypatch, form):
    class Input:
        buffer = io.BytesIO(CONTENTS[form])

    monkeypatch.setattr(sys, "stdin", Input)

    source = open_table("-")

    for _ in range(2):
        assert source.read().equals(TABLE)
        assert pl.concat(source.batches(1)).equals(TABLE)


@pytest.mark.slow
def test_standard_input_leaves_no_file(tmp_path):
    script = (
        "import os, sys\n"
        "from halfmask.data import open_table\n"
        "source = open_table('-')\n"
        "assert os.listdir(os.environ['TMPDIR']) == []\n"
        "print(source.read().height)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=CONTENTS["csv"],
        capture_output=True,
        check=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )

    assert done.stdout == b"3\n"
    assert list(tmp_path.iterdir()) == []


def test_a_named_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(CONTENTS["parquet"],))
    writer.start()

    source = open_table(pipe)
    writer.join()

    assert source.read().equals(TABLE)
    assert source.read().equals(TABLE)


def test_an_empty_standard_input_is_an_error(monkeypatch):
    class Input:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdin", Input)

    with pytest.raises(DataError, match="is empty"):
        open_table("-")


def test_a_declared_format_goes_before_a_name_and_never_before_the_bytes(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_bytes(CONTENTS["csv"])

    assert open_table(path, format="csv").read().equals(TABLE)
    with pytest.raises(DataError, match="named to be parquet, but its first bytes"):
        open_table(path)
    with pytest.raises(DataError, match="declared to be arrow, but its first bytes"):
        open_table(path, format="arrow")
    with pytest.raises(ParameterError, match="'format'"):
        open_table(path, format="xlsx")  # type: ignore[arg-type] # that is the point


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.csv", FileForm("csv")),
        ("A.CSV.GZ", FileForm("csv", "gzip")),
        ("a.b.jsonl.zst", FileForm("jsonl", "zstd")),
        ("a.feather", FileForm("arrow")),
        ("a.gz", None),
        ("parquet", None),
    ],
)
def test_names_say_forms(name, form):
    assert form_of_name(name) == form


def test_a_compressed_parquet_file_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(pa.compress(CONTENTS["parquet"], "gzip", asbytes=True))

    with pytest.raises(DataError, match="inside of a compressed file"):
        open_table(tmp_path / "x.parquet")


def test_missing_files_folders_and_rights_are_told_without_the_path(tmp_path):
    folder = tmp_path / CANARY
    (folder / "sub").mkdir(parents=True)
    (tmp_path / (CANARY + "2")).mkdir()
    for path, says in [
        (folder / "none.csv", "is not there"),
        (str(folder / "sub"), "folder without files"),
        (folder, "folder that holds folders"),
        (tmp_path / "x.csv" / "y", "is not there"),
        ("nul\0byte", "can't be read"),
        ("", "an empty path"),
    ]:
        with pytest.raises(DataError, match=says) as caught:
            open_table(path)
        assert CANARY not in repr(caught.value)


@pytest.mark.parametrize("thing", [None, 3, [1, 2], {"a": [1]}, object()])
def test_what_is_no_table_is_refused(thing):
    with pytest.raises(DataError):
        open_table(thing)


@pytest.mark.parametrize("frame", [TABLE.clear(), TABLE.clear().to_pandas()])
def test_a_frame_without_rows_is_refused(frame):
    with pytest.raises(DataError, match="no rows"):
        open_table(frame)


def test_one_row_is_a_table():
    assert open_table(TABLE.head(1)).read().height == 1


def test_options_hold_for_frames():
    options = ReadOptions(missing=("m",), dtypes={"age": "string"})

    table = open_table(TABLE, options=options).read()

    assert table.rows() == [("41", "f"), ("17", None), ("33", "f")]


def test_declared_floats_have_no_nan():
    options = ReadOptions(dtypes={"a": "float"})

    assert open_table(pl.DataFrame({"a": ["nan", "1"]}), options=options).read().rows() == [
        (None,),
        (1.0,),
    ]


def test_wrong_questions_are_refused():
    source = open_table(TABLE)

    with pytest.raises(ColumnNotFoundError, match="Did you mean 'age'"):
        source.batches(columns=["agee"])
    for columns in ["age", [], ["age", "age"]]:
        with pytest.raises(ParameterError, match="'columns'"):
            source.read(columns=columns)
    for n_rows in [0, -1, 1.5]:
        with pytest.raises(ParameterError, match="'n_rows'"):
            source.batches(n_rows)  # type: ignore[arg-type] # that is the point


def test_the_repr_says_size_and_no_name(tmp_path):
    (tmp_path / f"{CANARY}.csv").write_bytes(CONTENTS["csv"])

    assert repr(open_table(tmp_path / f"{CANARY}.csv")) == "Source(format='csv', columns=2, rows=3)"


@pytest.mark.slow
def test_wide_tables_come_in_smaller_batches():
    wide = pl.DataFrame({f"c{n}": range(6_000) for n in range(4_096)})

    assert [b.height for b in open_table(wide).batches()] == [4_096, 1_904]


@pytest.mark.slow
@given(st.lists(st.integers(0, 7), max_size=8), st.integers(1, 9))
def test_rebatching_changes_no_row(heights, n_rows):
    total = sum(heights)
    whole = pl.DataFrame({"n": range(total)}, schema={"n": pl.Int64})
    starts = [sum(heights[:n]) for n in range(len(heights))]
    frames = [whole.slice(s, h) for s, h in zip(starts, heights, strict=True)]

    batches = list(rebatch(iter(frames), n_rows))

    assert [b.height for b in batches] == [n_rows] * (total // n_rows) + [total % n_rows] * bool(
        total % n_rows
    )
    assert pl.concat([whole.clear(), *batches]).equals(whole)


@pytest.mark.slow
def test_reading_in_batches_holds_a_batch_and_not_the_table(tmp_path):
    # 40 files of 50,000 rows: 2 million rows of 320 bytes in memory.
    part = pl.DataFrame({f"c{n}": pl.Series(range(n, 50_000 + n)) for n in range(40)})
    for n in range(40):
        part.write_parquet(tmp_path / f"{n:02}.parquet")
    script = (
        "import resource, sys\n"
        "from halfmask.data import open_table\n"
        "source = open_table(sys.argv[1])\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "for first in source.batches(50_000): break\n"
        "before = peak()\n"
        "rows = sum(batch.height for batch in source.batches(50_000))\n"
        "print(rows, peak() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, check=True, text=True
    )

    rows, grown = map(int, done.stdout.split())

    assert rows == 2_000_000
    assert grown < 200  # MB; the table has 640


def test_a_pandas_frame_of_mixed_types_is_refused():
    with pytest.raises(SchemaError, match="'a' holds values of more than one type"):
        open_table(pd.DataFrame({"a": [1, CANARY]}))


def test_without_some_columns_it_is_the_same_table(tmp_path):
    """What is left out is never read, and a change of the file is still noticed."""
    path = tmp_path / "table.csv"
    path.write_text("age,name,sex\n41,a,f\n17,b,m\n")
    source = open_table(path)

    less = source.without(["name"])

    assert (less.columns, less.n_rows, less.format) == (("age", "sex"), 2, "csv")
    assert less.read().equals(source.read().drop("name"))
    assert [it.columns for it in less.batches(1)] == [["age", "sex"]] * 2
    with pytest.raises(ColumnNotFoundError, match="'nmae'"):
        source.without(["nmae"])
    with pytest.raises(ColumnNotFoundError, match="'name'"):
        less.read(columns=["name"])
    with pytest.raises(SchemaError, match="No column"):
        source.without(["age", "name", "sex"])
    path.write_text("age,name,sex\n41,a,f\n17,b,d\n18,b,d\n")
    with pytest.raises(DataError, match="changed"):
        less.read()


def test_an_open_table_stays_as_it_is_but_for_spellings():
    source = open_table(pl.DataFrame({"town": [" Bree", "Dale "], "zip": [1, 2]}))

    assert open_table(source).read().equals(source.read())
    options = ReadOptions(normalize={"town": ["trim"]}, dtypes={"zip": "string"})
    assert open_table(source, options=options).read().rows() == [("Bree", 1), ("Dale", 2)]
    with pytest.raises(ColumnNotFoundError):
        open_table(source, options=ReadOptions(normalize={"road": ["trim"]}))

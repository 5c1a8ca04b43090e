"""How each format writes frames, one after the other, into an open file."""

from __future__ import annotations

import datetime as dt
import gzip
import io

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from halfmask._errors import ReleaseError
from halfmask.data.io._sinks import sink_for
from halfmask.data.io.formats import FileForm

FIRST = pl.DataFrame({"a": ["x", None], "n": [1, 2]})
SECOND = pl.DataFrame({"a": ["=1", "y"], "n": [-3, None]})


def written(form, *frames, guard=True):
    file = io.BytesIO()
    sink = sink_for(file, form, guard=guard, first=frames[0])
    for frame in frames:
        sink.write(frame)
    sink.close()
    assert not file.closed
    return file.getvalue()


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("parquet", pl.read_parquet),
        ("arrow", pl.read_ipc),
        ("arrows", pl.read_ipc_stream),
        ("jsonl", pl.read_ndjson),
    ],
)
def test_rows_come_back_in_their_order(form, read):
    found = read(io.BytesIO(written(FileForm(form), FIRST, FIRST.clear(), SECOND)))

    assert found.equals(pl.concat([FIRST, SECOND]))


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_text_has_one_header_and_guarded_cells(form, delimiter):
    text = written(FileForm(form), FIRST, SECOND).decode()

    assert text.splitlines() == [
        delimiter.join(row) for row in (("a", "n"), ("x", "1"), ("", "2"), ("'=1", "-3"), ("y", ""))
    ]
    assert "'" not in written(FileForm(form), FIRST, SECOND, guard=False).decode()


def test_a_compressed_text_is_the_same_text():
    plain = written(FileForm("csv"), FIRST, SECOND)

    assert gzip.decompress(written(FileForm("csv", "gzip"), FIRST, SECOND)) == plain


def test_a_missing_cell_of_one_column_is_a_row():
    """An empty line is no row to most readers."""
    text = written(FileForm("csv"), pl.DataFrame({"a": ["x", None]})).decode()

    assert text == 'a\nx\n""\n'


def test_spans_of_time_are_written_by_the_standard():
    frame = pl.DataFrame({"a": [dt.timedelta(hours=1, minutes=30)], "n": [1]})

    assert b"PT1H30M,1" in written(FileForm("csv"), frame)


@pytest.mark.parametrize("number", [float("inf"), float("-inf")])
def test_json_has_no_word_for_the_infinite(number):
    with pytest.raises(ReleaseError, match="'x' has 1 infinite"):
        written(FileForm("jsonl"), pl.DataFrame({"x": [number, 1.0]}))


def test_parquet_carries_nothing_of_what_wrote_it():
    raw = written(FileForm("parquet"), FIRST)

    assert b"ARROW:schema" not in raw
    assert b"pandas" not in raw


def test_numbers_that_hardly_repeat_have_no_dictionary():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "distinct": rng.normal(size=5000),
            "few": rng.integers(0, 9, 5000),
            "text": rng.choice(["a", "b"], 5000),
        }
    )
    data = io.BytesIO(written(FileForm("parquet"), frame))

    group = pq.ParquetFile(data).metadata.row_group(0)
    has = {
        group.column(i).path_in_schema: group.column(i).has_dictionary_page
        for i in range(group.num_columns)
    }
    assert has == {"distinct": False, "few": True, "text": True}
    assert pl.read_parquet(data.getvalue()).equals(frame)

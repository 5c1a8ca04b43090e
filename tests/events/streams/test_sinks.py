"""Sinks: tables out of lines, names that say what is written, and what may not be replaced."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from halfmask import DataError, ReleaseError
from halfmask._errors import ParameterError
from halfmask.events.streams import FileSink, FolderSink, PipeSink, TableSink, open_sink

ROWS: list[dict[str, Any]] = [
    {"at": "2024-01-01T00:00:00", "n": 1, "who": {"id": "a"}},
    {"at": "2024-01-02", "n": 2.5, "who": {"id": "b", "more": [1, 2]}},
    {"at": "never", "n": None, "who": None, "late": True},
]


def lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def written(sink, *parts):
    done = False
    sink.check()
    try:
        sink.begin(None, b"", again=False)
        for part in parts:
            sink.write(part)
        sink.finish()
        done = True
    finally:
        sink.close(done=done)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_table_has_a_row_for_each_line(tmp_path, ending):
    """Text that looks like a time stays text; fields come and go."""
    path = tmp_path / f"out{ending}"

    written(open_sink(path), lines(ROWS[:1]) * 200_000, lines(ROWS[1:]))

    found = pl.read_parquet(path) if ending == ".parquet" else pl.read_ipc(path)
    assert found.height == 200_002
    assert found["at"].to_list()[-3:] == [row["at"] for row in ROWS]
    assert found["n"].to_list()[-3:] == [1.0, 2.5, None]
    assert found["who"].to_list()[-2] == {"id": "b", "more": [1, 2]}
    assert found["late"].to_list()[-2:] == [None, True]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize("row", [{"n": "text"}, {"n": {"a": 1}}, {"n": [1]}])
def test_what_cant_be_a_column_is_said_and_the_lines_stay(tmp_path, row):
    path = tmp_path / "out.parquet"

    with pytest.raises(DataError, match="can't be one column"):
        written(TableSink(path), lines([{"n": 1}]) * 2_000_000 + lines([row]))

    assert not path.exists()
    assert (tmp_path / "out.parquet.partial").stat().st_size > 0


EXACT: dict[str, tuple[list[Any], bool]] = {
    "53 bits beside fractions": ([9007199254740992, 0.5], True),
    "54 bits alone": ([9007199254740993, 1], True),
    "54 bits beside fractions": ([9007199254740993, 0.5], False),
    "64 bits": ([2**63 - 1, -(2**63)], True),
    "beyond 64 bits": ([2**63 + 1, 1], False),
    "far beyond": ([10**400 + 1, 1], False),
    "an even one beyond": ([2**64, 1], True),
}


@pytest.mark.parametrize("where", ["plain", "nested", "listed"])
@pytest.mark.parametrize("case", EXACT)
def test_whole_numbers_are_exact_in_a_table_or_refused(tmp_path, case, where):
    """Two of them would be one in a column of floats."""
    values, holds = EXACT[case]
    shaped: dict[str, Callable[[Any], dict[str, Any]]] = {
        "plain": lambda it: {"n": it},
        "nested": lambda it: {"a": {"n": it}},
        "listed": lambda it: {"a": [{"n": [it]}]},
    }
    rows = list(map(shaped[where], values))
    path = tmp_path / "out.parquet"
    if not holds:
        with pytest.raises(DataError, match="would change"):
            written(TableSink(path), lines(rows))
        return
    written(TableSink(path), lines(rows))
    found = pl.read_parquet(path).rows(named=True)
    assert [json.loads(json.dumps(row)) for row in found] == rows


def test_nothing_makes_empty_outputs(tmp_path):
    for name in ("a.jsonl", "a.gz", "a.zst", "a.parquet", "a.arrow", "a/"):
        written(open_sink(f"{tmp_path}/{name}"))

    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert pa.CompressedInputStream(pa.OSFile(str(tmp_path / "a.zst")), "zstd").read() == b""
    assert pl.read_parquet(tmp_path / "a.parquet").height == 0
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["part-00001.jsonl"]


def test_names_say_what_is_written(tmp_path):
    kinds = {
        "a.jsonl": FileSink, "a.gz": FileSink, "a.parquet": TableSink, "a.arrow": TableSink,
        "folder/": FolderSink, "a": FileSink,
    }  # fmt: skip
    for name, kind in kinds.items():
        assert type(open_sink(f"{tmp_path}/{name}")) is kind
    assert type(open_sink("-")) is PipeSink
    for name in ("a.gz", "a.parquet"):
        with pytest.raises(ParameterError, match="never ends"):
            open_sink(tmp_path / name, appending=True)


def test_a_folder_that_isnt_ours_stays(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "photo").write_text("mine")

    for overwrite in (False, True):
        with pytest.raises(ReleaseError):
            FolderSink(tmp_path / "home", overwrite=overwrite).check()
    assert (tmp_path / "home" / "photo").read_text() == "mine"


def test_a_file_that_came_meanwhile_stays(tmp_path):
    sink = FileSink(tmp_path / "out")
    sink.check()
    sink.begin(None, b"", again=False)
    (tmp_path / "out").write_text("mine")

    with pytest.raises(ReleaseError, match="exists"):
        sink.finish()
    sink.close(done=False)
    assert (tmp_path / "out").read_text() == "mine"


def test_a_full_disk_is_said():
    sink = FileSink("/dev/full", appending=True, overwrite=True)
    with pytest.raises(ReleaseError, match=r"disk is full|Invalid argument"):
        written(sink, b"{}\n" * 9)


@pytest.mark.parametrize("end", ["sync", "finish"])
def test_what_cant_be_brought_to_the_disk_meanwhile_is_told(tmp_path, monkeypatch, end):
    """The system tells of such a fault once: to the thread that flushes on the way."""

    def refuse(_):
        raise OSError(errno.EIO, "")

    sink = open_sink(tmp_path / "out.jsonl")
    sink.begin(None, b"", again=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        sink.write(b"x" * (1 << 22) + b"\n")
        with pytest.raises(ReleaseError, match="can't be written"):
            getattr(sink, end)()
    sink.close(done=False)

    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("size", [10, 9 << 20])
def test_all_bytes_are_on_the_disk_before_a_checkpoint_or_a_name(tmp_path, monkeypatch, size):
    """The last thing that is done to the file, once all is in it, is to flush it."""
    flushed, real = [], os.fsync

    def flushing(descriptor):
        flushed.append(os.fstat(descriptor).st_size)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", flushing)
    sink = FileSink(tmp_path / "out")
    sink.begin(None, b"", again=False)
    for part in range(1, 4):
        sink.write(b"x" * size)
        sink.sync()
        assert flushed[-1] == part * size
    sink.write(b"last")
    flushed.clear()
    sink.finish()
    sink.close(done=True)

    assert flushed[0] == (tmp_path / "out").stat().st_size == 3 * size + 4


@pytest.mark.mostly_slow
@pytest.mark.parametrize("packing", [None, "gzip"])
@pytest.mark.parametrize("torn", [0, 7])
def test_what_a_reader_may_have_read_is_never_cut(tmp_path, packing, torn):
    """A run was killed behind its checkpoint; the next ends at a bad line, a third goes on."""
    path, rows = tmp_path / "live", lines(ROWS) * 200_000

    def sink(state, pending):
        made = FileSink(path, packing=packing, appending=True)
        made.begin(state, pending, again=state is not None)
        return made

    first = sink(None, b"")
    first.write(lines(ROWS))
    state, pending = first.sync()
    first.write(rows)
    first.close(done=False)
    os.truncate(path, path.stat().st_size - torn)
    seen = path.read_bytes()

    second = sink(state, pending)
    assert path.read_bytes() == seen
    second.write(rows[:100])
    state, pending = second.sync()
    second.close(done=False)
    assert path.read_bytes() == seen

    third = sink(state, pending)
    third.write(rows[100:])
    assert path.read_bytes().startswith(seen)
    third.finish()
    third.close(done=True)
    found = path.read_bytes()
    assert (found if packing is None else gzip.decompress(found)) == lines(ROWS) + rows


def test_other_bytes_take_the_place_of_those_behind_a_checkpoint(tmp_path):
    """Of a run whose input was mended at the bad line, and of one that ends before it."""
    path = tmp_path / "live"
    for after in (b"1\n2\n5\n", b"1\n", b""):
        path.unlink(missing_ok=True)
        first = FileSink(path, appending=True)
        first.begin(None, b"", again=False)
        state, _ = first.sync()
        first.write(b"1\n2\n3\n4\n")
        first.close(done=False)

        second = FileSink(path, appending=True)
        second.begin(state, b"", again=True)
        for part in after.splitlines(keepends=True):
            second.write(part)
        assert b"".join(second.lines()) == after
        second.finish()
        second.close(done=True)
        assert path.read_bytes() == after


@pytest.mark.parametrize("value", [{}, {"a": [{}]}, {"a": {"b": {}}, "c": 1}])
def test_objects_that_are_empty_in_every_line_are_refused_in_parquet(tmp_path, value):
    """Parquet has no type for them, and would forget rows without a field."""
    with pytest.raises(DataError, match="object without fields in every line"):
        written(TableSink(tmp_path / "out.parquet"), lines([value, value]))
    assert (tmp_path / "out.parquet.partial").exists()

    written(TableSink(tmp_path / "out.arrow"), lines([value, value]))
    assert len(pa.ipc.open_file(tmp_path / "out.arrow").read_all()) == 2

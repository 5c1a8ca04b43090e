"""Sources: the lines of files, folders, pipes and tables, from the beginning and from anywhere."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Callable

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import DataError
from halfmask._errors import ParameterError, SchemaError
from halfmask.events import Limits
from halfmask.events.streams import (
    Chunk,
    ColumnarFile,
    FileSource,
    FolderSource,
    FollowedFile,
    PipeSource,
    _columnar,
    open_source,
)
from halfmask.events.streams._chunk import Cutter

LINES = [json.dumps({"n": n, "pad": "x" * (n * 37 % 90)}).encode() + b"\n" for n in range(2_000)]
WHOLE = b"".join(LINES)
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "members": lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:]) + b"\0" * 512,
    "zstd": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "frames": lambda data: b"".join(
        pa.compress(part, codec="zstd", asbytes=True) for part in (data[:999], data[999:])
    ),
}


def chunks(source, position=None):
    return list(source.chunks(position, threading.Event()))


def lines_of(found):
    return b"".join(chunk.data for chunk in found)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_file_gives_its_lines_from_each_of_its_positions(tmp_path, packing):
    path = tmp_path / "in"
    path.write_bytes(PACKINGS[packing](WHOLE))
    source = FileSource(path, block_bytes=9_000)

    found = chunks(source)

    assert lines_of(found) == WHOLE
    assert [chunk.first_line for chunk in found] == [
        1 + sum(each.lines for each in found[:at]) for at in range(len(found))
    ]
    for at in (0, 3, len(found) - 1):
        position = json.loads(json.dumps(found[at].position))
        rest = chunks(FileSource(path, block_bytes=5_000), position)
        assert lines_of(rest) == lines_of(found[at + 1 :])
        assert [chunk.first_line for chunk in rest[:1]] == [
            chunk.first_line for chunk in found[at + 1 : at + 2]
        ]


@pytest.mark.parametrize("packing", ["gzip", "members", "zstd", "frames"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.97])
def test_a_torn_archive_gives_all_that_is_whole(tmp_path, packing, share):
    """What an unpacker that reads byte by byte gets of it, up to the last line end."""
    whole, path = PACKINGS[packing](WHOLE).rstrip(b"\0"), tmp_path / "in"
    path.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(DataError, match="ends before its end") as caught:
        chunks(FileSource(path, block_bytes=3_000))

    got = lines_of(collected(FileSource(path, block_bytes=3_000)))
    assert WHOLE.startswith(got)
    assert got.endswith(b"\n") or not got
    assert len(got) >= len(readable(path.read_bytes())) - 200
    assert str(tmp_path) not in str(caught.value)


def collected(source):
    found = []
    try:
        for chunk in source.chunks(None, threading.Event()):
            found.append(chunk)  # noqa: PERF402 # what comes before the error counts
    except DataError:
        pass
    return found


def readable(data):
    """What can be unpacked of bytes, one byte at a time."""
    gz = data.startswith(b"\x1f\x8b")
    stream = gzip.GzipFile(fileobj=io.BytesIO(data)) if gz else None
    stream = stream or pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    found = bytearray()
    try:
        while piece := stream.read(1):
            found += piece
    except (EOFError, OSError):
        pass
    return bytes(found)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_damaged_archive_is_refused(tmp_path, packing):
    packed = bytearray(PACKINGS[packing](WHOLE))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "in").write_bytes(packed)

    with pytest.raises(DataError, match="damaged"):
        chunks(FileSource(tmp_path / "in"))


def test_another_file_isnt_gone_on_with(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(WHOLE)
    position = chunks(FileSource(path, block_bytes=9_000))[4].position

    path.write_bytes(WHOLE.replace(b"x", b"y"))
    with pytest.raises(DataError, match="isn't the one"):
        chunks(FileSource(path), position)
    path.write_bytes(WHOLE[:500])
    with pytest.raises(DataError, match="isn't the one"):
        chunks(FileSource(path), position)


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=40).map(lambda it: it.replace(b"\n", b"")), max_size=30),
    ends=st.booleans(),
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=8),
    limit=st.integers(1, 30),
)
def test_cutting_is_the_same_whatever_the_pieces(lines, ends, sizes, limit):
    """Lines are those of the whole; what is skipped is longer than the limit; nothing else is."""
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    cutter, at, turn = Cutter(block_bytes=1, line_bytes=limit), 0, 0
    found: list[Chunk] = []
    while at < len(data):
        size = sizes[turn % len(sizes)]
        found += cutter.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    found += cutter.end()

    wanted = data.split(b"\n")
    if wanted[-1] == b"":
        wanted.pop()
    number = 0
    for chunk in found:
        assert chunk.first_line == number + 1
        if chunk.oversized:
            assert len(wanted[number]) > limit
            number += 1
        else:
            for line in chunk.data.removesuffix(b"\n").split(b"\n"):
                assert line == wanted[number]
                number += 1
        assert chunk.position["line"] == number
        assert chunk.position["offset"] == min(
            sum(len(line) + 1 for line in wanted[:number]), len(data)
        )
    assert number == len(wanted)


def test_a_line_of_100_megabytes_takes_no_room(tmp_path):
    """It is skipped while it streams by: what is held stays near the limit."""
    import tracemalloc  # noqa: PLC0415 # this test's

    path = tmp_path / "in"
    with path.open("wb") as file:
        file.write(LINES[0])
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + LINES[1])
    source = FileSource(path, limits=Limits(line_bytes=1_000_000), block_bytes=1 << 20)
    tracemalloc.start()
    try:
        found = chunks(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [chunk.oversized for chunk in found] == [False, True, False]
    assert lines_of(found) == LINES[0] + LINES[1]
    assert found[2].first_line == 3
    assert peak < 8_000_000


def test_a_folder_gives_each_file_in_the_order_of_names(tmp_path):
    (tmp_path / "b.jsonl").write_bytes(b"".join(LINES[700:1_400]))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(LINES[:700])))
    (tmp_path / "c.log").write_bytes(b"".join(LINES[1_400:]).removesuffix(b"\n"))
    (tmp_path / ".hidden").write_text("no")

    found = chunks(FolderSource(tmp_path, block_bytes=9_000))

    assert b"".join(chunk.data for chunk in found) == WHOLE.removesuffix(b"\n")
    assert sorted({chunk.file for chunk in found}) == [1, 2, 3]
    for at in (0, len(found) // 2, len(found) - 2):
        position = json.loads(json.dumps(found[at].position))
        rest = chunks(FolderSource(tmp_path), position)
        assert lines_of(rest) == lines_of(found[at + 1 :])
    position = found[-1].position
    (tmp_path / "aa.jsonl").write_bytes(LINES[0])
    with pytest.raises(DataError, match="aren't those"):
        chunks(FolderSource(tmp_path), position)


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINES[0])
    (tmp_path / "b.csv").write_text("a,b")

    with pytest.raises(DataError, match="File 2 of the folder"):
        FolderSource(tmp_path)


def test_a_pipe_is_given_again_from_its_beginning():
    found = chunks(PipeSource(piped(WHOLE), block_bytes=9_000))
    again = chunks(PipeSource(piped(WHOLE)), found[3].position)

    assert lines_of(found) == WHOLE
    assert lines_of(again) == lines_of(found[4:])
    with pytest.raises(DataError, match="isn't the one"):
        chunks(PipeSource(piped(WHOLE[1:])), found[3].position)


def piped(data):
    """The end of a pipe that somebody writes into."""
    reader, writer = os.pipe()

    def write():
        with os.fdopen(writer, "wb") as file:
            try:
                file.write(data)
            except BrokenPipeError:
                return

    threading.Thread(target=write, daemon=True).start()
    return reader


ROWS = pl.DataFrame(
    {
        "n": range(40_000),
        "who": [{"id": f"u{n % 7}", "tags": ["a", None][: n % 3]} for n in range(40_000)],
        "at": pl.Series([1_400_000_000] * 40_000).cast(pl.Datetime("ms")),
    }
)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_rows_of_a_table_become_lines(tmp_path, ending):
    path = tmp_path / f"in{ending}"
    write = {".parquet": "write_parquet", ".arrow": "write_ipc", ".arrows": "write_ipc_stream"}
    getattr(ROWS, write[ending])(path)

    found = chunks(open_source(path))

    as_text = ROWS.with_columns(pl.col("at").dt.to_string("%F %T"))
    assert pl.read_ndjson(lines_of(found)).equals(as_text)
    assert [chunk.lines for chunk in found] == [chunk.data.count(b"\n") for chunk in found]
    for at in (0, 1):
        rest = chunks(open_source(path), json.loads(json.dumps(found[at].position)))
        assert lines_of(rest) == lines_of(found[at + 1 :])
        assert rest[0].first_line == found[at + 1].first_line
    assert b"who" not in lines_of(chunks(open_source(path, roots=frozenset({"n"}))))
    ROWS.head(9).write_parquet(path) if ending == ".parquet" else ROWS.head(9).write_ipc(path)
    if ending != ".arrows":
        with pytest.raises(DataError, match="isn't the one"):
            chunks(open_source(path), found[0].position)


def test_bytes_in_a_table_have_no_word_in_json(tmp_path):
    path = tmp_path / "in.parquet"
    pl.DataFrame({"a": [1], "raw": [b"x"], "deep": [[{"b": b"y"}]]}).write_parquet(path)

    with pytest.raises(SchemaError, match="'raw', 'deep'"):
        chunks(ColumnarFile(path))
    assert lines_of(chunks(ColumnarFile(path, roots=frozenset({"a"})))) == b'{"a":1}\n'


FOREIGN: dict[str, Callable[[], pa.Array]] = {
    "uuid": lambda: pa.array([bytes(16)], pa.uuid()),
    "json": lambda: pa.array(["{}"], pa.json_()),
    "uuid in a struct": lambda: pa.StructArray.from_arrays(
        [pa.array([bytes(16)], pa.uuid())], ["u"]
    ),
    "list view": lambda: pa.array([[1]], pa.list_view(pa.int32())),
    "wide decimal": lambda: pa.array([1], pa.decimal256(50, 2)),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_types_that_mean_something_else_are_refused(tmp_path, ending, kind):
    """A uuid ended in a panic, with a stack trace; a column that no rule names may be one."""
    path = tmp_path / f"in{ending}"
    table = pa.table({"odd": FOREIGN[kind](), "n": [2**63 - 1]})
    if ending == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)

    with pytest.raises(SchemaError, match="'odd'"):
        chunks(ColumnarFile(path))
    named = ColumnarFile(path, roots=frozenset({"n"}))
    assert lines_of(chunks(named)) == b'{"n":9223372036854775807}\n'


def test_a_damaged_table_is_refused(tmp_path):
    path = tmp_path / "in.parquet"
    path.write_bytes(b"PAR1 canary PAR1")

    with pytest.raises(DataError, match="can't be read") as caught:
        chunks(ColumnarFile(path))
    assert "canary" not in str(caught.value)


def test_inputs_that_cant_be_are_refused(tmp_path):
    with pytest.raises(DataError, match="isn't there"):
        open_source(tmp_path / "none")
    for where in ("-", tmp_path, tmp_path / "a.parquet"):
        with pytest.raises(ParameterError, match="followed"):
            open_source(where, follow=True)


class Follower:
    """Follows a file in a thread, and collects what comes."""

    def __init__(self, path, position=None):
        self.source = FollowedFile(path, poll_seconds=0.005)
        self.found = []
        self.stop = threading.Event()
        self.failed = None
        self.thread = threading.Thread(target=self._work, args=(position,), daemon=True)
        self.thread.start()

    def _work(self, position):
        try:
            for chunk in self.source.chunks(position, self.stop):
                self.found.append(chunk)
        except DataError as error:
            self.failed = error

    def until(self, data):
        import time  # noqa: PLC0415 # polled with a deadline

        end = time.monotonic() + 30
        while lines_of(self.found) != data:
            assert time.monotonic() < end, "it didn't come"
            assert self.thread.is_alive() or lines_of(self.found) == data
            time.sleep(0.002)

    def done(self):
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.found


def test_following_waits_for_the_end_of_a_line(tmp_path):
    path = tmp_path / "log"
    follower = Follower(path)  # which isn't there yet
    path.write_bytes(LINES[0] + LINES[1][:10])
    follower.until(LINES[0])
    with path.open("ab") as file:
        file.write(LINES[1][10:])
    follower.until(LINES[0] + LINES[1])

    found = follower.done()
    assert [chunk.first_line for chunk in found] == [1, 2]


def test_following_goes_through_rotation_and_truncation(tmp_path):
    path, old = tmp_path / "log", tmp_path / "log.1"
    path.write_bytes(LINES[0])
    follower = Follower(path)
    follower.until(LINES[0])
    with path.open("ab") as file:
        path.rename(old)
        file.write(LINES[1].rstrip(b"\n"))  # whoever has it open writes on
    path.write_bytes(LINES[2] * 3)
    follower.until(LINES[0] + LINES[1].rstrip(b"\n") + LINES[2] * 3)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(LINES[3])
    follower.until(LINES[0] + LINES[1].rstrip(b"\n") + LINES[2] * 3 + LINES[3])

    found = follower.done()
    assert follower.source.counts() == {"rotations": 1, "truncations": 1}
    assert [chunk.file for chunk in found if chunk.data.startswith(LINES[2])] == [2]
    assert found[-1].first_line == 1


def test_following_goes_on_where_it_was_through_a_rotation(tmp_path):
    """What came to the old file while nobody followed is read first; if it is gone, it is said."""
    path, old = tmp_path / "log", tmp_path / "log-2024"
    path.write_bytes(LINES[0])
    first = Follower(path)
    first.until(LINES[0])
    position = json.loads(json.dumps(first.done()[-1].position))
    with path.open("ab") as file:
        file.write(LINES[1])
    path.rename(old)
    path.write_bytes(LINES[2])

    second = Follower(path, position)
    second.until(LINES[1] + LINES[2])
    second.done()
    old.unlink()
    path.write_bytes(LINES[2])
    third = Follower(path, position)
    third.thread.join(30)

    assert "lines may be lost" in str(third.failed)


def numbered(first, last):
    return b"".join(b'{"event": %04d}\n' % n for n in range(first, last))


@pytest.mark.parametrize("more", [0, 1, 300], ids=["same-size", "larger", "much-larger"])
def test_a_file_emptied_and_refilled_at_once_is_read_from_its_beginning(tmp_path, more):
    """Between two looks nothing shows that it was shorter: its inode and length are as before."""
    path = tmp_path / "log"
    before, after = numbered(0, 400), numbered(1000, 1400 + more)
    path.write_bytes(before)
    follower = Follower(path)
    follower.until(before)
    path.write_bytes(after)  # truncates, and keeps the inode
    follower.until(before + after)

    found = follower.done()
    assert follower.source.counts() == {"rotations": 0, "truncations": 1}
    assert [chunk.first_line for chunk in found][-1] == 1


def test_a_refill_within_an_unfinished_line_is_noticed(tmp_path):
    """What was read of a line that has no end yet belongs to the old file."""
    path = tmp_path / "log"
    path.write_bytes(LINES[0] + b'{"half')
    follower = Follower(path)
    follower.until(LINES[0])
    path.write_bytes(LINES[0] + b'{"other": "and longer than before"}\n')
    follower.until(LINES[0] * 2 + b'{"other": "and longer than before"}\n')
    follower.done()


def test_what_a_copy_has_more_is_read_before_the_emptied_file(tmp_path):
    """logrotate's copytruncate: lines that came between the last look and the copy aren't lost."""
    path = tmp_path / "app.log"
    path.write_bytes(numbered(0, 50))
    follower = Follower(path)
    follower.until(numbered(0, 50))
    (tmp_path / "app.log.1").write_bytes(numbered(0, 60))
    (tmp_path / "app.log.2").write_bytes(numbered(500, 570))
    path.write_bytes(numbered(60, 200))
    follower.until(numbered(0, 200))
    follower.done()


@pytest.mark.parametrize("refill", [b"", numbered(60, 70), numbered(60, 300)])
def test_going_on_after_copytruncate_reads_the_copy_first(tmp_path, refill):
    path = tmp_path / "app.log"
    path.write_bytes(numbered(0, 50))
    first = Follower(path)
    first.until(numbered(0, 50))
    position = json.loads(json.dumps(first.done()[-1].position))
    (tmp_path / "app.log.1").write_bytes(numbered(0, 60))
    path.write_bytes(refill)

    second = Follower(path, position)
    second.until(numbered(50, 60) + refill)
    second.done()


@pytest.mark.parametrize("refill", [b"", numbered(60, 70), numbered(60, 110), numbered(60, 300)])
def test_going_on_is_refused_where_a_file_was_refilled_and_no_copy_is_left(tmp_path, refill):
    """Of the same inode, whatever its length is."""
    path = tmp_path / "app.log"
    path.write_bytes(numbered(0, 50))
    first = Follower(path)
    first.until(numbered(0, 50))
    position = json.loads(json.dumps(first.done()[-1].position))
    path.write_bytes(refill)

    second = Follower(path, position)
    second.thread.join(30)
    assert "lines may be lost" in str(second.failed)


@pytest.mark.parametrize("between", ["log.1", "log.1.gz"])
def test_going_on_is_refused_after_several_rotations(tmp_path, between):
    """The file between would be skipped without a word."""
    path = tmp_path / "log"
    path.write_bytes(LINES[0])
    first = Follower(path)
    first.until(LINES[0])
    position = json.loads(json.dumps(first.done()[-1].position))
    path.rename(tmp_path / "log.2")
    (tmp_path / between).write_bytes(LINES[1])
    os.utime(tmp_path / "log.2", (1, 1))
    path.write_bytes(LINES[2])

    second = Follower(path, position)
    second.thread.join(30)
    assert "several times" in str(second.failed)
    (tmp_path / between).unlink()
    third = Follower(path, position)
    third.until(LINES[2])
    third.done()


@pytest.mark.parametrize(
    ("kind", "cell"),
    [(pa.date32(), 2**31 - 1), (pa.time32("ms"), 90_000_000), (pa.timestamp("us"), 2**63 - 1)],
)
@pytest.mark.parametrize("nested", [False, True])
def test_times_that_no_calendar_has_are_refused(tmp_path, kind, cell, nested):
    """They ended the run in a PanicException, or were missing."""
    storage = pa.int32() if kind.bit_width == 32 else pa.int64()
    cells = pa.array([cell], storage).view(kind)
    column = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), cells) if nested else cells
    pq.write_table(pa.table({"seen": column}), tmp_path / "x.parquet")

    with pytest.raises(DataError, match=r"infinite|24 hours"):
        chunks(ColumnarFile(tmp_path / "x.parquet"))


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("nested", [False, True])
def test_lists_of_a_fixed_size_are_read_in_any_batches(tmp_path, ending, nested, monkeypatch):
    """Polars took the parts of a batch for damaged."""
    monkeypatch.setattr(_columnar, "_ROWS", 2)
    lists = [None if n % 3 == 1 else [n, None] for n in range(7)]
    column = pa.array(lists, pa.list_(pa.int64(), 2))
    table = pa.table({"v": pa.StructArray.from_arrays([column], ["w"]) if nested else column})
    path = tmp_path / f"in{ending}"
    if ending == ".parquet":
        pq.write_table(table, path)
    else:
        with (pa.ipc.new_stream if ending == ".arrows" else pa.ipc.new_file)(
            path, table.schema
        ) as writer:
            writer.write_table(table)
    found = chunks(ColumnarFile(path))
    again = chunks(ColumnarFile(path), found[0].position)

    rows = [json.loads(line)["v"] for line in lines_of(found).splitlines()]
    assert rows == ([{"w": each} for each in lists] if nested else lists)
    assert lines_of(again) == lines_of(found[1:])

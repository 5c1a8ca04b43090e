"""Arrow's threads hold nothing of Python's once a CSV file has been read."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import ClassVar

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from halfmask.data.io import _csv
from halfmask.data.io._csv import CsvBatches, _Noting

ROWS = b"1,2\n" * 50_000


class Stream(io.RawIOBase):
    """Bytes of which the last pieces may be waited for."""

    def __init__(self, data=ROWS, *, wait_at=None, fail_at=None):
        super().__init__()
        self.below = io.BytesIO(data)
        self.may_go_on = threading.Event()
        self.waits = threading.Event()
        self.wait_at = wait_at
        self.fail_at = fail_at

    def read(self, size=-1, /):
        if self.fail_at is not None and self.below.tell() >= self.fail_at:
            raise ValueError("the disk broke")
        if self.wait_at is not None and self.below.tell() >= self.wait_at:
            self.waits.set()
            self.may_go_on.wait()
        return self.below.read(size)


def batches(stream):
    read = arrow_csv.ReadOptions(column_names=["a", "b"], block_size=1 << 12, use_threads=False)
    return CsvBatches(stream, read, arrow_csv.ParseOptions(), arrow_csv.ConvertOptions(), [])


def read_all(stream):
    with batches(stream) as found:
        return sum(batch.num_rows for batch in found)


def test_after_the_last_batch_nothing_holds_the_stream():
    stream = Stream()

    assert read_all(stream) == 50_000
    assert not _csv._OPEN
    assert sys.getrefcount(stream) == 2  # the name here and the argument of the call


def test_after_an_early_end_nothing_holds_the_stream():
    with batches(Stream()) as found:
        next(found)

    assert all(watch() is None for watch in found._watches)
    assert list(found) == []
    found.close()


def test_closing_waits_for_a_read_that_is_under_way():
    stream = Stream(wait_at=1 << 16)
    found = batches(stream)
    next(found)
    stream.waits.wait()
    closing = threading.Thread(target=found.close)
    closing.start()

    assert any(watch() is not None for watch in found._watches)
    stream.may_go_on.set()
    closing.join()
    assert all(watch() is None for watch in found._watches)


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (Stream(fail_at=1 << 16), ValueError),
        (Stream(fail_at=0), ValueError),
        (Stream(b""), pa.ArrowInvalid),
        (Stream(ROWS + b"1,2,3\n"), pa.ArrowInvalid),
    ],
)
def test_after_an_error_nothing_holds_the_stream(stream, error):
    before = set(_csv._OPEN)
    with pytest.raises(error):
        read_all(stream)

    assert set(_csv._OPEN) == before


@pytest.mark.parametrize("end", [b"", b"1,2,3\n", b"1\n"])
@pytest.mark.parametrize("start", [b"1,2\n", ROWS])
def test_when_reading_ends_nothing_holds_the_handler_of_rows(monkeypatch, start, end):
    notes: list[weakref.ref[_Noting]] = []
    monkeypatch.setattr(_csv, "_Noting", lambda ragged: _noted(ragged, notes))
    with suppress(pa.ArrowInvalid):
        read_all(Stream(start + end))

    assert [note() for note in notes] == [None]


def test_arrow_holds_no_bytes_of_a_read_once_it_is_over():
    held: list[int] = []

    class Counted(Stream):
        given: ClassVar[list[bytes]] = []

        def read(self, size=-1, /):
            held.extend(sys.getrefcount(data) for data in self.given)
            self.given.append(super().read(size))
            return self.given[-1]

    read_all(Counted())

    # The list, the name in the loop and the argument of the call.
    assert len(held) > 100
    assert set(held) == {3}


def _noted(ragged, notes):
    note = _Noting(ragged)
    notes.append(weakref.ref(note))
    return note


def test_errors_of_reads_are_kept_from_arrow():
    stream = Stream(fail_at=1 << 16)
    with pytest.raises(ValueError, match="the disk broke") as raised:
        read_all(stream)

    assert raised.value.__traceback__ is not None
    assert raised.value.__cause__ is None
    assert sys.getrefcount(raised.value) <= 4  # nothing of Arrow's is among them


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "rows.close()", "raise SystemExit(0)", "del rows"])
def test_a_script_that_stops_reading_ends_well(tmp_path, end):
    (tmp_path / "people.csv").write_bytes(b"age,sex\n" + b"41,f\n" * 1_500_000)
    script = (
        "from halfmask.data import open_table\n"
        "rows = open_table('people.csv').batches(10)\n"
        f"next(rows)\n{end}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True)  # noqa: PLW1510 # judged below

    assert (done.returncode, done.stderr) == (0, b"")

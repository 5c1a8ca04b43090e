"""Arrow's threads hold nothing of Python's once a CSV file has been read."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from halfmask.data import _csv_batches
from halfmask.data._csv_batches import CsvBatches

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
    return CsvBatches(stream, read, arrow_csv.ParseOptions(), arrow_csv.ConvertOptions())


def read_all(stream):
    with batches(stream) as found:
        return sum(batch.num_rows for batch in found)


def test_after_the_last_batch_nothing_holds_the_stream():
    stream = Stream()

    assert read_all(stream) == 50_000
    assert not _csv_batches._OPEN
    assert sys.getrefcount(stream) == 2  # the name here and the argument of the call


def test_after_an_early_end_nothing_holds_the_stream():
    with batches(Stream()) as found:
        next(found)

    assert found._watch() is None
    assert list(found) == []
    found.close()


def test_closing_waits_for_a_read_that_is_under_way():
    stream = Stream(wait_at=1 << 16)
    found = batches(stream)
    next(found)
    stream.waits.wait()
    closing = threading.Thread(target=found.close)
    closing.start()

    assert found._watch() is not None
    stream.may_go_on.set()
    closing.join()
    assert found._watch() is None


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
    before = set(_csv_batches._OPEN)
    with pytest.raises(error):
        read_all(stream)

    assert set(_csv_batches._OPEN) == before


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

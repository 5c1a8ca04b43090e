"""A death or a full disk at any step leaves the old file or the new one, never a half."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from halfmask.data import atomic_file

HERE = Path(__file__).parent
STEPS = """
import os, pathlib, signal, sys
sys.path.insert(0, sys.argv[2])
import polars as pl
from conftest import people
from halfmask.data.io import _sinks, writer as _writer
from halfmask.encode import Codec, _files, decode_file, encode_file
from halfmask.vault import Secret

_files._MAX_ROWS = 64
_writer._CELLS = 64
where = pathlib.Path(sys.argv[1])
OUT = where / "out.parquet"


def work(use):
    rows = people()
    codec = Codec(learner="trees", secret=Secret.from_bytes(bytes(32))).fit(rows)
    if use == "encode":
        return lambda: encode_file(codec, rows, OUT, overwrite=True)
    sent = pl.concat(
        codec.encode(batch, batch=place) for place, batch in enumerate(rows.iter_slices(64))
    )
    return lambda: decode_file(codec, sent, OUT, overwrite=True)


def die_at(moment):
    left = {"a batch": 4, "the end": 1, "the name": 1}[moment]
    def dying(function):
        def instead(*given, **named):
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*given, **named)
        return instead
    if moment == "a batch":
        _sinks._Parquet.write = dying(_sinks._Parquet.write)
    elif moment == "the end":
        _sinks._Parquet.close = dying(_sinks._Parquet.close)
    else:
        pathlib.Path.replace = dying(pathlib.Path.replace)
"""
KILLED = (
    STEPS
    + """
use, moment = sys.argv[3:]
OUT.write_bytes(b"old")
run = work(use)
die_at(moment)
run()
"""
)
IN_PLACE = """
from contextlib import contextmanager
from halfmask.data.io import writer as _writer
@contextmanager
def straight(path, *, overwrite):
    with open(path, "wb", buffering=0) as file:
        yield file
_writer.atomic_file = straight
"""
FULL = (
    STEPS
    + """
import resource
from halfmask import ReleaseError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for use in ("encode", "decode"):
    run = work(use)
    OUT.write_bytes(b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
    try:
        run()
    except ReleaseError as error:
        print(use, error.what)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert OUT.read_bytes() == b"old"
    assert [path.name for path in where.iterdir()] == ["out.parquet"]
"""
)


def _run(script, *given):
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, given[0], HERE, *given[1:]],
        capture_output=True, check=False, text=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "moment"),
    [("encode", "a batch"), ("encode", "the name"), ("decode", "the end")],
)
def test_kill_9_leaves_the_old_file(tmp_path, use, moment):
    """Before a batch in the middle, before the file ends, before it takes its name."""
    done = _run(KILLED, tmp_path, use, moment)

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "out.parquet").read_bytes() == b"old"
    with atomic_file(tmp_path / "next"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["next", "out.parquet"]


@pytest.mark.slow
def test_a_full_disk_is_said_and_leaves_the_old_file(tmp_path):
    done = _run(FULL, tmp_path)
    said = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in said] == ["encode", "decode"]
    assert all("disk is full" in line for line in said)


@pytest.mark.slow
def test_a_writer_that_writes_in_place_would_leave_a_half(tmp_path):
    done = _run(
        KILLED.replace("use, moment", IN_PLACE + "use, moment", 1), tmp_path, "encode", "the end"
    )

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "out.parquet").read_bytes() != b"old"

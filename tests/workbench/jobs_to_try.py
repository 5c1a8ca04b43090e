"""Work for the tests of jobs, run in processes of its own."""

# ruff: noqa: ARG001 # all work is called with a report and a folder

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

from halfmask._errors import DataError
from halfmask.data import atomic_folder

CANARY = "Canary Kovac, 12 Elm Street"


def add(report, folder, *, numbers):
    report("adding", 0.5)
    (folder / "part.txt").write_text("half", encoding="utf-8")
    return {"sum": sum(numbers)}


def hold(report, folder, *, pipe, out):
    """Write half a release, say so, and wait until somebody ends it."""
    with atomic_folder(Path(out)) as half:
        (half / "rows.csv").write_text("half", encoding="utf-8")
        report("holding", 0.25)
        _say(pipe)
        signal.pause()


def hold_deaf(report, folder, *, pipe):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _say(pipe)
    while True:
        signal.pause()


def hold_children(report, folder, *, pipe):
    """Wait in two processes: both must end, or the reader of the pipe waits for ever."""
    writer = os.open(pipe, os.O_WRONLY)
    os.fork()
    os.write(writer, b"x")
    signal.pause()


def refuse(report, folder):
    raise DataError("The table has no rows.", hint="Choose another file.")


def fail(report, folder, *, kind):
    raise {
        "foreign": KeyError(CANARY),
        "memory": MemoryError(CANARY),
        "full": OSError(errno.ENOSPC, CANARY, CANARY),
        "refused": PermissionError(errno.EACCES, CANARY, CANARY),
        "absent": ModuleNotFoundError(CANARY, name="numba"),
        "exit": SystemExit(CANARY),
    }[kind]


def return_what_is_no_json(report, folder):
    return {CANARY}


def _say(pipe):
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"x")
    os.close(writer)

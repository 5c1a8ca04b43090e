"""Functions that a cluster's workers import."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

from halfmask import SchemaError
from halfmask.anonymize import _summary


def text(n):
    """Return a number as text, with a comma."""
    return f"{n},"


def failing(n):
    """Fail from the second batch on; the exception says which."""
    if n >= 2:
        raise ValueError(str(n))
    return ""


def careless(frame):
    """Fail on a batch without saying a value of it."""
    raise RuntimeError(f"{frame.height} rows")


def killing(marker, n):
    """Kill the worker at the fourth batch, the first time."""
    path = Path(marker)
    if n == 3 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{n},"


def killing_once(marker, function, batch):
    """Kill the worker once, else do what another function does."""
    killing(marker, 3)
    return function(batch)


def refusing(_batch):
    """Raise an error of ours."""
    raise SchemaError("No such table.", hint="Open it.")


def size(batch):
    """Return how long a batch is."""
    return len(batch)


def killing_other(pid, marker, function, batch):
    """Kill another process once, such as the scheduler; else do what another function does."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(pid, signal.SIGKILL)
    return function(batch)


def moving(folder, target, function, batch):
    """Move a folder away once, and do what another function does."""
    if folder.exists():
        folder.rename(target)
    return function(batch)


def hiding(parent, function, batch):
    """Remove the folder that rows are written aside to, and do what another function does."""
    for folder in parent.glob(".halfmask-*/.order"):
        folder.rmdir()
    return function(batch)


def with_most(most, function, *arguments):
    """Call a function where summaries keep so many rows."""
    usual, _summary.MAX_ROWS = _summary.MAX_ROWS, most
    try:
        return function(*arguments)
    finally:
        _summary.MAX_ROWS = usual


def removing(parent, function, batch):
    """Remove the folder that files are written to, and do what another function does."""
    for folder in parent.glob(".halfmask-*.tmp"):
        folder.rmdir()
    return function(batch)


def on_a_full_disk(function, *given):
    """Do what another function does while no file may grow beyond 1000 bytes, as if a disk is full.

    Of this process: a worker has one thread.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        return function(*given)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def losing(path, function, batch):
    """Remove a file of the table, and do what another function does."""
    path.unlink(missing_ok=True)
    return function(batch)


def killing_executor_once(marker, function, batch):
    """Kill the executor of Spark that runs this once, else do what another function does."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        pid = os.getpid()
        while Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() != "java":
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            pid = int(status.rpartition(")")[2].split()[1])  # the parent
        os.kill(pid, signal.SIGKILL)
    return function(batch)

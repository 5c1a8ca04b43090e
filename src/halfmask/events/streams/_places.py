"""Where outputs lie on the disk: OUT.partial until they are whole, locked, flushed."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from halfmask._errors import ReleaseError

_PARTIAL = ".partial"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def partial_of(path: Path) -> Path:
    """Return where an output is until all of it is written."""
    return path.with_name(path.name + _PARTIAL)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over what is there, unless that is allowed; never over what isn't ours."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise ReleaseError(
            "The output exists, or what an earlier run left of it: OUT, or OUT.partial.",
            hint="Choose another name, or allow it to be overwritten: "
            "[[overwrite=True|--overwrite]].",
        )
    if path.is_dir() and any(not each.name.startswith("part-") for each in path.iterdir()):
        raise ReleaseError(
            "The folder to overwrite is none that halfmask made, so it stays.",
            hint="Choose another name, or remove it yourself.",
        )


def lock(file: BinaryIO) -> None:
    """Keep other runs from the file until it is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ReleaseError(
            "Another run writes to the same output.", hint="Wait for it, or stop it."
        ) from None
    except OSError:
        return  # a file system without locks


def not_ours() -> ReleaseError:
    """Return the error of an output that differs from the checkpoint."""
    return ReleaseError(
        "What was written before the last checkpoint isn't there any more, or is something else.",
        hint="Name the output that the run began with, or start again with "
        "[[restart=True|--restart]].",
    )


@contextmanager
def writing_out() -> Iterator[None]:
    """Turn errors of the file system into ours, which name no path."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the system refused"
        full = error.errno in _FULL
        raise ReleaseError(
            f"The output can't be written: {'the disk is full' if full else reason}.",
            hint="What was written up to the last checkpoint is kept. "
            + ("Make room, then run again." if full else "Check its folder, then run again."),
        ) from None


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems can't, and needn't
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""One writer at a time: the second gets an error at once, and a dead one blocks nobody."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halfmask._errors import VaultError

LOCK_FILE = "writing"


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a vault for writing.

    Notes
    -----
    The lock is the kernel's (``flock``), which lets go when its holder dies, however it dies. The
    number in the file is for people only: a stale one is overwritten.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(folder / LOCK_FILE, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise VaultError(
                f"The vault is being written by another process ({_holder(descriptor)}).",
                hint="Wait until it is done, then try again.",
            ) from None
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}:
                raise
            raise VaultError(
                "The file system has no locks, so that two writers could meet.",
                hint="Keep the vault on a disk of this machine.",
            ) from None
        if not _is_at(descriptor, folder / LOCK_FILE):
            raise VaultError("The vault was destroyed by another process.")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    with suppress(OSError, ValueError):
        return f"pid {int(os.pread(descriptor, 20, 0))}"
    return "pid unknown"

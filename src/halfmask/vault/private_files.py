"""Files and folders that only their owner may read: written whole, and refused if others may.

The file system's own errors pass through, to be turned into one of ours by `keeping`, so that a
caller may tell a file that isn't there from one that may not be read.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halfmask._errors import IntegrityError, VaultError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
TEMPORARY = ".tmp"


def absolute(path: str | Path) -> Path:
    """Return the absolute path; links stay links, to be refused."""
    return Path(os.path.abspath(path))  # noqa: PTH100 # resolve() would follow the last link


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read, and flush it to the disk."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def overwrite(path: Path) -> None:
    """Write random bytes over a file's, as far as the file system lets that reach the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.write(descriptor, os.urandom(os.fstat(descriptor).st_size))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_private(path: Path, data: bytes) -> None:
    """Write a file whole, in one step in place of the one that is there."""
    temporary = path.parent / f"{secrets.token_hex(8)}{TEMPORARY}"
    try:
        write_private(temporary, data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def read_private(path: Path, *, what: str, most: int) -> bytes:
    """Read a file that nobody but its owner may read or write."""
    # Without O_NONBLOCK, a pipe of that name would make us wait for ever.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _linked(what) from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise VaultError(f"{what} is no file.")
        _check_owner(found, what=what, mode="0600")
        if found.st_size > most:
            raise IntegrityError(f"{what} is longer than it can be.")
        return _all_of(descriptor)
    finally:
        os.close(descriptor)


def check_private_file(path: Path, *, what: str) -> None:
    """Raise unless it is a file, not a link, that nobody but its owner may read or write."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _linked(what)
    if not stat.S_ISREG(found.st_mode):
        raise VaultError(f"{what} is no file.")
    _check_owner(found, what=what, mode="0600")


def check_private_folder(path: Path, *, what: str) -> None:
    """Raise unless it is a folder, not a link, that nobody but its owner may enter."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _linked(what)
    if not stat.S_ISDIR(found.st_mode):
        raise VaultError(f"{what} is no folder.")
    _check_owner(found, what=what, mode="0700")


def check_parent(path: Path, *, what: str) -> None:
    """Raise unless the folder is there in which something is to be made."""
    if not path.parent.is_dir():
        raise VaultError(f"The parent folder of {what} doesn't exist.", hint="Create it first.")


def sync_folder(folder: Path) -> None:
    """Flush a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems can't sync a folder, and needn't
            raise
    finally:
        os.close(descriptor)


class InUseError(VaultError):
    """Another process writes what is to be written."""


@contextmanager
def hold_file(path: Path, *, what: str) -> Iterator[None]:
    """Hold a file for writing, or raise `InUseError` at once.

    The lock is the kernel's (``flock``), which lets go when its holder dies, however it dies. The
    number in the file is for people only: a stale one is overwritten.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        _lock(descriptor, what=what)
        if not _is_at(descriptor, path):
            raise VaultError(f"{what} was destroyed by another process.")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
                # A child that was forked meanwhile has the descriptor too, and would keep the lock.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, what: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InUseError(
            f"{what} is in use: it is being written by another process ({_holder(descriptor)}).",
            hint="Wait until it is done, then try again.",
        ) from None
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}:
            raise
        raise VaultError(
            "The file system has no locks, so that two writers could meet.",
            hint="Keep the vault on a disk of this machine.",
        ) from None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    with suppress(OSError, ValueError):
        return f"pid {int(os.pread(descriptor, 20, 0))}"
    return "pid unknown"


def read_private_file(where: str | Path, *, what: str, most: int) -> bytes:
    """Read a file that nobody but its owner may read or write."""
    with keeping(what):
        return read_private(absolute(where), what=what, most=most)


@contextmanager
def keeping(what: str) -> Iterator[None]:
    """Turn every error of the file system into a `VaultError` that names no path."""
    try:
        yield
    except FileNotFoundError:
        raise VaultError(
            f"{what} is not there, or a part of it isn't.", hint="Check where it is."
        ) from None
    except FileExistsError:
        raise VaultError(
            f"{what} can't be made: something of that name is there.", hint="Choose another name."
        ) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the system refused"
        raise VaultError(
            f"{what} can't be read or written ({reason}). What it held, it still holds.",
            hint="Check the disk's room, and that the folder is yours.",
        ) from None


def _all_of(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _check_owner(found: os.stat_result, *, what: str, mode: str) -> None:
    if found.st_uid != os.geteuid():
        raise VaultError(f"{what} belongs to another user.", hint="Copy it as yourself.")
    if found.st_mode & _OTHERS:
        raise VaultError(
            f"{what} may be read or written by others: its mode is "
            f"{stat.S_IMODE(found.st_mode):04o}.",
            hint=f"If nobody else has seen it, give it the mode {mode}; else make a new one.",
        )


def _linked(what: str) -> VaultError:
    return VaultError(f"{what} is a symbolic link.", hint="Name the thing itself, not a link.")

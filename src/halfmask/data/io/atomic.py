"""Files and folders that are written whole or not at all.

A new file lies next to its target under a name of its own, is flushed to the disk, and takes
the target's name in one step. A process that dies at any point leaves the target unchanged, or
new and complete; the next one that writes there removes its rest.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from halfmask._errors import ParameterError, ReleaseError
from halfmask.data.io.formats import refuse_object_address

_TEMPORARY = re.compile(r"\.halfmask-[0-9a-f]{16}\.tmp")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic_file(path: str | Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Write a file whole or not at all.

    Guarantees
    ----------
    The path always holds either the old file or the complete new file, even if the process is
    killed. The data is on the disk before the file is renamed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(pathlib.Path(folder) / "note.txt") as file:
    ...         _ = file.write(b"whole")
    ...     (pathlib.Path(folder) / "note.txt").read_text()
    'whole'
    """
    target = _target_of(path, "file to write", overwrite=overwrite)
    with writing("The file to write"):
        _check_parent(target.parent, "file to write")
        if target.is_dir() or (os.path.lexists(target) and not overwrite):
            raise _exists("The file to write")
        temporary, descriptor = locked_file(target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                if target.is_file():
                    os.fchmod(descriptor, target.stat().st_mode & 0o7777)
                os.fsync(descriptor)
                if overwrite:
                    temporary.replace(target)
                else:
                    rename_new(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(target.parent)


@contextmanager
def atomic_folder(
    path: str | Path,
    *,
    overwrite: bool = False,
    marker: str | None = None,
    what: str = "folder to write",
) -> Iterator[Path]:
    """Build a folder that appears whole or not at all.

    Of folders that are there, only one that holds the file ``marker`` is replaced, if it is given.

    Guarantees
    ----------
    If the process is killed at any point, the path holds the complete old folder or the complete
    new one. One system call swaps them.

    Edge cases
    ----------
    Some network and virtual file systems can't swap two folders in one step. There the old folder
    is renamed first. If the process is killed before the new folder gets the name, the old folder
    stays complete next to it. The next call with the same path restores it first.
    """
    target = _target_of(path, what, overwrite=overwrite)
    with writing(f"The {what}"):
        _check_parent(target.parent, what)
        _put_back(target)
        check_new_folder(target, overwrite=overwrite, marker=marker, what=what)
        _sweep(target.parent)
        temporary, descriptor = _new_folder(target.parent)
        try:
            yield temporary
            _sync_tree(temporary)
            if overwrite and os.path.lexists(target):
                _replace_folder(temporary, target)
            else:
                rename_new(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        finally:
            os.close(descriptor)
        _sync_folder(target.parent)


def check_new_folder(
    path: str | Path, *, overwrite: bool, marker: str | None, what: str = "folder to write"
) -> None:
    """Raise if a folder can't be made: what fills it may take hours."""
    target = _target_of(path, what, overwrite=overwrite)
    with writing(f"The {what}"):
        _check_parent(target.parent, what)
        if os.path.lexists(target):
            _check_replaceable(target, what, overwrite=overwrite, marker=marker)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise ReleaseError(
                f"The parent folder of the {what} can't be written.",
                hint="Check its permissions, and that its disk isn't read-only.",
            )


def _target_of(path: object, what: str, *, overwrite: object) -> Path:
    """Return where something is to be written; a text for a yes would replace what is there."""
    refuse_object_address(path)
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else b""
    if not isinstance(text, str) or "\0" in text:
        what_is, got = f"The {what} must be given by a path without NUL", path
    elif not isinstance(overwrite, bool):
        what_is, got = "The 'overwrite' parameter must be True or False", overwrite
    else:
        return Path(os.path.abspath(text))  # noqa: PTH100 - resolve() would follow the last link
    raise ParameterError(f"{what_is}. Got a {type(got).__name__}.")


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Turn every error of the file system into a `ReleaseError` that names no path."""
    try:
        yield
    except FileExistsError:
        raise _exists(what) from None
    except OSError as error:
        if error.errno in _FULL:
            raise ReleaseError(
                f"{what} can't be written: the disk is full. Nothing was left behind.",
                hint="Free some space, or write to another disk.",
            ) from None
        reason = os.strerror(error.errno) if error.errno else "the system refused"
        raise ReleaseError(
            f"{what} can't be written ({reason}). Nothing was left behind.",
            hint="Check its parent folder, and the permissions.",
        ) from None


def _check_parent(parent: Path, what: str) -> None:
    if not parent.is_dir():
        raise ReleaseError(
            f"The parent folder of the {what} doesn't exist.", hint="Create it first."
        )


def _exists(what: str) -> ReleaseError:
    return ReleaseError(
        f"{what} exists.", hint="Choose another name, or allow it to be overwritten."
    )


def _check_replaceable(target: Path, what: str, *, overwrite: bool, marker: str | None) -> None:
    if target.is_symlink() or not target.is_dir():
        raise ReleaseError(
            f"A file or a link has the name of the {what}, so it stays.",
            hint="Choose another name, or remove it yourself.",
        )
    if not overwrite:
        raise _exists(f"The {what}")
    if marker and not (target / marker).is_file():
        raise ReleaseError(
            f"The {what} exists, and halfmask didn't make it, so it stays.",
            hint="Choose another name, or remove it yourself.",
        )


def _replace_folder(temporary: Path, target: Path) -> None:
    if not exchange(temporary, target):
        aside = _aside(target)
        target.rename(aside)
        try:
            temporary.rename(target)
        except BaseException:
            aside.rename(target)
            raise
        shutil.rmtree(aside, ignore_errors=True)
        return
    _sync_folder(target.parent)
    # The old folder lies under the temporary name now; a next writer removes what this can't.
    shutil.rmtree(temporary, ignore_errors=True)


def _aside(target: Path) -> Path:
    # The name depends on the target alone, so that the next process finds it.
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return target.parent / f".halfmask-{digest}.old"


def _put_back(target: Path) -> None:
    """Undo what a process that died between two renames has left."""
    aside = _aside(target)
    if not aside.is_dir():
        return
    if os.path.lexists(target):
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.rename(target)
        _sync_folder(target.parent)


def run_name() -> str:
    """Return a name that no other run has: its time in UTC, so that names sort by it."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def _new_name(parent: Path) -> Path:
    return parent / f".halfmask-{secrets.token_hex(8)}.tmp"


def locked_file(parent: Path) -> tuple[Path, int]:
    """Make a temporary file, locked as long as its writer lives; remove those of dead ones."""
    _sweep(parent)
    while True:
        path = _new_name(parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if _locked_and_there(descriptor, path):
            return path, descriptor
        os.close(descriptor)


def _new_folder(parent: Path) -> tuple[Path, int]:
    """Make a temporary folder that is locked as long as its writer lives."""
    while True:
        path = _new_name(parent)
        path.mkdir()
        # Another process may take it for a dead one's until it is locked: then make another.
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            if _locked_and_there(descriptor, path):
                return path, descriptor
            os.close(descriptor)


def _locked_and_there(descriptor: int, path: Path) -> bool:
    """Lock a file, and return whether it still has its name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: nobody else can lock it, either
    return _is_at(descriptor, path)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _sweep(parent: Path) -> None:
    """Remove what dead processes left: their locks are gone with them."""
    for path in parent.iterdir():
        if not _TEMPORARY.fullmatch(path.name):
            continue
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid() and _is_at(descriptor, path):
                    _remove(path)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            descriptor = os.open(Path(parent) / name, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        _sync_folder(Path(parent))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems can't sync a folder, and needn't
            raise
    finally:
        os.close(descriptor)


_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_NOREPLACE, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)
# What a kernel, a file system or a sandbox says that doesn't know these renames.
_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM}


def rename_new(source: Path, target: Path) -> None:
    """Rename a file or folder to a name that nothing has.

    Edge cases
    ----------
    Where the file system doesn't know such a rename, a file is linked and the old name removed,
    which is as sure; a folder is looked for and then renamed, so that an empty folder made in
    between is replaced.
    """
    if _rename(source, target, _NOREPLACE):
        return
    if source.is_dir():
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        source.rename(target)
        return
    os.link(source, target)
    source.unlink()


def exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step, or return ``False`` where that isn't known.

    At no point in time is either name without a file or folder.
    """
    return _rename(one, other, _EXCHANGE)


def _rename(source: Path, target: Path, flag: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    before, after = os.fsencode(source), os.fsencode(target)
    if hasattr(libc, "renameat2"):
        failed = libc.renameat2(_HERE, before, _HERE, after, flag)
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(before, after, flag)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    # OSError makes itself a FileExistsError, FileNotFoundError and so on by the number.
    raise OSError(number, os.strerror(number))

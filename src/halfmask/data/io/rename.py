"""Renames that the kernel does in one step: onto nothing, or two names swapped."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

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

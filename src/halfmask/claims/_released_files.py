"""The names of a release's files, and the way from a name to a file that can't lead elsewhere."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_name", "entries_of", "released_file"]

# Letters, digits, dot, dash and underscore: no "..", no drive, no separator of another system,
# nothing that another normalisation turns into one of these.
PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# Windows opens these as devices, whatever follows the dot.
DEVICE: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def check_name(name: str, folder: str) -> bool:
    """Return whether a name is that of a plain file under ``folder`` of a release.

    Examples
    --------
    >>> check_name("data/part-00000.parquet", "data")
    True
    >>> check_name("data/../secret", "data") or check_name("/data/x", "data")
    False
    """
    first, *rest = name.split("/")
    return (
        first == folder
        and len(rest) == 1
        and PART.fullmatch(rest[0]) is not None
        and not rest[0].endswith(".")
        and DEVICE.fullmatch(rest[0]) is None
    )


def released_file(folder: Path, name: str) -> Path | None:
    """Return the file of that name in a release folder, or None where it isn't a plain file.

    A symbolic link on the way, a folder, a device and a pipe are no plain files; the release
    folder itself may be a link, since its owner chose it.
    """
    path = folder
    parts = name.split("/")
    for depth, part in enumerate(parts, start=1):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError:
            return None
        wanted = stat.S_ISREG if depth == len(parts) else stat.S_ISDIR
        if not wanted(mode):
            return None
    return path


def entries_of(folder: Path) -> frozenset[str]:
    """Return the name of everything in a release folder that isn't a folder with something in it.

    Links are not followed, and an empty folder counts: its name could carry something.

    Raises
    ------
    VerificationError
        If a folder in it can't be listed.
    """
    found: set[str] = set()
    open_folders = [""]
    try:
        while open_folders:
            prefix = open_folders.pop()
            with os.scandir(folder / prefix) as entries:
                inside = list(entries)
            if not inside and prefix:
                found.add(prefix)
            for entry in inside:
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append(f"{name}/")
                else:
                    found.add(name)
    except OSError as error:
        raise VerificationError(
            f"The release folder can't be listed: {error.strerror or 'the system refused'}."
        ) from None
    return frozenset(found)

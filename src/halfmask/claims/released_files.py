"""The names of a release's files, and the way from a name to a file that can't lead elsewhere."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from halfmask.claims._strict import At

#: The name of the manifest in the folder of a release.
MANIFEST_NAME: Final = "manifest.json"
#: What follows the name of an output whose manifest lies next to it.
BESIDE: Final = ".manifest.json"

# Letters, digits, dot, dash and underscore: no "..", no drive, no separator of another system,
# nothing that another normalisation turns into one of these.
PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# Windows opens these as devices, whatever follows the dot.
DEVICE: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def check_name(name: str, folder: str | None) -> bool:
    """Return whether a name is that of a plain file under ``folder`` of a release.

    None is for an output with its manifest next to it: its owner named it, so that letters of any
    script and spaces are in order.

    Examples
    --------
    >>> check_name("data/part-00000.parquet", "data")
    True
    >>> check_name("data/../secret", "data") or check_name("/data/x", "data")
    False
    >>> check_name("März 14.jsonl", None), check_name("../x", None), check_name(".hidden", None)
    (True, False, False)
    """
    if folder is None:
        return not name.startswith(".") and not set(name) & {"/", "\\", "\0"}
    first, *rest = name.split("/")
    return (
        first == folder
        and len(rest) == 1
        and PART.fullmatch(rest[0]) is not None
        and not rest[0].endswith(".")
        and DEVICE.fullmatch(rest[0]) is None
    )


def released_name(at: At, folder: str | None) -> str:
    """Return the name of a plain file under a folder of the release; None: next to its manifest."""
    name = at.text()
    if not check_name(name, folder):
        where = "" if folder is None else f" under {folder}/"
        raise VerificationError(
            f"{at.place} must be the plain name of a file{where}.",
            hint="A release names only files of its own folder.",
        )
    return name


def manifest_of(output: Path) -> Path:
    """Return where the manifest of an output lies."""
    return output.parent / (output.name + BESIDE)


def manifest_path(where: Path) -> Path:
    """Return where the manifest of a release is: in its folder, or next to its output."""
    inside = where / MANIFEST_NAME
    if os.path.lexists(inside):
        return inside
    if (where.name == MANIFEST_NAME or where.name.endswith(BESIDE)) and where.is_file():
        return where
    if manifest_of(where).is_file():
        return manifest_of(where)
    within = sorted(where.glob("*" + BESIDE)) if where.is_dir() else []
    return within[0] if len(within) == 1 else inside


def folder_of(manifest: Path) -> Path:
    """Return the folder that the names of a manifest are in: its own, or an output next to it."""
    if manifest.name == MANIFEST_NAME:
        return manifest.parent
    output = manifest.with_name(manifest.name.removesuffix(BESIDE))
    return output if output.is_dir() else output.parent


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

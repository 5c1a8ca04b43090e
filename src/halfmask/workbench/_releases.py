"""Releases in the folder of the workbench: what they are called and say, and how one is made."""

from __future__ import annotations

import re
import tempfile
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import HalfmaskError, ParameterError, ReleaseError
from halfmask.claims import MANIFEST_NAME, read_manifest
from halfmask.claims.manifest import entries_of, released_file

if TYPE_CHECKING:
    from halfmask.claims import Manifest
    from halfmask.workbench._project import Project

#: Neither hidden nor an option of a command, and no separator of any system.
_NAME: Final = re.compile(r"\w[\w .-]{0,98}[\w-]|\w")
_MOST_BYTES: Final = 200
#: What follows the name in that of the page of tables that only the owner may see.
OWNER: Final = ".owner.html"
#: Releases that are listed, the newest first.
_MOST_LISTED: Final = 100


def check_new_name(folder: Path, name: str) -> Path:
    """Return where a release of a name is to lie; raise where it can't be one or is taken."""
    where = _place_of(folder, name)
    try:
        where.lstat()
    except FileNotFoundError:
        return where
    raise ReleaseError(
        "There is a file or folder of this name. Nothing was overwritten.",
        hint="Choose another name. The one that is proposed is free.",
    )


def release_named(folder: Path, name: str) -> Path:
    """Return the folder of a release; raise where there is none of the name."""
    where = _place_of(folder, name)
    if released_file(folder, f"{name}/{MANIFEST_NAME}") is None:
        raise ReleaseError("There is no release of this name.", hint="Choose one of the list.")
    return where


def _place_of(folder: Path, name: str) -> Path:
    if _NAME.fullmatch(name) is None or len(name.encode()) > _MOST_BYTES:
        raise ParameterError(
            "This can't be the name of a release.",
            hint="Take up to 100 letters, digits, dashes, dots and blanks; begin with a letter.",
        )
    return folder / name


def propose_name(project: Project) -> str:
    """Return a free name for a release: the table and the day."""
    file = project.table_file
    stem = "release" if file is None else file.name.partition(".")[0]
    stem = re.sub(r"[^\w-]", "-", stem).strip("-")[:40] or "release"
    name = f"{stem}-{datetime.now(UTC).astimezone():%Y-%m-%d}"
    number, free = 1, name
    while (project.folder / free).exists():
        number += 1
        free = f"{name}-{number}"
    return free


def releases_of(project: Project) -> list[tuple[str, Manifest]]:
    """Return the releases in the folder by name, the newest first."""
    found = []
    for path in project.folder.iterdir():
        with suppress(HalfmaskError):
            found.append((path.name, read_manifest(release_named(project.folder, path.name))))
    return sorted(found, key=lambda it: it[1].created, reverse=True)[:_MOST_LISTED]


def zip_of(project: Project, name: str) -> Path:
    """Return a zip of a release, to be sent and removed: each request has a folder of its own."""
    release = release_named(project.folder, name)
    downloads = project.hidden / "downloads"
    downloads.mkdir(mode=0o700, exist_ok=True)
    for sent in downloads.iterdir():
        if sent.is_dir() and not any(sent.iterdir()):
            sent.rmdir()
    made = Path(tempfile.mkdtemp(dir=downloads)) / f"{name}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in sorted(entries_of(release)):
            file = released_file(release, entry)
            if file is not None:
                archive.write(file, f"{name}/{entry}")
    return made

"""Releases in the folder of the workbench: what they are called and say, and how one is made."""

from __future__ import annotations

import re
import tempfile
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import HalfmaskError, ParameterError, ReleaseError
from halfmask.claims import MANIFEST_NAME, read_manifest
from halfmask.claims.manifest import entries_of, released_file

if TYPE_CHECKING:
    from halfmask.workbench._project import Project

#: Neither hidden nor an option of a command, and no separator of any system.
_NAME: Final = re.compile(r"\w[\w .-]{0,98}[\w-]|\w")
_MOST_BYTES: Final = 200
#: What follows the name in that of the page of tables that only the owner may see.
OWNER: Final = ".owner.html"
#: Releases that are listed, the newest first.
_MOST_LISTED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRelease:
    """A release in the folder, as its manifest says."""

    name: str
    created: str
    kind: str
    rows: int
    policy: str
    is_in_force: bool


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


def releases_of(project: Project) -> list[ListedRelease]:
    """Return the releases in the folder, the newest first."""
    in_force = ""
    if project.has_policy:
        try:
            in_force = project.any_policy().sha256
        except HalfmaskError:  # other pages say what is wrong with it
            in_force = ""
    found = []
    for path in project.folder.iterdir():
        try:
            manifest = read_manifest(release_named(project.folder, path.name))
        except HalfmaskError:
            continue
        found.append(
            ListedRelease(
                name=path.name,
                created=manifest.created.removesuffix("Z").replace("T", " "),
                kind=manifest.kind,
                rows=sum(it.n_rows for it in manifest.files),
                policy=manifest.policy_sha256,
                is_in_force=manifest.policy_sha256 == in_force,
            )
        )
    return sorted(found, key=lambda it: it.created, reverse=True)[:_MOST_LISTED]


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

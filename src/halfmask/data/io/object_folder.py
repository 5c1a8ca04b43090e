"""Folders of objects that are written whole: the object that names the others comes last.

No store renames a folder. A folder is written into a place that must be empty, and counts from the
moment when its last object is there, which lists all others with their hashes. A receiver
takes what that object names, and nothing else.

A folder that is replaced has each release in a folder of its own, and an object that names the
latest of them. That object is written last, in one step.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from halfmask._errors import DataError, ReleaseError
from halfmask.data.io.atomic import run_name, writing
from halfmask.data.io.object_store import ObjectFolder

_CALLED: Final = "The folder to write"
_MARKER: Final = ".writing-"
#: The object that names the latest release of a folder that is replaced.
_LATEST: Final = "latest.txt"
_RUN: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")


def shared_folder(out: str) -> ObjectFolder:
    """Return where workers write objects of a release."""
    return ObjectFolder.parse(out, called=_CALLED, is_output=True)


def check_object_folder(out: str, *, overwrite: bool) -> ObjectFolder:
    """Return the place of a new folder of objects, or one that is replaced by a pointer."""
    where = ObjectFolder.parse(out, called=_CALLED, is_output=True)
    if "/" not in where.path:
        raise ReleaseError(
            "The folder to write is a whole bucket.", hint="Add a name, as in s3://BUCKET/NAME."
        )
    if overwrite:
        names, folders = where.listed()
        if {*names} - {_LATEST} or not all(_RUN.fullmatch(it.rstrip("/")) for it in folders):
            raise ReleaseError(
                "The folder to write has objects that no run with overwriting made. A single "
                "release in an object store can't be replaced in one step.",
                hint="Write to another address: from its first release on, it can be replaced.",
            )
    elif where.stamp() is not None or where.listed(recursive=True)[0]:
        raise _taken_error()
    return where


def new_run(out: str) -> str:
    """Return the address of a new release below a folder that is replaced."""
    check_object_folder(out, overwrite=True)
    return f"{out.rstrip('/')}/{run_name()}"


def point_to(run: str) -> None:
    """Let a folder that is replaced name a release that is complete as its latest."""
    out, _, name = run.rpartition("/")
    where = ObjectFolder.parse(out, called="The object latest.txt", is_output=True)
    with where.created(_LATEST) as file:
        file.write(f"{name}\n".encode())


def _latest(where: ObjectFolder) -> ObjectFolder:
    """Return the latest release of a folder that is replaced; of another folder, itself."""
    if where.stamp(_LATEST) is None:
        return where
    with where.opened(_LATEST) as file:
        name = bytes(file.read(100)).decode("ascii", "replace").strip()
    if not _RUN.fullmatch(name):
        raise DataError(f"{where.called} has a latest.txt that names no release of its folder.")
    return where.below(name)


@contextmanager
def object_folder(out: str, *, last: str) -> Iterator[Path]:
    """Build a folder of objects that counts when it is complete.

    Guarantees
    ----------
    The last object is there only if all others are, with the bytes of the files: each is read
    again. Of two processes that write to the same address at once, at most one does: each writes
    a marker and then lists all objects, as stores list every object that was written before.

    Edge cases
    ----------
    A process that is killed leaves objects without the last one. They are no release, and the next
    process that writes there refuses, and names them as a rest.
    """
    where = check_object_folder(out, overwrite=False)
    with writing(_CALLED), tempfile.TemporaryDirectory(prefix="halfmask-") as here:
        marker = _marked(where, Path(here) / "marker")
        try:
            folder = Path(here) / "folder"
            folder.mkdir()
            yield folder
            _send(folder, where, marker=marker, last=last)
        except BaseException:
            with suppress(Exception):
                where.clear()
            raise


@contextmanager
def fetched_folder(address: str, *, called: str) -> Iterator[Path]:
    """Give a copy of a folder of objects, without those whose names start with a dot.

    Of a folder that is replaced, it is a copy of its latest release.
    """
    where = _latest(ObjectFolder.parse(address, called=called))
    names = [name for name in where.listed(recursive=True)[0] if not name.startswith(".")]
    if not names:
        raise DataError(f"{called} is not there.", hint="Check its address.")
    if any({"", ".", ".."} & {*name.split("/")} for name in names):  # who wrote them chose them
        raise DataError(f"{called} has an object whose name leads out of its folder.")
    with tempfile.TemporaryDirectory(prefix="halfmask-") as here:
        for name in names:
            path = Path(here) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                where.get(name, file)
        yield Path(here)


def _marked(where: ObjectFolder, empty: Path) -> str:
    """Write a marker to a place, and return its name; raise if anything else is there."""
    marker = _MARKER + secrets.token_hex(8)
    empty.touch()
    where.put(marker, empty)
    if where.listed(recursive=True)[0] != [marker]:
        where.remove(marker)
        raise _taken_error()
    return marker


def _send(folder: Path, where: ObjectFolder, *, marker: str, last: str) -> None:
    there = set(where.listed(recursive=True)[0])
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name != last and name not in there:
            _send_checked(path, where, name)
    # The place isn't empty now, so that nobody else takes it.
    where.remove(marker)
    where.put(last, folder / last)


def _send_checked(path: Path, where: ObjectFolder, name: str) -> None:
    """Make a file an object, and compare the object's bytes."""
    where.put(name, path)
    with where.opened(name) as there, path.open("rb") as here:
        digests = {hashlib.file_digest(file, "sha256").digest() for file in (there, here)}
    if len(digests) > 1:
        raise ReleaseError("The object store has other bytes than were written.")


def _taken_error() -> ReleaseError:
    return ReleaseError(
        "The folder to write isn't empty: another process writes there, or there is an older "
        "release, or the rest of one that wasn't finished.",
        hint="Write to another address, or remove what is there.",
    )

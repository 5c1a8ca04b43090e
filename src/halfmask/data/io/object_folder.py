"""Folders of objects that are written whole: the object that names the others comes last.

No store renames a folder. A folder is written into a place that must be empty, and counts from the
moment when its last object is there, which lists all others with their hashes. A receiver
takes what that object names, and nothing else.
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from halfmask._errors import DataError, ReleaseError
from halfmask.data.io.atomic import writing
from halfmask.data.io.object_store import ObjectFolder

_CALLED: Final = "The folder to write"
_MARKER: Final = ".writing-"


def shared_folder(out: str) -> ObjectFolder:
    """Return where workers write objects of a release."""
    return ObjectFolder.parse(out, called=_CALLED, is_output=True)


def check_object_folder(out: str, *, overwrite: bool) -> ObjectFolder:
    """Return the place of a new folder of objects."""
    where = ObjectFolder.parse(out, called=_CALLED, is_output=True)
    if overwrite:
        raise ReleaseError(
            "A folder in an object store can't be replaced in one step.",
            hint="Write to another address, and remove the old folder.",
        )
    if "/" not in where.path:
        raise ReleaseError(
            "The folder to write is a whole bucket.", hint="Add a name, as in s3://BUCKET/NAME."
        )
    if where.stamp() is not None or where.listed(recursive=True)[0]:
        raise _taken_error()
    return where


@contextmanager
def object_folder(out: str, *, overwrite: bool, last: str) -> Iterator[Path]:
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
    where = check_object_folder(out, overwrite=overwrite)
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
    """Give a copy of a folder of objects, without those whose names start with a dot."""
    where = ObjectFolder.parse(address, called=called)
    names = [name for name in where.listed(recursive=True)[0] if not name.startswith(".")]
    if not names or any(".." in Path(name).parts for name in names):
        raise DataError(f"{called} is not there.", hint="Check its address.")
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

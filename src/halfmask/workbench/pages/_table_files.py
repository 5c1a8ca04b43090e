"""Files of the folder that hold tables: those that lie there, and those that are dropped."""

from __future__ import annotations

import filecmp
import io
import os
import re
import shutil
import unicodedata
import zipfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from halfmask._errors import DataError, ParameterError
from halfmask.claims import MANIFEST_NAME
from halfmask.data import DatabaseUrl
from halfmask.data.io.atomic import rename_new
from halfmask.data.io.formats import compression_of_bytes
from halfmask.data.io.places import decompressed, places_of, reading
from halfmask.workbench.pages._table_form import ENDS, end_of

if TYPE_CHECKING:
    from halfmask.workbench._project import Project

#: A file system takes names of 255 bytes; endings have a quarter of this at most.
_MOST_BYTES: Final = 160
_MOST_ALIKE: Final = 1_000
_MOST_LISTED: Final = 200
#: What a compressed file may unpack to: so much in any case, or so many times its size.
_UNPACKED: Final = 1 << 28
_TIMES: Final = 200
_CHUNK: Final = 1 << 20
_ZIP: Final = b"PK\x03\x04"


def clean_name(name: str) -> str:
    r"""Return the name that a dropped file gets in the folder.

    Examples
    --------
    >>> clean_name("../../etc/pass\0wd"), clean_name("..\\_.people.csv.gz"), clean_name("./")
    ('pass_wd', 'people.csv.gz', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(it if it.isprintable() and it not in '<>:"|?*' else "_" for it in last)
    stem, ends = _cut(unicodedata.normalize("NFC", seen).strip().lstrip("._ "))
    stem = stem.encode()[:_MOST_BYTES].decode("utf-8", "ignore")
    return f"{stem}{ends}" if stem else "table"


def _cut(name: str) -> tuple[str, str]:
    """Return a name without its endings, and those, where they are some."""
    ends = "".join(PurePath(name).suffixes[-2:])
    return (name, "") if len(ends.encode()) > _MOST_BYTES // 4 else (name.removesuffix(ends), ends)


def keep_copy(project: Project, name: str, copy: Path) -> tuple[Path, bool]:
    """Move a dropped file into the folder, and return where it is and whether it's new there.

    It gets a free name and replaces nothing; a file that is there with the same bytes is taken.
    """
    name = clean_name(name)
    if PurePath(name).suffix == ".toml":
        raise ParameterError(
            "The file is a policy or another settings file, and no table.",
            hint="Put it into the folder, and name it in the terminal: halfmask workbench POLICY.",
        )
    if _is_release(copy):
        raise ParameterError("This is a release, and no table.", hint="Drop it on the page Verify.")
    stem, ends = _cut(name)
    for number in range(1, _MOST_ALIKE):
        where = project.folder / (name if number == 1 else f"{stem}-{number}{ends}")
        if not os.path.lexists(where):
            rename_new(copy, where)
            return where, True
        if where.is_file() and not where.is_symlink() and filecmp.cmp(copy, where, shallow=False):
            return where, False
    raise ParameterError("There are too many files of this name.", hint="Rename the file.")


def _is_release(copy: Path) -> bool:
    if not zipfile.is_zipfile(copy):
        return False
    with zipfile.ZipFile(copy) as archive:
        return any(PurePath(name).name == MANIFEST_NAME for name in archive.namelist())


def put_aside(project: Project, where: Path) -> Path:
    """Take a copy that can't be read out of the folder, until its owner says how it is read."""
    waiting = project.hidden / "waiting"
    forget_aside(project)
    waiting.mkdir(mode=0o700)
    return where.rename(waiting / where.name)


def forget_aside(project: Project) -> None:
    """Remove the copy that can't be read."""
    shutil.rmtree(project.hidden / "waiting", ignore_errors=True)


def tables_in(project: Project) -> list[str]:
    """Return the names of files and folders that look like tables, the newest first."""
    found = []
    for each in project.folder.iterdir():
        if each.name.startswith((".", "_")) or not _is_inside(project, each):
            continue
        is_file = each.is_file() and end_of(each.name) in ENDS  # a pipe is no file
        if is_file or (each.is_dir() and _holds_tables(project, each)):
            found.append((each.stat().st_mtime, each.name))
    return [name for _, name in sorted(found, reverse=True)[:_MOST_LISTED]]


def _is_inside(project: Project, where: Path) -> bool:
    """Return whether a path leads to a file of the folder: a link may lead elsewhere."""
    try:
        return where.resolve(strict=True).is_relative_to(project.folder)
    except OSError:
        return False


def _holds_tables(project: Project, folder: Path) -> bool:
    """Return whether a folder holds files of tables alone, all of them of the project's."""
    held = [each for each in folder.iterdir() if not each.name.startswith((".", "_"))]
    return bool(held) and all(
        each.is_file() and end_of(each.name) in ENDS and _is_inside(project, each) for each in held
    )


def check_unpacked(where: Path) -> None:
    """Refuse a small file that unpacks to a huge one, before anything is made of it."""
    for place in places_of(where):
        with reading(place.what), place.open() as file:
            start = file.read(4)
            most = max(_UNPACKED, _TIMES * file.seek(0, io.SEEK_END))
            size = 0
            if start == _ZIP:
                with zipfile.ZipFile(file) as archive:
                    size = sum(it.file_size for it in archive.infolist())
            elif compression_of_bytes(start):
                with decompressed(place) as unpacked:
                    while size <= most and (chunk := unpacked.read(_CHUNK)):
                        size += len(chunk)
        if size > most:
            raise DataError(
                f"{place.what} unpacks to more than {most >> 20:,} MB.",
                hint="If that is right, unpack it, and open the unpacked file.",
            )


def local_of(project: Project, url: str) -> tuple[str, str | None]:
    """Return a database as the project opens it: a file must be in the folder."""
    where = DatabaseUrl.parse(url)
    if where.engine == "postgresql":
        return url, None
    path = project.inside(where.location)
    is_hidden = any(part.startswith(".") for part in PurePath(where.location).parts)
    if is_hidden or not path.is_file():
        raise DataError("There is no such database file in the folder of the workbench.")
    return str(path), where.table

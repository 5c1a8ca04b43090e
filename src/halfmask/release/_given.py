"""The table that was given: its files, and their hashes, which only the owner may see."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask.data import Source
from halfmask.data.io.places import places_of

if TYPE_CHECKING:
    from halfmask.data.io.places import Place


class GivenTable:
    """What was given to `protect`: its path, and its files at that time."""

    def __init__(self, table: object = None) -> None:
        self.where = os.fspath(table) if isinstance(table, str | os.PathLike) else None
        self._stamps = [(each, each.stamp()) for each in _places(table)]

    def hashed(self) -> list[tuple[str, str]]:
        """Return each file with its hash, or that it has changed."""
        found = []
        for place, stamp in self._stamps:
            opened: Any = place.open()  # its type lacks readinto, which all have
            with opened as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            changed = place.stamp() != stamp
            found.append((place.name, "changed since it was read" if changed else digest))
        return found


def _places(table: object) -> list[Place]:
    """Return the local files of a table; none of a frame, a pipe, a database, an object store."""
    several = [*table.values()] if isinstance(table, Mapping) else table
    if isinstance(several, list | tuple):
        return [place for each in several for place in _places(each)]
    if isinstance(table, Source):
        return table.files
    path = os.fsdecode(table) if isinstance(table, str | os.PathLike) else ""
    try:
        return places_of(path) if os.path.isfile(path) or os.path.isdir(path) else []  # noqa: PTH112, PTH113
    except DataError:  # the kind that reads it says what is wrong
        return []

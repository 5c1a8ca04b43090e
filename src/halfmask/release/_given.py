"""The table that was given: its files, and their hashes, which only the owner may see."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from halfmask._errors import DataError
from halfmask.data import Source
from halfmask.data.io.places import places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.data.io.places import Place

CHANGED: Final = "it has changed since it was read"


@dataclass(frozen=True, slots=True)
class GivenFile:
    """One file of the input, by name, size and hash."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class GivenTable:
    """What was given to `protect`: its path, and its files as they were then."""

    where: str | None = field(default=None, repr=False)
    stamps: tuple[tuple[Place, tuple[int, int, int] | None], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, table: object) -> Self:
        """Note the files of a table, before it is read."""
        where = os.fspath(table) if isinstance(table, str | os.PathLike) else None
        return cls(
            None if isinstance(where, bytes) else where,
            tuple((each, each.stamp()) for each in _places(table)),
        )

    def hashed(self) -> list[GivenFile]:
        """Return each file with its hash, or that it has changed."""
        found = []
        for place, stamp in self.stamps:
            opened: Any = place.open()  # its type lacks readinto, which all have
            with opened as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            same = place.stamp() == stamp
            size = 0 if stamp is None else stamp[1]
            found.append(GivenFile(place.name, size, digest if same else CHANGED))
        return found


def _places(table: object) -> Iterator[Place]:
    """Yield the local files of a table; none of a frame, a pipe, a database or an object store."""
    if isinstance(table, Mapping):
        table = list(table.values())
    if isinstance(table, list | tuple):
        for each in table:
            yield from _places(each)
    elif isinstance(table, Source):
        yield from table.files
    elif isinstance(table, str | os.PathLike) and (os.path.isfile(table) or os.path.isdir(table)):  # noqa: PTH112, PTH113 # bytes too
        try:
            yield from places_of(os.fsdecode(table))
        except DataError:  # the kind that reads it says what is wrong
            return

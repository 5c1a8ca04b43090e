"""Tables in an object store: the objects under an address, seen as files to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from halfmask._errors import DataError
from halfmask.data.io.object_store import ObjectFolder
from halfmask.data.io.places import Place, folders_error, spooled

_PARQUET = b"PAR1"
#: The end of a file that is read first: the footer of most files.
_TAIL = 1 << 16


class ObjectPlace(Place):
    """A Parquet object; any process reads the bytes that it needs."""

    on_workers = (
        "Give the workers what this process has in its environment: the credentials, the region "
        "and the endpoint of the object store."
    )

    def __init__(self, what: str, *, name: str, folder: ObjectFolder) -> None:
        super().__init__(what, name=name.rpartition("/")[2])
        self._folder = folder
        self._object = name

    @property
    def is_file(self) -> bool:
        """Whether another process can open it."""
        return True

    def open(self) -> BinaryIO:
        """Open the object for reading; bytes come when they are needed."""
        return self._folder.open(self._object)

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what tells whether the object is the same: size, and time of writing."""
        found = self._folder.stamp(self._object)
        if found is None:
            raise DataError(f"{self.what} is not there.", hint="Check its address.")
        return found

    @contextmanager
    def local(self) -> Iterator[Path | BinaryIO]:
        """Give the whole object in a temporary file."""
        with self._whole().local() as here:
            yield here

    def fetched(self, columns: Sequence[str] = (), rows: range | None = None) -> Place:
        """Return a place with the footer, and the row groups and columns that are needed.

        The rest of the file is a hole. It has the size of the object, and takes the space of what
        was fetched.
        """
        return spooled(partial(self._write_needed, list(columns), rows), self.what)

    def _whole(self) -> Place:
        return spooled(partial(self._folder.get, self._object), self.what)

    def _write_needed(self, columns: Sequence[str], rows: range | None, here: IO[bytes]) -> None:
        import pyarrow as pa  # noqa: PLC0415 # heavy, and only addresses need it
        import pyarrow.parquet as pq  # noqa: PLC0415 # as above

        with self._folder.opened(self._object) as there:
            size = int(there.size())
            tail = there.read_at(min(size, _TAIL), max(0, size - _TAIL))
            length = 8 + int.from_bytes(tail[-8:-4], "little")
            if tail[-4:] != _PARQUET or length > size:
                raise DataError(f"{self.what} is no Parquet file: its end is damaged.")
            footer = tail[-length:] if length <= len(tail) else there.read_at(length, size - length)
            here.truncate(size)
            here.seek(size - length)
            here.write(footer)
            if columns:
                facts = pq.read_metadata(pa.BufferReader(footer))
                for first, stop in _spans(facts, columns, rows):
                    here.seek(first)
                    here.write(there.read_at(stop - first, first))


def _spans(facts: Any, columns: Sequence[str], rows: range | None) -> Iterator[tuple[int, int]]:  # noqa: ANN401 # pyarrow has no types
    """Yield where the needed columns of the needed row groups begin and end."""
    before = 0
    for number in range(facts.num_row_groups):
        group = facts.row_group(number)
        first, before = before, before + group.num_rows
        if rows is not None and (before <= rows.start or first >= rows.stop):
            continue
        for place in range(group.num_columns):
            chunk = group.column(place)
            path = chunk.path_in_schema
            if any(path == name or path.startswith(f"{name}.") for name in columns):
                pages = [chunk.data_page_offset]
                if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                    pages.append(chunk.dictionary_page_offset)
                yield min(pages), min(pages) + chunk.total_compressed_size


def object_places(address: str, called: str) -> list[Place]:
    """Return the places of a table's objects, in the order of their names."""
    folder = ObjectFolder.parse(address, called=called)
    if folder.stamp() is not None:
        home, _, name = folder.path.rpartition("/")
        return [_place(called, name, ObjectFolder(folder.scheme, home, called))]
    names, folders = (
        [name for name in found if not name.startswith((".", "_"))] for found in folder.listed()
    )
    if folders:
        raise folders_error(called, [name.rstrip("/") for name in folders], names)
    if not names:
        raise DataError(f"{called} is not there, or is a folder without files.")
    what = f"of {called[0].lower()}{called[1:]}"
    return [_place(f"File {n} {what}", name, folder) for n, name in enumerate(names, 1)]


def _place(what: str, name: str, folder: ObjectFolder) -> Place:
    here = ObjectFolder(folder.scheme, folder.path, what)
    with here.opened(name) as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    if is_parquet:
        return ObjectPlace(what, name=name, folder=here)
    # Text is read from its start to its end, a few times: it is kept here.
    return spooled(partial(here.get, name), what, name=name)

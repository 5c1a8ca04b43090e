"""Objects of S3, Google Cloud Storage and Azure, through Arrow's clients: files and tables."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from halfmask._errors import DataError, MissingDependencyError, ParameterError, ReleaseError
from halfmask.data.io.database_url import is_database_url
from halfmask.data.io.places import Place, folders_error, spooled

_ADDRESS: Final = re.compile(r"(s3|gs|az)://([a-z0-9][a-z0-9._-]*)((?:/[^?#@/]+)*)/?")
#: Bytes that are copied at once.
_COPIED = 1 << 22


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """The objects whose names begin with one path; it can be sent to other processes."""

    scheme: str
    path: str = field(repr=False)
    called: str
    is_output: bool = False

    @classmethod
    def parse(cls, address: str, *, called: str, is_output: bool = False) -> ObjectFolder:
        """Take an address apart.

        Examples
        --------
        >>> ObjectFolder.parse("s3://bucket/people", called="The table to read").path
        'bucket/people'
        """
        if is_database_url(address):
            raise ParameterError(
                f"{called} is the URL of a database, where files are wanted.",
                hint="Databases are copied by halfmask protect URL POLICY URL, from one to another "
                "of the same engine. halfmask verify is for files.",
            )
        if "@" in address:
            raise ParameterError(
                f"{called} has an address with a user name, a password or another @.",
                hint="Give credentials in the environment, as AWS_PROFILE does.",
            )
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise ParameterError(
                f"{called} has an address that can't be read.",
                hint="Write s3://BUCKET/NAME, gs://BUCKET/NAME or az://CONTAINER/NAME, "
                "without a query.",
            )
        return cls(found[1], found[2] + found[3], called, is_output)

    def below(self, name: str) -> ObjectFolder:
        """Return the objects below a name."""
        return ObjectFolder(self.scheme, f"{self.path}/{name}", self.called, self.is_output)

    def stamp(self, name: str = "") -> tuple[int, int, int] | None:
        """Return what tells whether an object is the same; ``None`` if there is no such object."""
        with self._asked():
            found = self._system().get_file_info(self._at(name))
        return (0, found.size, found.mtime_ns) if found.is_file else None

    def listed(self, *, recursive: bool = False) -> tuple[list[str], list[str]]:
        """Return the names of objects and of folders, in order."""
        import pyarrow.fs as pa_fs  # noqa: PLC0415 # heavy, and only addresses need it

        chosen = pa_fs.FileSelector(self.path, allow_not_found=True, recursive=recursive)
        with self._asked():
            found = self._system().get_file_info(chosen)
        names: tuple[list[str], list[str]] = ([], [])
        for each in found:
            name = each.path[len(self.path) + 1 :]
            if name and each.type != pa_fs.FileType.NotFound:
                names[each.type == pa_fs.FileType.Directory].append(name)
        return sorted(names[0]), sorted(names[1])

    def open(self, name: str) -> BinaryIO:
        """Open an object as a file that can be read from anywhere."""
        with self._asked():
            return cast("BinaryIO", self._system().open_input_file(self._at(name)))

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """Give the same as a context, in which errors of reading are ours, too."""
        with self._asked(), self.open(name) as file:
            yield file

    @contextmanager
    def created(self, name: str) -> Iterator[BinaryIO]:
        """Give a file whose bytes are the object's once it is closed."""
        with self._asked(), self._system().open_output_stream(self._at(name)) as file:
            yield cast("BinaryIO", file)

    def get(self, name: str, target: IO[bytes]) -> None:
        """Copy an object's bytes into a file."""
        with self.opened(name) as file:
            shutil.copyfileobj(file, target, _COPIED)

    def put(self, name: str, path: Path) -> None:
        """Make an object of the bytes of a file."""
        with path.open("rb") as file, self.created(name) as target:
            shutil.copyfileobj(file, target, _COPIED)

    def remove(self, name: str) -> None:
        """Remove an object."""
        with self._asked():
            self._system().delete_file(self._at(name))

    def clear(self) -> None:
        """Remove all objects of the folder."""
        with self._asked():
            self._system().delete_dir(self.path)

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    def _system(self) -> Any:  # noqa: ANN401 # pyarrow has no types
        if self.scheme == "az":
            return _azure(os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"))
        if self.scheme == "gs":
            return _client("GcsFileSystem")
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return _s3(endpoint)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn errors of the store into ours: theirs name buckets and objects."""
        try:
            yield
        except FileNotFoundError:
            raise self._failure("is not there", "Check its address.") from None
        except OSError as error:
            if error.errno is not None:  # of a disk here
                raise
            # Arrow's text has names, and not always the reason: a small read loses it.
            verb = "written to" if self.is_output else "read from"
            raise self._failure(
                f"can't be {verb} the object store: it refuses that, or can't be reached",
                "Check its address, and the credentials and region in the environment of this "
                "process and of workers.",
            ) from None

    def _failure(self, reason: str, hint: str) -> DataError | ReleaseError:
        kind = ReleaseError if self.is_output else DataError
        return kind(f"{self.called} {reason}.", hint=hint)


@cache
def _s3(endpoint: str | None) -> Any:  # noqa: ANN401 # pyarrow has no types
    options: dict[str, Any] = {"allow_delayed_open": True}  # a small object in one request
    if endpoint:
        scheme, _, host = endpoint.rpartition("://")
        options |= {"scheme": scheme or "https", "endpoint_override": host.rstrip("/")}
    return _client("S3FileSystem", **options)


@cache
def _azure(account: str | None) -> Any:  # noqa: ANN401 # pyarrow has no types
    if account is None:
        raise ParameterError(
            "An az:// address needs the name of the storage account.",
            hint="Set AZURE_STORAGE_ACCOUNT_NAME in the environment.",
        )
    return _client("AzureFileSystem", account_name=account)


@cache
def _client(name: str, **options: Any) -> Any:  # noqa: ANN401 # pyarrow has no types
    import pyarrow.fs as pa_fs  # noqa: PLC0415 # heavy, and only addresses need it

    try:
        return getattr(pa_fs, name)(**options)
    except ImportError:
        raise MissingDependencyError(
            "The pyarrow that is installed was built without this object store.",
            hint="Install the pyarrow of PyPI: pip install --force-reinstall pyarrow.",
        ) from None


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

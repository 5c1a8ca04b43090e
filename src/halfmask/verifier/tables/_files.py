"""The files of a release against its manifest, there and unchanged, and the rows that they hold."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from halfmask._errors import EngineError
from halfmask.claims.manifest import MANIFEST_NAME, REPORT_NAME, DataFile, entries_of, released_file
from halfmask.verifier._result import FileCheck
from halfmask.verifier.tables.part import READ_ERRORS, UnreadableError, is_judgeable, open_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import SupportFile, TableManifest
    from halfmask.verifier._workers import Workers


@dataclass(frozen=True, slots=True)
class Files:
    """What was found on disk."""

    checks: tuple[FileCheck, ...]
    problems: tuple[str, ...]
    stored: StoredRows | None
    schema: dict[str, pl.DataType]
    support: dict[str, Path]
    rows: int | None


def check_files(folder: Path, manifest: TableManifest, workers: Workers | None = None) -> Files:
    """Look at every file of a release, and at what else is in its folder."""
    problems = [*_unlisted(folder, manifest), *_contradictions(manifest)]
    checks: list[FileCheck] = []
    parts = _parts(folder, manifest, workers)
    for number, (file, found) in enumerate(zip(manifest.files, parts, strict=True), start=1):
        problems += [f"Data file {number} {fault}." for fault in found.faults]
        checks.append(FileCheck(name=file.name, n_rows=found.n_rows, holds=not found.faults))
    support: dict[str, Path] = {}
    for number, tree in enumerate(manifest.support, start=1):
        path, faults = _check_support(folder, tree, manifest)
        problems += [f"Support file {number} {fault}." for fault in faults]
        checks.append(FileCheck(name=tree.name, n_rows=None, holds=not faults))
        if path is not None:
            support[tree.name] = path
    problems += _report_faults(folder, manifest)
    schemas = [part.schema for part in parts if part.schema is not None]
    schema = schemas[0] if schemas and schemas.count(schemas[0]) == len(parts) else None
    if len(schemas) == len(parts) > 0 and schema is None:
        problems.append("The data files don't have columns of the same types.")
    rows = [part.n_rows for part in parts if part.n_rows is not None]
    return Files(
        checks=tuple(checks),
        problems=tuple(problems),
        stored=_stored(parts, workers) if schema is not None else None,
        schema=schema or {},
        support=support,
        rows=sum(rows) if len(rows) == len(parts) else None,
    )


def _parts(folder: Path, manifest: TableManifest, workers: Workers | None) -> list[_Part]:
    """Return what is found of each data file, in their order."""
    check = partial(_check_part, folder, [each.name for each in manifest.columns])
    if workers is None:
        return [check(file) for file in manifest.files]
    parts = list(workers.map(manifest.files, partial(_without_table, check)))
    for file, part in zip(manifest.files, parts, strict=True):
        mine = released_file(folder, file.name)
        if (part.path is None) != (mine is None):
            raise unseen()
        # Workers hash the files; the verdict is about the folder that this process sees.
        if mine is not None and not part.faults and mine.stat().st_size != file.n_bytes:
            raise unseen()
    return parts


def _stored(parts: Sequence[_Part], workers: Workers | None) -> StoredRows:
    if workers is None:
        return StoredRows(pl.concat([it.table for it in parts if it.table is not None]))
    files = [
        StoredPart(it.path, it.format, it.sha256)
        for it in parts
        if it.n_rows and it.path is not None
    ]
    return StoredRows(None, tuple(files), workers)


def _file_names(manifest: TableManifest) -> list[str]:
    return [each.name for each in manifest.files] + [each.name for each in manifest.support]


def _unlisted(folder: Path, manifest: TableManifest) -> list[str]:
    listed = set(_file_names(manifest))
    entries = entries_of(folder)
    if REPORT_NAME in entries and released_file(folder, REPORT_NAME) is not None:
        listed.add(REPORT_NAME)  # a link could show a report of something else
    unlisted = len(entries - listed - {MANIFEST_NAME})
    if not unlisted:
        return []
    return [f"The release folder holds {unlisted} entries that the manifest doesn't list."]


def _report_faults(folder: Path, manifest: TableManifest) -> list[str]:
    """Say whether the report is the one that was written with the release: people read it first."""
    if manifest.report_sha256 is None:
        return []
    path = released_file(folder, REPORT_NAME)
    if path is None:
        return ["The report isn't there as a plain file."]
    same = sha256_of(path) == manifest.report_sha256
    return [] if same else ["The report isn't the one that was written."]


def _contradictions(manifest: TableManifest) -> list[str]:
    """Say where the manifest doesn't agree with itself."""
    problems = []
    rows = manifest.rows
    if rows.n_in != rows.n_out + rows.n_suppressed:
        problems.append("The rows in are not the rows out and the suppressed rows together.")
    if rows.n_out != sum(each.n_rows for each in manifest.files):
        problems.append("The rows out are not the rows of the data files together.")
    if not rows.n_out:
        problems.append("There are no rows, so nothing is released and nothing can be counted.")
    names = Counter(_file_names(manifest))
    if max(names.values(), default=0) > 1:
        problems.append("The manifest lists a file twice.")
    if max(Counter(each.name for each in manifest.columns).values(), default=0) > 1:
        problems.append("The manifest lists a column twice.")
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What was found of a data file.

    ``path`` is there where the file is a plain one, ``schema`` where its rows can be judged, and
    ``table`` in addition where it was opened by this process.
    """

    faults: tuple[str, ...]
    path: Path | None = None
    format: str = ""
    sha256: str = ""
    n_rows: int | None = None
    schema: dict[str, pl.DataType] | None = None
    table: pl.LazyFrame | None = None


def _without_table(check: Callable[[DataFile], _Part], file: DataFile) -> _Part:
    return replace(check(file), table=None)


def _check_part(folder: Path, names: Sequence[str], file: DataFile) -> _Part:
    path = released_file(folder, file.name)
    if path is None:
        return _Part(faults=("isn't there as a plain file",))
    faults, sha256 = [], ""
    try:
        if path.stat().st_size != file.n_bytes:
            faults.append("doesn't have the size that the manifest states")
        sha256 = sha256_of(path)
        if sha256 != file.sha256:
            faults.append("doesn't have the hash that the manifest states")
        table = opened(path, file.format)
        columns = dict(table.collect_schema())
        n_rows = int(table.select(pl.len()).collect(engine="streaming").item())
    except UnreadableError as error:
        what = f"can't be read: {error.what[0].lower()}{error.what[1:-1]}"
        return _Part(faults=(*faults, what), path=path)
    except READ_ERRORS:
        # Their messages quote cells.
        return _Part(faults=(*faults, f"can't be read as {file.format}"), path=path)
    if n_rows != file.n_rows:
        faults.append(f"has {n_rows} rows where the manifest states {file.n_rows}")
    found = _Part(faults=tuple(faults), path=path, format=file.format, sha256=sha256, n_rows=n_rows)
    wrong = _wrong_columns(columns, names)
    if wrong is not None:
        return replace(found, faults=(*found.faults, wrong))
    return replace(found, schema=columns, table=table)


def _wrong_columns(columns: Mapping[str, pl.DataType], names: Sequence[str]) -> str | None:
    if list(columns) != list(names):
        return "doesn't have the columns that the manifest states"
    if any(map(_is_pattern, columns)):
        return "has a column whose name selects others, which can't be judged"
    if not all(map(is_judgeable, columns.values())):
        return "has a column of lists or structs, which can't be judged"
    return None


def _is_pattern(name: str) -> bool:
    """Return whether polars reads the name as a pattern: other columns would be counted for it."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _check_support(
    folder: Path, tree: SupportFile, manifest: TableManifest
) -> tuple[Path | None, list[str]]:
    path = released_file(folder, tree.name)
    if path is None:
        return None, ["isn't there as a plain file"]
    faults = []
    try:
        if sha256_of(path) != tree.sha256:
            faults.append("doesn't have the hash that the manifest states")
    except OSError:
        return None, ["can't be read"]
    if not any((each.support, each.column) == (tree.name, tree.column) for each in manifest.claims):
        # It would tell of values that no claim needs.
        faults.append("is used by no claim on its column")
    return path, faults


_Found = TypeVar("_Found")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def opened(path: Path, form: str) -> pl.LazyFrame:
    """Open a data file; categories are taken as texts."""
    table = open_part(path, form)
    dtypes = table.collect_schema()
    as_text = [n for n, dtype in dtypes.items() if dtype in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(as_text).cast(pl.String))


def unseen() -> EngineError:
    """Return the error of a file that isn't the same on every machine."""
    return EngineError(
        "A data file of the release isn't the same for this process and all workers.",
        hint="Put the release into a folder that all of them see under the same path, and don't "
        "change it meanwhile.",
    )


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A data file that was checked."""

    path: Path
    format: str
    sha256: str

    def checked(self) -> pl.LazyFrame:
        """Open the file, once it is found to be the one that was checked."""
        if not self.path.is_file() or sha256_of(self.path) != self.sha256:
            raise unseen()
        return opened(self.path, self.format)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """All rows of a release."""

    table: pl.LazyFrame | None
    parts: tuple[StoredPart, ...] = ()
    workers: Workers | None = None

    def whole(self) -> pl.LazyFrame:
        """Return the rows as one table of this process."""
        if self.table is not None:
            return self.table
        return pl.concat([part.checked() for part in self.parts])

    def fold(
        self,
        summarize: Callable[[pl.LazyFrame], _Found],
        merge: Callable[[_Found, _Found], _Found],
    ) -> _Found:
        """Return what a function finds in the table, or what it finds in each file, merged."""
        if self.workers is None:
            return summarize(self.whole())
        return self.workers.fold(self.parts, partial(_of_part, summarize), merge)


def _of_part(summarize: Callable[[pl.LazyFrame], _Found], part: StoredPart) -> _Found:
    table = part.checked()
    try:
        return summarize(table)
    except READ_ERRORS:
        # Their messages quote cells, and a panic would end the worker.
        raise UnreadableError("It can't be read to its end.") from None

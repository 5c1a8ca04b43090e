"""The files of a release against its manifest: there, whole, unchanged, and no others."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.claims._manifest import MANIFEST_NAME, REPORT_NAME, DataFile
from halfmask.claims._released_files import entries_of, released_file
from halfmask.verifier.tables._part import READ_ERRORS, UnreadableError, open_part
from halfmask.verifier.tables._values import is_judgeable
from halfmask.verifier.tables._verification import FileCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.claims._table_manifest import SupportFile, TableManifest

__all__ = ["Files", "check_files"]


@dataclass(frozen=True, slots=True)
class Files:
    """What was found on disk.

    Attributes
    ----------
    checks
        One for each file of the manifest.
    problems
        What doesn't agree with the manifest.
    table
        All parts as one table, or None where it can't be judged.
    schema
        The table's columns and their types.
    support
        The support files that are there, by name.
    rows
        The rows of all parts, or None where one can't be read.
    """

    checks: tuple[FileCheck, ...]
    problems: tuple[str, ...]
    table: pl.LazyFrame | None
    schema: dict[str, pl.DataType]
    support: dict[str, Path]
    rows: int | None


def check_files(folder: Path, manifest: TableManifest) -> Files:
    """Look at every file of a release, and at what else is in its folder."""
    problems = [*_unlisted(folder, manifest), *_contradictions(manifest)]
    checks: list[FileCheck] = []
    parts: list[pl.LazyFrame] = []
    counts: list[int | None] = []
    for number, file in enumerate(manifest.files, start=1):
        found = _check_part(folder, file, [each.name for each in manifest.columns])
        problems += [f"Data file {number} {fault}." for fault in found.faults]
        checks.append(FileCheck(name=file.name, n_rows=found.n_rows, holds=not found.faults))
        counts.append(found.n_rows)
        if found.table is not None:
            parts.append(found.table)
    support: dict[str, Path] = {}
    for number, tree in enumerate(manifest.support, start=1):
        path, faults = _check_support(folder, tree, manifest)
        problems += [f"Support file {number} {fault}." for fault in faults]
        checks.append(FileCheck(name=tree.name, n_rows=None, holds=not faults))
        if path is not None:
            support[tree.name] = path
    problems += _report_faults(folder, manifest)
    schema = _common_schema(parts) if len(parts) == len(manifest.files) else None
    if parts and schema is None and len(parts) == len(manifest.files):
        problems.append("The data files don't have columns of the same types.")
    rows = [count for count in counts if count is not None]
    return Files(
        checks=tuple(checks),
        problems=tuple(problems),
        table=pl.concat(parts) if parts and schema is not None else None,
        schema=schema or {},
        support=support,
        rows=sum(rows) if len(rows) == len(counts) else None,
    )


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
    same = _sha256(path) == manifest.report_sha256
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


@dataclass(frozen=True, slots=True)
class _Part:
    faults: tuple[str, ...]
    n_rows: int | None = None
    table: pl.LazyFrame | None = None


def _check_part(folder: Path, file: DataFile, names: Sequence[str]) -> _Part:
    path = released_file(folder, file.name)
    if path is None:
        return _Part(("isn't there as a plain file",))
    faults = []
    try:
        if path.stat().st_size != file.n_bytes:
            faults.append("doesn't have the size that the manifest states")
        if _sha256(path) != file.sha256:
            faults.append("doesn't have the hash that the manifest states")
        table = open_part(path, file.format)
        columns = table.collect_schema()
        n_rows = int(table.select(pl.len()).collect(engine="streaming").item())
    except UnreadableError as error:
        return _Part((*faults, f"can't be read: {error.what[0].lower()}{error.what[1:-1]}"))
    except READ_ERRORS:
        # Their messages quote cells.
        return _Part((*faults, f"can't be read as {file.format}"))
    if n_rows != file.n_rows:
        faults.append(f"has {n_rows} rows where the manifest states {file.n_rows}")
    wrong = _wrong_columns(columns, names)
    if wrong is not None:
        return _Part((*faults, wrong), n_rows)
    as_text = [n for n, dtype in columns.items() if dtype in (pl.Categorical, pl.Enum)]
    return _Part(tuple(faults), n_rows, table.with_columns(pl.col(as_text).cast(pl.String)))


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
        if _sha256(path) != tree.sha256:
            faults.append("doesn't have the hash that the manifest states")
    except OSError:
        return None, ["can't be read"]
    if not any((each.support, each.column) == (tree.name, tree.column) for each in manifest.claims):
        # It would tell of values that no claim needs.
        faults.append("is used by no claim on its column")
    return path, faults


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _common_schema(parts: Sequence[pl.LazyFrame]) -> dict[str, pl.DataType] | None:
    schemas = [dict(part.collect_schema()) for part in parts]
    if not schemas or any(each != schemas[0] for each in schemas):
        return None
    return schemas[0]

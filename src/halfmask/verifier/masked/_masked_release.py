"""A release of masks alone: its files opened as one table, in which each claim is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.claims import MaskedDetails
from halfmask.claims.released_files import released_file
from halfmask.verifier.checks import ClaimCount, VerifiedKind
from halfmask.verifier.masked._mask_checks import MASK_CHECKS, MaskCheck, claims_lacking
from halfmask.verifier.tables._values import is_judgeable
from halfmask.verifier.tables.part import READ_ERRORS, UnreadableError, open_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, DataFile, Manifest, MaskedColumn
    from halfmask.verifier.checks import ReleaseCheck, ReleasedFiles

#: Formats whose files state the type of each column.
TYPED: Final = ("parquet", "arrow")


def _problems(files: ReleasedFiles) -> list[str]:
    """Open the files; say where they and the manifest don't agree.

    No identifier is released without a technique, and a technique that can be counted and is stated
    without its claim is a problem. Noise, swapping and other techniques that draw at random leave
    nothing that could be counted.
    """
    manifest = files.manifest
    stated = MaskedDetails.of(manifest)
    files.table, faults = open_stated(files.path.parent, manifest.files, stated.columns)
    problems = _contradictions(manifest, stated)
    problems += claims_lacking(stated.masks, manifest.claims)
    if not any(each.model == "released-columns" for each in manifest.claims):
        problems.append("The manifest doesn't claim the rows and columns that are released.")
    return problems + faults


def _contradictions(manifest: Manifest, stated: MaskedDetails) -> list[str]:
    """Say where the manifest doesn't agree with itself, and what may not be released."""
    problems = []
    if stated.rows.n_out != sum(each.n_rows for each in manifest.files):
        problems.append("The rows out are not the rows of the data files together.")
    if stated.rows.n_out > stated.rows.n_in:
        problems.append("The manifest states more rows out than in.")
    if not stated.rows.n_out:
        problems.append("There are no rows, so nothing is released and nothing can be counted.")
    names = [each.name for each in stated.columns]
    if max(Counter(names).values(), default=0) > 1:
        problems.append("The manifest lists a column twice.")
    for number, mask in enumerate(stated.masks, start=1):
        if not set(mask.columns) <= set(names):
            problems.append(f"Technique {number} is of columns that aren't released.")
    problems += [
        f"Column {each.name!r} is an identifier and is released without a technique."
        for each in stated.columns
        if each.role == "identifier" and not stated.masks_of(each.name)
    ]
    return problems


def open_stated(
    folder: Path, files: Sequence[DataFile], columns: Sequence[MaskedColumn]
) -> tuple[pl.LazyFrame | None, list[str]]:
    """Return all parts as one table, or none, and what is wrong with their columns."""
    parts: list[pl.LazyFrame] = []
    problems = []
    for number, file in enumerate(files, start=1):
        path = released_file(folder, file.name)
        try:
            part = None if path is None else open_part(path, file.format)
            schema = None if part is None else part.collect_schema()
        except UnreadableError as error:
            problems.append(f"Data file {number} can't be read: {error.what}")
            continue
        except READ_ERRORS:  # their messages quote cells
            problems.append(f"Data file {number} can't be read as {file.format}.")
            continue
        if part is None or schema is None:
            continue  # the files' own check says so
        fault = _column_fault(schema, columns, typed=file.format in TYPED)
        if fault is not None:
            problems.append(f"Data file {number} {fault}.")
        parts.append(part)
    if problems or not parts or len(parts) < len(files):
        return None, problems
    if any(part.collect_schema() != parts[0].collect_schema() for part in parts):
        return None, ["The data files don't have columns of the same types."]
    table = pl.concat(parts)
    as_text = [n for n, t in table.collect_schema().items() if t in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(as_text).cast(pl.String)), []


def _column_fault(
    schema: Mapping[str, pl.DataType], columns: Sequence[MaskedColumn], *, typed: bool
) -> str | None:
    if list(schema) != [each.name for each in columns]:
        return "doesn't have the columns that the manifest states"
    if any(name == "*" or (name.startswith("^") and name.endswith("$")) for name in schema):
        return "has a column whose name selects others, which can't be judged"
    if not all(map(is_judgeable, schema.values())):
        return "has a column of lists or structs, which can't be judged"
    if typed and not all(map(_is_of, schema.values(), (each.dtype for each in columns))):
        return "doesn't have the types that the manifest states"
    return None


def _is_of(dtype: pl.DataType, stated: str) -> bool:
    """Return whether a column is of the stated type; categories are values, and not stated."""
    if dtype in (pl.Categorical, pl.Enum):
        return stated in {"Categorical", "Enum"}
    return stated == str(dtype)


def in_table(check: MaskCheck) -> ReleaseCheck:
    """Return a check of a table as one of its files; a claim of other columns doesn't hold."""

    def count(claim: Claim, files: ReleasedFiles) -> ClaimCount:
        table, columns = files.table, claim.about.get("columns")
        names = set() if table is None else {*table.collect_schema().names()}
        if not isinstance(columns, list) or not columns or not {*map(str, columns)} <= names:
            words = "The files don't have its columns, so it doesn't hold."
            return ClaimCount(holds=False, found={}, words=words)
        return check(claim, table)

    return count


def _said(check: ReleaseCheck) -> ReleaseCheck:
    def count(claim: Claim, files: ReleasedFiles) -> ClaimCount:
        found = check(claim, files)
        counts = ", ".join(f"{name} = {value}" for name, value in found.found.items())
        return replace(found, words=found.words or f"Found: {counts}.")

    return count


KIND: Final = VerifiedKind(
    checks={model: ("counted", _said(in_table(check))) for model, check in MASK_CHECKS.items()},
    problems=_problems,
)

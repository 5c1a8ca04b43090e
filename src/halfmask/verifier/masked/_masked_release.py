"""check_masked: a release of masks alone, its files and claims counted again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.claims._masked_manifest import MaskedManifest, masked_manifest
from halfmask.claims._released_files import MANIFEST_NAME, released_file
from halfmask.verifier._checks import ClaimCount
from halfmask.verifier._released import CheckedClaim, CheckedRelease, file_faults
from halfmask.verifier.masked._mask_checks import MASK_CHECKS, claims_lacking
from halfmask.verifier.tables._part import READ_ERRORS, UnreadableError, open_part
from halfmask.verifier.tables._values import is_judgeable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, DataFile, Manifest, MaskedColumn

#: Formats whose files state the type of each column.
TYPED: Final = ("parquet", "arrow")


def check_masked(manifest: Manifest, folder: Path) -> CheckedRelease:
    """Check the files of a release of masks alone, and count each claim again.

    Parameters
    ----------
    manifest
        What the release states of itself.
    folder
        The folder with the manifest and the files.

    Returns
    -------
    CheckedRelease
        What was found. Look at ``.holds``, or call ``.raise_if_broken()``.

    Raises
    ------
    VerificationError
        If the manifest isn't one of a masked table. What the files say is never raised.

    Notes
    -----
    **Guarantees.** Shares no code with the techniques. ``.holds`` is true only if each data file
    has the stated hash, size, rows, columns and types; nothing else is in the folder; no
    identifier is released without a technique; and each claim's count is as claimed. A technique
    that can be counted and is stated without its claim is a problem.

    What does not follow: that people can't be identified. A technique states no privacy model
    unless its claim is one.

    **Edge cases.** Noise, swapping and other techniques that draw at random leave nothing that
    could be counted; the manifest states them, and their effect is measured in the report.
    """
    stated = masked_manifest(manifest)
    problems = file_faults(folder / MANIFEST_NAME, manifest)
    problems += _contradictions(stated)
    problems += claims_lacking(stated.masks, stated.claims)
    table, faults = open_stated(folder, stated.files, stated.columns)
    problems += faults
    if not any(each.model == "released-columns" for each in stated.claims):
        problems.append("The manifest doesn't claim the rows and columns that are released.")
    return CheckedRelease(
        kind=manifest.kind,
        claims=tuple(_checked(each, table) for each in stated.claims),
        problems=tuple(problems),
        weaknesses=stated.weaknesses,
    )


def _contradictions(stated: MaskedManifest) -> list[str]:
    """Say where the manifest doesn't agree with itself, and what may not be released."""
    problems = []
    if stated.n_out != sum(each.n_rows for each in stated.files):
        problems.append("The rows out are not the rows of the data files together.")
    if stated.n_out > stated.n_in:
        problems.append("The manifest states more rows out than in.")
    if not stated.n_out:
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
    """Return all parts as one table, or none, and what is wrong with their columns.

    Parameters
    ----------
    folder
        The folder of the release.
    files, columns
        The files and columns that its manifest states.
    """
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


def _checked(claim: Claim, table: pl.LazyFrame | None) -> CheckedClaim:
    """Apply the check of a claim's model; a claim that can't be counted doesn't hold."""
    found, why = ClaimCount(holds=False, found={}), ""
    check = MASK_CHECKS.get(claim.model)
    if check is None:
        why = " No check is known for this model, so it doesn't hold."
    elif claim.basis != "counted":
        why = " Its check is of what is counted, so it doesn't hold."
    elif table is None or not _has_columns(table, claim.about.get("columns")):
        why = " The files don't have its columns, so it doesn't hold."
    else:
        try:
            found = check(claim, table)
            why = _counts(found)
        except Exception:  # noqa: BLE001 # what a library says of a file may quote it
            why = " Its check can't count it, so it doesn't hold."
    return CheckedClaim(
        claim=claim,
        holds=found.holds,
        sentence=claim.sentence() + why,
        found=dict(found.found),
    )


def _has_columns(table: pl.LazyFrame, columns: object) -> bool:
    return isinstance(columns, list) and set(map(str, columns)) <= set(_names(table))


def _names(table: pl.LazyFrame) -> Sequence[str]:
    return table.collect_schema().names()


def _counts(found: ClaimCount) -> str:
    counts = ", ".join(f"{name} = {value}" for name, value in found.found.items())
    verdict = "" if found.holds else " The check doesn't bear it out."
    return f"{verdict} Found: {counts}."

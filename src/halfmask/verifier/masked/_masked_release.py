"""A release of masks alone: its files opened as one table, in which each claim is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from halfmask.claims import MaskedDetails
from halfmask.claims.manifest import released_file
from halfmask.verifier.checks import ClaimCount, VerifiedKind
from halfmask.verifier.masked._cell_checks import (
    check_columns,
    check_multiples,
    check_one_value,
    check_tails,
    check_tokens,
    check_unit,
)
from halfmask.verifier.masked._combination_checks import check_groups, check_sets, check_suppression
from halfmask.verifier.masked._place_checks import check_centres, check_geo_indistinguishability
from halfmask.verifier.tables.part import READ_ERRORS, UnreadableError, is_judgeable, open_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, DataFile, Manifest, MaskedColumn, StatedMask
    from halfmask.verifier.checks import ReleaseCheck, ReleasedFiles


#: A check takes a claim and the released table; the claim's columns are there.
MaskCheck: TypeAlias = "Callable[[Claim, pl.LazyFrame], ClaimCount]"

#: All checks by model. Each counts from the files, so the basis of the claims is ``"counted"``;
#: of `ACCOUNTED`, most of it is arithmetic.
MASK_CHECKS: Final[dict[str, MaskCheck]] = {
    "released-columns": check_columns,
    "k-anonymity-with-suppression": check_suppression,
    "groups-of-k": check_groups,
    "km-anonymity": check_sets,
    "multiples": check_multiples,
    "bounded": check_tails,
    "truncated-dates": check_unit,
    "one-value": check_one_value,
    "token-format": check_tokens,
    "grid-centres": check_centres,
    "geo-indistinguishability": check_geo_indistinguishability,
}
ACCOUNTED: Final = frozenset({"geo-indistinguishability"})

#: The model that a technique claims, by the technique's name, and the claim's parameters with the
#: technique's parameter that each must agree with. A technique whose parameters are all left out,
#: such as bounds by share, claims nothing. Microaggregation claims nothing after sampling, and
#: tokens that are integers nothing.
DUE: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "round": ("multiples", {"base": "base"}),
    "random-rounding": ("multiples", {"base": "base"}),
    "tails": ("bounded", {"low": "low", "high": "high"}),
    "coarsened-dates": ("truncated-dates", {"unit": "to"}),
    "redact": ("one-value", {"text": "text"}),
    "token": ("token-format", {"digits": "digits"}),
    "local-suppression": ("k-anonymity-with-suppression", {"k": "k", "subsets": "subsets"}),
    "km-anonymity": ("km-anonymity", {"k": "k", "m": "m", "separator": "separator"}),
    "grid": ("grid-centres", {"width": "width", "unit": "unit"}),
    "planar-laplace": (
        "geo-indistinguishability",
        {"epsilon": "epsilon", "metres": "metres", "places": "places"},
    ),
}


def claims_lacking(masks: Sequence[StatedMask], claims: Sequence[Claim]) -> list[str]:
    """Say which techniques are stated without the claim that they must have."""
    made = [(each.model, each.about.get("columns"), dict(each.parameters)) for each in claims]
    problems = []
    for mask in masks:
        model, names = DUE.get(mask.name, ("", {}))
        found = ((name, mask.parameters.get(own)) for name, own in names.items())
        given = {name: value for name, value in found if value is not None}
        due = {name: value for name, value in given.items() if value != ""}
        if mask.name == "token" and mask.parameters.get("integers"):
            continue
        if given and (model, list(mask.columns), due) not in made:
            problems.append(
                f"The manifest states the technique {mask.name!r} of {len(mask.columns)} columns "
                "without its claim."
            )
    return problems


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


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _said(check: ReleaseCheck) -> ReleaseCheck:
    def count(claim: Claim, files: ReleasedFiles) -> ClaimCount:
        found = check(claim, files)
        counts = ", ".join(f"{name} = {_short(value)}" for name, value in found.found.items())
        return replace(found, words=found.words or f"Found: {counts}.")

    return count


KIND: Final = VerifiedKind(
    checks={
        model: ("accounted" if model in ACCOUNTED else "counted", _said(in_table(check)))
        for model, check in MASK_CHECKS.items()
    },
    problems=_problems,
)

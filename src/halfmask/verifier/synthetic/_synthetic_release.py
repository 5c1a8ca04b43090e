"""check_synthetic: a release of synthetic rows, its files and claims checked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.claims._released_files import MANIFEST_NAME
from halfmask.claims._synthetic_manifest import SyntheticManifest, synthetic_manifest
from halfmask.verifier._checks import ClaimCount
from halfmask.verifier._released import CheckedClaim, CheckedRelease, file_faults
from halfmask.verifier.masked import open_stated
from halfmask.verifier.synthetic._copied_rows import check_copies, copies_of, open_originals
from halfmask.verifier.synthetic._synthetic_checks import SYNTHETIC_CHECKS, rules_lacking

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from halfmask.claims import Claim, Manifest

#: The model whose check takes the original rows.
COPIED_ROWS: Final = "copied-rows"


def check_synthetic(
    manifest: Manifest, folder: Path, *, originals: object = None
) -> CheckedRelease:
    """Check the files of a release of synthetic rows, and each claim.

    Parameters
    ----------
    manifest
        What the release states of itself.
    folder
        The folder with the manifest and the files.
    originals
        The original rows, which the owner has: a frame, or a file of Parquet, CSV, Arrow or JSON
        lines. Without them copied rows aren't counted.

    Returns
    -------
    CheckedRelease
        What was found. Look at ``.holds``, or call ``.raise_if_broken()``.

    Raises
    ------
    VerificationError
        If the manifest isn't one of a synthetic table, or the originals can't be read. What the
        files say is never raised.
    ColumnNotFoundError
        If the originals lack a released column.

    Notes
    -----
    **Guarantees.** Shares no code with what drew the rows. ``.holds`` is true only if each data
    file has the stated hash, size, rows, columns and types; nothing else is in the folder; no
    identifier is released; every row keeps every rule; and no more rows equal an original row than
    by chance, counted from the originals. Without these that claim is not checked, and ``.holds``
    is false.

    What does not follow: that the rows reveal nothing about the people they were learnt from. That
    is measured in the report. Groups of a hybrid are only stated: ``.holds`` says nothing of them.
    """
    stated = synthetic_manifest(manifest)
    known = None if originals is None else open_originals(originals, stated.columns)
    problems = file_faults(folder / MANIFEST_NAME, manifest)
    problems += _contradictions(stated)
    table, faults = open_stated(folder, stated.files, stated.columns)
    problems += faults
    return CheckedRelease(
        kind=manifest.kind,
        claims=tuple(_checked(each, table, known, folder, stated) for each in stated.claims),
        problems=tuple(problems),
        weaknesses=stated.weaknesses,
    )


def _contradictions(stated: SyntheticManifest) -> list[str]:
    """Say where the manifest doesn't agree with itself, and what may not be released."""
    problems = []
    if stated.n_out != sum(each.n_rows for each in stated.files):
        problems.append("The rows out are not the rows of the data files together.")
    if stated.n_in != stated.n_learnt + stated.n_control:
        problems.append("The rows in are not those learnt from and those set aside.")
    if not stated.n_out:
        problems.append("There are no rows, so nothing is released and nothing can be counted.")
    if len({each.name for each in stated.columns}) < len(stated.columns):
        problems.append("The manifest lists a column twice.")
    problems += [
        f"Column {each.name!r} is an identifier and is released."
        for each in stated.columns
        if each.role == "identifier"
    ]
    made = [(each.model, _columns(each)) for each in stated.claims]
    models = {each.model for each in stated.claims}
    problems += [
        f"The manifest lacks the claim {model!r}."
        for model in ("released-columns", _due(stated))
        if model is not None and model not in models
    ]
    judged = [it.parameters.get("copy") for it in stated.claims if it.model == COPIED_ROWS]
    if judged and None not in judged and not set(copies_of(stated.files)) <= set(judged):
        problems.append(f"The manifest lacks the claim {COPIED_ROWS!r} of a copy.")
    return problems + rules_lacking(stated.parameters.get("rules"), made)


def _due(stated: SyntheticManifest) -> str | None:
    """Return the model that a release of its kind must claim."""
    if stated.parameters.get("epsilon") is not None:
        return "differential-privacy"
    if stated.extent == "hybrid" and stated.parameters.get("k") is not None:
        return "hybrid-groups"
    return COPIED_ROWS if stated.extent == "full" else None


def _columns(claim: Claim) -> list[str]:
    columns = claim.about.get("columns")
    return list(map(str, columns)) if isinstance(columns, list) else []


def _checked(
    claim: Claim,
    table: pl.LazyFrame | None,
    originals: pl.LazyFrame | None,
    folder: Path,
    stated: SyntheticManifest,
) -> CheckedClaim:
    """Apply the check of a claim's model; one that can't be checked doesn't hold."""
    found, why, unchecked = ClaimCount(holds=False, found={}), "", ""
    basis, check = SYNTHETIC_CHECKS.get(claim.model, (None, None))
    if claim.model == COPIED_ROWS:
        basis, check = "counted", None
    if basis is None:
        why = " No check is known for this model, so it doesn't hold."
    elif claim.basis != basis:
        why = f" Its check is of what is {basis}, so it doesn't hold."
    elif table is None or not set(_columns(claim)) <= set(table.collect_schema().names()):
        why = " The files don't have its columns, so it doesn't hold."
    elif check is None and originals is None:
        unchecked = "the original rows, which only the owner has"
    else:
        try:
            if check is not None:
                found = check(claim, table)
            elif originals is not None:
                found = check_copies(claim, copies_of(stated.files), folder, originals, stated)
            why = f" {found.words}" if found.words else ""
            why += "" if found.holds else " The check doesn't bear it out."
        except Exception:  # noqa: BLE001 # what a library says of a file may quote it
            why = " Its check can't be made, so it doesn't hold."
    # What is only stated can be refuted, never borne out.
    is_stated = basis == "stated" and found.holds
    return CheckedClaim(
        claim=claim,
        holds=found.holds and not is_stated,
        sentence=claim.sentence(unchecked=unchecked) + why,
        found=dict(found.found),
        checked=not (unchecked or is_stated),
        cure=found.cure,
    )

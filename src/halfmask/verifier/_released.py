"""Verify a release of any kind: its files, what they hold, and each claim by its model's check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import VerificationError
from halfmask.claims import REPORT_NAME, Claim, Manifest
from halfmask.claims._released_files import folder_of
from halfmask.verifier._checks import Kind, ReleasedFiles, check_of, kind_of
from halfmask.verifier._found_files import hashed, rows_of, unlisted
from halfmask.verifier._inputs import IN_WORDS, VerifyInputs
from halfmask.verifier._result import CheckedClaim, CheckedRelease, FileCheck

if TYPE_CHECKING:
    from pathlib import Path


def check_release(path: Path, manifest: Manifest, given: VerifyInputs) -> CheckedRelease:
    """Check the files of a release, and each claim by the check of its kind and model."""
    kind = kind_of(manifest.kind)
    for name in given.given():
        if name not in kind.inputs:
            raise VerificationError(
                f"A release of the kind {manifest.kind!r} isn't verified with the "
                f"{IN_WORDS[name]} that you gave.",
                hint=f"Leave out {name}.",
            )
    files = ReleasedFiles(path, manifest, given)
    if kind.whole is not None:
        return kind.whole(files)
    checks, problems = file_faults(path, manifest)
    problems += kind.problems(files)
    if all(each.basis == "stated" for each in manifest.claims):
        problems.append("The manifest claims nothing, so there is nothing to verify.")
    counts = [each.n_rows for each in checks if each.n_rows is not None]
    return CheckedRelease(
        kind=manifest.kind,
        claims=tuple(_checked(kind, each, files) for each in manifest.claims),
        problems=tuple(problems),
        weaknesses=manifest.weaknesses,
        files=checks,
        rows=sum(counts) if len(counts) == len(checks) else None,
    )


def _checked(kind: Kind, claim: Claim, files: ReleasedFiles) -> CheckedClaim:
    """Apply the check of a claim's model; one that has none, or whose check fails, doesn't hold."""
    found, why, unchecked = None, "", ""
    basis, check = check_of(files.manifest.kind, claim.model) or (None, None)
    lacks = kind.needs.get(claim.model)
    if check is None:
        why = " No check is known for this model, so it doesn't hold."
    elif basis != claim.basis:
        why = f" Its check is of what is {basis}, so it doesn't hold."
    elif lacks is not None and getattr(files.given, lacks) is None:
        unchecked = f"the {IN_WORDS[lacks]}, which only the owner has"
    else:
        try:
            found = check(claim, files)
            why = f" {found.words}" if found.words else ""
            why += "" if found.holds else " The check doesn't bear it out."
        except Exception:  # noqa: BLE001 # what a library says of a file may quote it
            why = " Its check can't read the files."
    holds = found is not None and found.holds
    # What is only stated can be refuted, never borne out.
    is_stated = claim.basis == "stated" and (check is None or holds)
    return CheckedClaim(
        claim=claim,
        holds=holds and not is_stated,
        sentence=claim.sentence(unchecked=unchecked) + ("" if is_stated and not holds else why),
        found={} if found is None else dict(found.found),
        checked=not (unchecked or is_stated),
        cure="" if found is None else found.cure,
    )


def file_faults(path: Path, manifest: Manifest) -> tuple[tuple[FileCheck, ...], list[str]]:
    """Compare the files of a release with its manifest: hashes, sizes, rows, others there."""
    checks, problems, folder = [], [], folder_of(path)
    listed = {each.name for each in manifest.files}
    if len(listed) < len(manifest.files):
        problems.append("The manifest lists a file twice.")
    if not listed:
        problems.append("There are no data files, so nothing is released.")
    for number, file in enumerate(manifest.files, start=1):
        rows, fault = None, ""
        if hashed(folder, file.name) != (file.sha256, file.n_bytes):
            fault = "isn't as the manifest states"
        elif (rows := rows_of(folder / file.name, file.format)) != file.n_rows:
            fault = f"isn't {file.format} with the stated rows"
        problems += [f"Data file {number} {fault}."] if fault else []
        checks.append(FileCheck(name=file.name, n_rows=rows, holds=not fault))
    if manifest.report_sha256 is not None:
        listed.add(REPORT_NAME)
        report = hashed(folder, REPORT_NAME)
        if report is None or report[0] != manifest.report_sha256:
            problems.append("The report isn't the one that was written.")
    if more := unlisted(path, listed):
        problems.append(f"The folder holds {more} entries that the manifest doesn't list.")
    return tuple(checks), problems

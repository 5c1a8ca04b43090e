"""Verify a release of any kind: its files, and each claim by the check of its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims import REPORT_NAME, Claim, Manifest
from halfmask.claims._released_files import folder_of, released_file
from halfmask.verifier._checks import CHECKS, ClaimCount
from halfmask.verifier._found_files import hashed, rows_of, unlisted

if TYPE_CHECKING:
    from halfmask.claims._claim import Json

MAKE_AGAIN: Final = "Don't hand it over; make the release again."


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """One claim, checked again.

    Parameters
    ----------
    claim
        As the manifest states it.
    holds
        Whether its check bears it out.
    sentence
        The same in words, with the basis of its evidence.
    found
        What the check found; empty where there is none.
    checked
        Whether it could be checked. A claim about copied rows can't without the original rows,
        and one that is only stated can't at all: then ``holds`` is false, and nothing was found
        that is wrong with it.
    cure
        What helps where it doesn't hold; empty: to make the release again.
    """

    claim: Claim
    holds: bool
    sentence: str
    found: dict[str, Json]
    checked: bool = True
    cure: str = ""

    @property
    def is_stated(self) -> bool:
        """Whether nobody can check it, so that nothing follows from it."""
        return self.claim.basis == "stated" and not self.checked

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object."""
        return {
            **self.claim.to_dict(),
            "holds": self.holds,
            "checked": self.checked,
            "sentence": self.sentence,
            "found": self.found,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRelease:
    """A release of any kind, checked again.

    Parameters
    ----------
    kind
        The manifest's.
    claims
        Every claim of the manifest, in its order.
    problems
        What is wrong with the release as a whole; empty when nothing is.
    weaknesses
        What the manifest says that the release doesn't protect from.
    """

    kind: str
    claims: tuple[CheckedClaim, ...]
    problems: tuple[str, ...]
    weaknesses: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether claims can be checked, all of these hold, and nothing else is wrong."""
        checked = [each for each in self.claims if not each.is_stated]
        return bool(checked) and not self.problems and all(each.holds for each in checked)

    @property
    def is_broken(self) -> bool:
        """Whether something is wrong; false where claims only couldn't be checked."""
        broken = any(each.checked and not each.holds for each in self.claims)
        return broken or bool(self.problems) or not self.claims

    def raise_if_broken(self) -> None:
        """Raise unless everything holds.

        Raises
        ------
        VerificationError
            With a sentence for each thing that doesn't hold.
        """
        if self.holds:
            return
        broken = [it.sentence for it in self.claims if not it.holds and not it.is_stated]
        if not self.is_broken:
            raise VerificationError(
                "Not every claim of the release could be checked. " + " ".join(broken),
                hint="Give verify what they need: the original rows.",
            )
        raise VerificationError(
            "The release on disk doesn't bear out what it claims. "
            + " ".join([*self.problems, *broken]),
            hint=next(filter(None, (it.cure for it in self.claims)), MAKE_AGAIN),
        )

    def to_dict(self) -> dict[str, Json]:
        """Return everything as a JSON object."""
        return {
            "holds": self.holds,
            "kind": self.kind,
            "claims": [each.to_dict() for each in self.claims],
            "problems": list(self.problems),
            "weaknesses": list(self.weaknesses),
        }


def check_release(path: Path, manifest: Manifest) -> CheckedRelease:
    """Check the files of a release, and each claim by the check of its kind and model."""
    problems = file_faults(path, manifest)
    if all(each.basis == "stated" for each in manifest.claims):
        problems.append("The manifest claims nothing, so there is nothing to verify.")
    paths = [released_file(folder_of(path), each.name) for each in manifest.files]
    there = tuple(path for path in paths if path is not None)
    return CheckedRelease(
        kind=manifest.kind,
        claims=tuple(_checked(manifest.kind, each, there) for each in manifest.claims),
        problems=tuple(problems),
        weaknesses=manifest.weaknesses,
    )


def _checked(kind: str, claim: Claim, files: tuple[Path, ...]) -> CheckedClaim:
    """Apply the check of a claim's model; one that has none, or whose check fails, doesn't hold."""
    found = ClaimCount(holds=False, found={})
    basis, check = CHECKS.get((kind, claim.model), (None, None))
    is_stated = claim.basis == "stated" and check is None
    why = "" if check or is_stated else " No check is known for this model, so it doesn't hold."
    if check is not None and basis != claim.basis:
        why = f" Its check is of what is {basis}, so it doesn't hold."
    elif check is not None:
        try:
            found = check(claim, files)
            why = "" if found.holds else " The check doesn't bear it out."
        except Exception:  # noqa: BLE001 # what a library says of a file may quote it
            why = " Its check can't read the files."
    return CheckedClaim(
        claim=claim,
        holds=found.holds,
        sentence=claim.sentence() + why,
        found=dict(found.found),
        checked=not is_stated,
    )


def file_faults(path: Path, manifest: Manifest) -> list[str]:
    """Return the faults of the files of a release: hashes, sizes, rows, others in its folder."""
    problems, folder = [], folder_of(path)
    listed = {each.name for each in manifest.files}
    if len(listed) < len(manifest.files):
        problems.append("The manifest lists a file twice.")
    if not listed:
        problems.append("There are no data files, so nothing is released.")
    for number, file in enumerate(manifest.files, start=1):
        if hashed(folder, file.name) != (file.sha256, file.n_bytes):
            problems.append(f"Data file {number} isn't as the manifest states.")
        elif rows_of(folder / file.name, file.format) != file.n_rows:
            problems.append(f"Data file {number} isn't {file.format} with the stated rows.")
    if manifest.report_sha256 is not None:
        listed.add(REPORT_NAME)
        report = hashed(folder, REPORT_NAME)
        if report is None or report[0] != manifest.report_sha256:
            problems.append("The report isn't the one that was written.")
    if more := unlisted(path, listed):
        problems.append(f"The folder holds {more} entries that the manifest doesn't list.")
    return problems

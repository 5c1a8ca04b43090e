"""verify: one way to verify every kind of release: its files, what they hold, and each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import MissingDependencyError, ParameterError, VerificationError
from halfmask._foreign import missing
from halfmask.claims import REPORT_NAME, Claim, Manifest, read_manifest
from halfmask.claims.manifest import folder_of, manifest_path
from halfmask.verifier._found_files import hashed, unlisted
from halfmask.verifier._result import IMPORT_CHECK, CheckedClaim, CheckedRelease, FileCheck
from halfmask.verifier.checks import (
    IN_WORDS,
    ClaimCount,
    ReleaseCheck,
    ReleasedFiles,
    VerifiedKind,
    VerifyInputs,
    check_of,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.verifier._workers import Workers
    from halfmask.verifier.checks import HierarchyFiles


def verify(  # noqa: PLR0913 # keyword-only, each with a default
    release: str | Path,
    *,
    persons: str | Path | None = None,
    population: object = None,
    hierarchies: HierarchyFiles | None = None,
    originals: object = None,
    copy: str | Path | None = None,
    earlier: Sequence[str | Path] | None = None,
    also: str | Path | None = None,
    engine: Workers | None = None,
) -> CheckedRelease:
    """Verify a release of any kind: count its claims again from the files.

    Parameters
    ----------
    release
        The release folder. For events and other streams: the output, or its manifest next to it.
    persons
        For a table whose guarantees count persons: the file that says whose rows they are, which
        the owner kept. Without it these claims aren't checked.
    population
        For claims about the population that a table was drawn from: a frame, or a file of Parquet,
        CSV, Arrow or JSON lines with the quasi-identifiers.
    hierarchies
        For the same claims, where nodes of hierarchies are written: a folder with ``age.csv``, or a
        file for each column.
    originals
        For full synthetic rows: the original rows, as a frame or such a file. Without them copied
        rows aren't counted. For a copied database: the file of its source. For tables of counts and
        sums: the microdata, or the ready tables, that they were made of.
    copy
        For a copied database: the SQLite file that was written, as a path or ``sqlite:///path``.
    earlier
        For tables of counts and sums: the folders of the earlier releases that the manifest names.
    also
        A file of SPSS, Stata or Excel that `halfmask.export_release` made of rows: each of its
        cells must be that of the release.
    engine
        For a protected table: where its files are read and counted, as `halfmask.protect` takes
        it. By default this process does it.

    Returns
    -------
    CheckedRelease
        What was found. Look at ``.holds`` and ``.to_dict()``, or call ``.raise_if_broken()``.

    Raises
    ------
    ParameterError
        If the release isn't a path.
    VerificationError
        If there is no manifest, or this version can't read it; or its claims aren't about what was
        given besides. A claim that doesn't hold raises no error; it is part of the result.
    EngineError
        If a worker doesn't see the files as this process does, or the cluster fails.

    See Also
    --------
    halfmask.attack : What an attacker still learns.
    halfmask.verifier.events.verify_release : For events, with the policy at hand.

    Notes
    -----
    **Guarantees.** The verifier uses none of the counting code that made the files. A claim whose
    model has no check is reported as not holding. `halfmask.verifier.tables.verify` states what is
    counted in a table, and `halfmask.verifier.events.verify_release` what is counted in events.

    **Edge cases.** Claims about a population, persons or copied rows can be checked only with
    these. Without them ``.holds`` and ``.is_broken`` are false.

    The manifest isn't signed: someone who changes the files can also write a
    manifest that matches them. Get the hash of the manifest from a source that you trust.
    """
    if engine is not None and not hasattr(engine, "map"):
        raise ParameterError(
            f"The 'engine' parameter of verify can't be used. Got a {type(engine).__name__}.",
            hint="Make one with halfmask.engines.connect, or leave it out.",
        )
    given = VerifyInputs(
        persons=persons,
        population=population,
        hierarchies=hierarchies,
        originals=originals,
        copy=copy,
        earlier=earlier,
        engine=engine,
    )
    path = _path_of(release)
    found = verify_with(path, given)
    if also is None:
        return found
    from halfmask.verifier.exported import export_faults  # noqa: PLC0415 # rare

    faults = export_faults(path, read_manifest(path), also)
    return replace(found, problems=(*found.problems, *faults))


def verify_with(release: Path, given: VerifyInputs) -> CheckedRelease:
    """Verify a release of any kind: what `verify` does, with all inputs as one value."""
    return _check_release(manifest_path(release), read_manifest(release), given)


def _path_of(release: object) -> Path:
    if not isinstance(release, str | PathLike):
        raise ParameterError(
            "The 'release' parameter of verify must be the path of a release. "
            f"Got a value of type {type(release).__name__}.",
            hint="Files are verified: write the release to a folder, and give that.",
        )
    return Path(release)


def _check_release(path: Path, manifest: Manifest, given: VerifyInputs) -> CheckedRelease:
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
    checks, problems = _file_faults(path, manifest)
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


def _checked(kind: VerifiedKind, claim: Claim, files: ReleasedFiles) -> CheckedClaim:
    """Apply the check of a claim's model; one that has none, or whose check fails, doesn't hold."""
    found, why, unchecked, lacking = None, "", "", ""
    basis, check = check_of(files.manifest.kind, claim.model) or (None, None)
    lacks = [it for it in kind.needs.get(claim.model, ()) if getattr(files.given, it) is None]
    if check is None:
        if claim.basis != "stated":
            lacking = "a check of its model, from the module that adds it"
    elif basis != claim.basis:
        why = f" It says that it is {claim.basis}; its check is of what is {basis}."
    elif lacks:
        words = " and the ".join(IN_WORDS[it] for it in lacks)
        unchecked = f"the {words}, which only the owner has"
    else:
        found, why = _counted(check, claim, files)
    holds = found is not None and found.holds
    # What is only stated can be refuted, never borne out.
    is_stated = claim.basis == "stated" and (check is None or holds)
    return CheckedClaim(
        claim=claim,
        holds=holds and not is_stated,
        sentence=claim.sentence(unchecked=unchecked or lacking)
        + ("" if is_stated and not holds else why),
        found={} if found is None else dict(found.found),
        checked=not (unchecked or is_stated),
        cure=(IMPORT_CHECK if lacking else "") if found is None else found.cure,
    )


def _counted(
    check: ReleaseCheck, claim: Claim, files: ReleasedFiles
) -> tuple[ClaimCount | None, str]:
    """Return what a check counts, or None where it fails, and a sentence on what is wrong."""
    asked = _with_asked_parameters(claim)
    try:
        found: object = check(asked, files)
    except Exception as error:  # noqa: BLE001 # what a library says of a file may quote it
        lacking = missing(error) if isinstance(error, ModuleNotFoundError) else error
        if isinstance(lacking, MissingDependencyError):
            raise lacking from None  # the release isn't wrong because a library isn't installed
        raised = type(error).__name__
        return None, f" Its check can't read the files or its parameters ({raised})."
    if not isinstance(found, ClaimCount):
        return None, " Its check didn't return a ClaimCount."
    why = f" {found.words}" if found.words else ""
    unread = set(claim.parameters) - asked.parameters.names
    if unread and found.holds and claim.basis != "stated":
        # The sentence states each parameter as counted: an invented one, too.
        found = replace(found, holds=False)
        why += f" Its check reads {len(unread)} of its parameters nowhere."
    return found, why + ("" if found.holds else " The check doesn't bear it out.")


class _AskedParameters(Mapping[str, Any]):
    """The parameters of a claim, and which of them its check asks for, in whatever way."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._all = parameters
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 # as the manifest has it
        self.names.add(name)
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        self.names |= {*self._all}
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _with_asked_parameters(claim: Claim) -> Any:  # noqa: ANN401 # a claim whose parameters count
    made = copy(claim)
    object.__setattr__(made, "parameters", _AskedParameters(claim.parameters))
    return made


def _file_faults(path: Path, manifest: Manifest) -> tuple[tuple[FileCheck, ...], list[str]]:
    """Compare the files of a release with its manifest: hashes, sizes, rows, others there."""
    from halfmask.verifier._stored_rows import rows_of  # noqa: PLC0415 # loads all of tables/

    checks, problems, folder = [], [], folder_of(path)
    listed = {each.name for each in manifest.files}
    if len(listed) < len(manifest.files):
        problems.append("The manifest lists a file twice.")
    if not listed and kind_of(manifest.kind).has_files:
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

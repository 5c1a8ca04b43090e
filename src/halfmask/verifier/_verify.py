"""verify: one way to verify every kind of release."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.claims import read_manifest
from halfmask.claims._released_files import manifest_path
from halfmask.verifier._inputs import VerifyInputs
from halfmask.verifier._released import check_release

if TYPE_CHECKING:
    from halfmask.verifier._inputs import HierarchyFiles
    from halfmask.verifier._result import CheckedRelease
    from halfmask.verifier._workers import Workers


def verify(
    release: str | Path,
    *,
    persons: str | Path | None = None,
    population: object = None,
    hierarchies: HierarchyFiles | None = None,
    originals: object = None,
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
        rows aren't counted.
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
    given = VerifyInputs(
        persons=persons,
        population=population,
        hierarchies=hierarchies,
        originals=originals,
        engine=engine,
    )
    return verify_with(_path_of(release), given)


def verify_with(release: Path, given: VerifyInputs) -> CheckedRelease:
    """Verify a release of any kind: what `verify` does, with all inputs as one value.

    Parameters
    ----------
    release
        The release folder, or an output with its manifest next to it.
    given
        What claims are checked against.
    """
    return check_release(manifest_path(release), read_manifest(release), given)


def _path_of(release: object) -> Path:
    if not isinstance(release, str | PathLike):
        raise ParameterError(
            "The 'release' parameter of verify must be the path of a release. "
            f"Got a value of type {type(release).__name__}.",
            hint="Files are verified: write the release to a folder, and give that.",
        )
    return Path(release)

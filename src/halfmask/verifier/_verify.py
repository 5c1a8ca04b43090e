"""verify: one way to verify every kind of release."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import ParameterError, VerificationError
from halfmask.claims import read_manifest
from halfmask.claims._events_manifest import EVENTS
from halfmask.claims._manifest import (
    DATABASE,
    PRIVACY_LEDGER,
    PRIVATE_ANSWER,
    PRIVATE_MICRODATA,
    PRIVATE_MODEL,
)
from halfmask.claims._masked_manifest import MASKED
from halfmask.claims._released_files import manifest_path
from halfmask.claims._synthetic_manifest import SYNTHETIC
from halfmask.claims._table_manifest import MICRODATA
from halfmask.verifier._answer_check import check_answer
from halfmask.verifier._checks import add_check
from halfmask.verifier._privacy_check import check_ledger, check_privacy
from halfmask.verifier._released import CheckedRelease, check_release

if TYPE_CHECKING:
    from halfmask.verifier._workers import Workers
    from halfmask.verifier.events import ReleaseVerdict
    from halfmask.verifier.tables import Verification
    from halfmask.verifier.tables._people import HierarchyFiles

add_check(PRIVATE_MODEL, "differential-privacy", check_privacy, basis="accounted")
add_check(PRIVATE_ANSWER, "differential-privacy", check_answer, basis="accounted")
add_check(PRIVACY_LEDGER, "differential-privacy", check_ledger, basis="accounted")

AnyVerification: TypeAlias = "Verification | ReleaseVerdict | CheckedRelease"


def verify(
    release: str | Path,
    *,
    persons: str | Path | None = None,
    population: object = None,
    hierarchies: HierarchyFiles | None = None,
    originals: object = None,
    engine: Workers | None = None,
) -> AnyVerification:
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
    Verification, ReleaseVerdict or CheckedRelease
        The result for a table, for events, or for another kind of release. Look at ``.holds`` and
        ``.to_dict()``, or call ``.raise_if_broken()``.

    Raises
    ------
    ParameterError
        If the release isn't a path.
    VerificationError
        If there is no manifest, or this version can't read it. A claim that doesn't hold raises
        no error; it is part of the result.
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
    where = _path_of(release)
    path = manifest_path(where)
    manifest = read_manifest(where)
    if (persons is not None or population is not None) and manifest.kind != MICRODATA:
        raise VerificationError(
            "Only the release of a protected table has claims about persons or a population."
        )
    if engine is not None and manifest.kind != MICRODATA:
        raise VerificationError(
            "Only the release of a protected table is verified on an engine. This one is of the "
            f"kind {manifest.kind!r}.",
            hint="Leave out the engine.",
        )
    if originals is not None and manifest.kind != SYNTHETIC:
        raise VerificationError("Only a release of synthetic rows has claims about original rows.")
    if manifest.kind == EVENTS:
        from halfmask.verifier.events import verify_release  # noqa: PLC0415 # tables don't need it

        return verify_release(path)
    if manifest.kind == MICRODATA:
        from halfmask.verifier.tables import verify as verify_table  # noqa: PLC0415 # loads polars

        return verify_table(
            path.parent,
            persons=persons,
            population=population,
            hierarchies=hierarchies,
            engine=engine,
        )
    if manifest.kind == MASKED:
        from halfmask.verifier.masked import check_masked  # noqa: PLC0415 # loads polars

        return check_masked(manifest, path.parent)
    if manifest.kind == SYNTHETIC:
        from halfmask.verifier.synthetic import check_synthetic  # noqa: PLC0415 # loads polars

        return check_synthetic(manifest, path.parent, originals=originals)
    if manifest.kind == PRIVATE_MICRODATA:
        from halfmask.verifier.safepub import check_private_rows  # noqa: PLC0415 # loads polars

        return check_private_rows(manifest, path)
    if manifest.kind == DATABASE:
        raise VerificationError(
            "This is the report of a copied database, whose rows aren't in the folder.",
            hint="The copy was compared with its source before it was committed; the report says "
            "what was counted.",
        )
    return check_release(path, manifest)


def _path_of(release: object) -> Path:
    if not isinstance(release, str | PathLike):
        raise ParameterError(
            "The 'release' parameter of verify must be the path of a release. "
            f"Got a value of type {type(release).__name__}.",
            hint="Files are verified: write the release to a folder, and give that.",
        )
    return Path(release)

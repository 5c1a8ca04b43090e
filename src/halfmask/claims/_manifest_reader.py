"""manifest.json read strictly: whatever isn't exactly a manifest is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from halfmask._errors import VerificationError
from halfmask.claims._claim import BASES, Basis, Claim
from halfmask.claims._common_keys import common_keys
from halfmask.claims._events_manifest import EVENTS
from halfmask.claims._events_reader import FIRST_FORMAT, first_events_version
from halfmask.claims._manifest import FORMAT, VERSION, Manifest
from halfmask.claims._masked_manifest import MASKED
from halfmask.claims._released_files import MANIFEST_NAME, manifest_path
from halfmask.claims._strict import At, strict_json
from halfmask.claims._synthetic_manifest import SYNTHETIC
from halfmask.claims._table_manifest import MICRODATA
from halfmask.claims._table_reader import check_second_version, first_version, table_manifest

if TYPE_CHECKING:
    from halfmask.claims._table_manifest import TableManifest

MAX_BYTES: Final = 1 << 28


def read_table_manifest(folder: Path) -> TableManifest:
    """Read the manifest of a released table; see `read_manifest` for what is refused.

    Parameters
    ----------
    folder
        The folder of a release.
    """
    return table_manifest(read_manifest(folder))


def read_manifest(where: Path) -> Manifest:
    """Read the manifest of a release.

    Parameters
    ----------
    where
        The release folder, an output file, or the manifest next to an output file.

    Returns
    -------
    Manifest
        The manifest. It isn't compared with the released files.

    Raises
    ------
    VerificationError
        If there is no manifest, or it isn't a valid manifest of version 1 or 2. Examples: not JSON,
        too large, a duplicate, missing or unknown key, a wrong type, a file name that points
        outside the folder.
    """
    path = manifest_path(where)
    if path.is_symlink() or not path.is_file():
        if not path.exists() and not Path(where).exists():
            raise VerificationError(
                "The release is not there.",
                hint="Check its path: a relative one starts at the folder that halfmask runs in.",
            )
        raise VerificationError(
            "The release has no manifest.json of its own, and no manifest next to it.",
            hint="Give the folder that protect wrote; of events the output, with its manifest.",
        )
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise VerificationError(
            f"manifest.json can't be read: {error.strerror or 'the system refused'}."
        ) from None
    if len(raw) > MAX_BYTES:
        raise VerificationError(f"manifest.json is larger than {MAX_BYTES} bytes.")
    return parse_manifest(raw, of_output=path.name != MANIFEST_NAME)


def parse_manifest(raw: bytes, *, of_output: bool = False) -> Manifest:
    """Return the manifest that these bytes are; see `read_manifest` for what is refused."""
    top = strict_json(raw)
    top_keys = top.mapping()
    version = top_keys.get("version")
    if type(version) is not int:  # neither true nor 2.0
        version = None
    if top_keys.get("format") == FIRST_FORMAT and of_output and version == 1:
        return first_events_version(top).stated()
    if top_keys.get("format") not in (FORMAT, FIRST_FORMAT):
        raise VerificationError("manifest.json isn't the manifest of a halfmask release.")
    if top_keys["format"] == FORMAT and version == 1 and not of_output:
        return first_version(top).stated()
    if top_keys["format"] != FORMAT or version != VERSION:
        raise VerificationError(
            f"manifest.json isn't of version 1 or {VERSION}, which this halfmask reads.",
            hint="Verify it with the version of halfmask that wrote it.",
        )
    at = top.keys(
        *("format", "version", "kind", "created", "software", "policy", "files", "claims"),
        *("weaknesses", "details"),
        optional=("report",),
    )
    kind = at["kind"].text()
    manifest = Manifest(
        **common_keys(at, folder=None if of_output else "data"),
        kind=kind,
        claims=at["claims"].each(_synthetic_claim if kind == SYNTHETIC else _claim),
        details=at["details"].mapping(),
    )
    if manifest.kind in ((MICRODATA, MASKED, SYNTHETIC) if of_output else (EVENTS,)):
        raise VerificationError(f"The manifest of {manifest.kind} isn't where these have theirs.")
    if manifest.kind == MICRODATA:
        check_second_version(manifest)
    return manifest


def _claim(at: At) -> Claim:
    found = at.keys("model", "parameters", "about", "basis", "evidence")
    bases: Sequence[str] = tuple(BASES)
    return Claim(
        model=found["model"].text(),
        parameters=found["parameters"].parameters(),
        about=found["about"].mapping(),
        basis=cast("Basis", found["basis"].word(tuple(bases))),
        evidence=found["evidence"].mapping(),
    )


def _synthetic_claim(at: At) -> Claim:
    """Read a claim of synthetic rows; groups of a hybrid were called accounted, which is false."""
    claim = _claim(at)
    if (claim.model, claim.basis) == ("hybrid-groups", "accounted"):
        return replace(claim, basis="stated")
    return claim

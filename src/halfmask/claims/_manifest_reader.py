"""manifest.json read strictly: whatever isn't exactly a manifest is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from halfmask._errors import VerificationError
from halfmask.claims._claim import BASES, Basis, Claim
from halfmask.claims._common_keys import common_keys
from halfmask.claims._manifest import FORMAT, MANIFEST_NAME, VERSION, Manifest
from halfmask.claims._strict import At, strict_json
from halfmask.claims._table_reader import first_version, table_manifest

if TYPE_CHECKING:
    from halfmask.claims._table_manifest import TableManifest

__all__ = ["parse_manifest", "read_manifest", "read_table_manifest"]

MAX_BYTES: Final = 64 * 1024 * 1024


def read_table_manifest(folder: Path) -> TableManifest:
    """Read the manifest of a released table; see `read_manifest` for what is refused."""
    return table_manifest(read_manifest(folder))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a release folder.

    Parameters
    ----------
    folder
        The release folder.

    Returns
    -------
    Manifest
        What the release says of itself; nothing of it is checked against the files yet.

    Raises
    ------
    VerificationError
        If there is none, or it isn't exactly a manifest of version 1 or 2: not JSON, too large, a
        key twice, missing or unknown, a wrong type, a file name that leads out of the folder.
    """
    path = folder / MANIFEST_NAME
    if not folder.is_dir():
        raise VerificationError(
            "The release to verify isn't a folder.", hint="Give the folder that protect wrote."
        )
    if path.is_symlink() or not path.is_file():
        raise VerificationError(
            "The release folder has no manifest.json of its own.",
            hint="Give the folder that protect wrote.",
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
    return parse_manifest(raw)


def parse_manifest(raw: bytes) -> Manifest:
    """Return the manifest that these bytes are; see `read_manifest` for what is refused."""
    top = strict_json(raw)
    said = top.mapping()
    if said.get("format") != FORMAT:
        raise VerificationError("manifest.json isn't the manifest of a halfmask release.")
    version = said.get("version")
    if version == 1 and not isinstance(version, bool):
        return first_version(top).stated()
    if version != VERSION:
        raise VerificationError(
            f"manifest.json isn't of version 1 or {VERSION}, which this halfmask reads.",
            hint="Verify it with the version of halfmask that wrote it.",
        )
    at = top.keys(
        *("format", "version", "kind", "created", "software", "policy", "files", "claims"),
        *("weaknesses", "details"),
        optional=("report",),
    )
    return Manifest(
        **common_keys(at),
        kind=at["kind"].text(),
        claims=at["claims"].each(_claim),
        details=at["details"].mapping(),
    )


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

"""manifest.json read strictly: whatever isn't exactly a manifest is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from halfmask._errors import VerificationError
from halfmask.claims._first_version import (
    FIRST_EVENTS,
    events_of_first_version,
    table_of_first_version,
)
from halfmask.claims._strict import At, strict_json
from halfmask.claims.claim import BASES, Basis, Claim
from halfmask.claims.manifest import (
    EVENTS,
    FORMAT,
    MASKED,
    MICRODATA,
    SYNTHETIC,
    VERSION,
    DataFile,
    Manifest,
)
from halfmask.claims.released_files import MANIFEST_NAME, manifest_path, released_name

FORMATS: Final = ("parquet", "csv", "arrow", "jsonl")
CREATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
MAX_BYTES: Final = 1 << 28


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
    if top_keys.get("format") == FIRST_EVENTS and of_output and version == 1:
        return _manifest(At(events_of_first_version(top), top.place), of_output=True)
    if top_keys.get("format") not in (FORMAT, FIRST_EVENTS):
        raise VerificationError("manifest.json isn't the manifest of a halfmask release.")
    if top_keys["format"] == FORMAT and version == 1 and not of_output:
        return _manifest(At(table_of_first_version(top), top.place), of_output=False)
    if top_keys["format"] != FORMAT or version != VERSION:
        raise VerificationError(
            f"manifest.json isn't of version 1 or {VERSION}, which this halfmask reads.",
            hint="Verify it with the version of halfmask that wrote it.",
        )
    manifest = _manifest(top, of_output=of_output)
    if _IS_BESIDE.get(manifest.kind, of_output) != of_output:
        raise VerificationError(f"The manifest of {manifest.kind} isn't where these have theirs.")
    _CHECKS.get(manifest.kind, lambda _: None)(manifest)
    return manifest


def _manifest(top: At, *, of_output: bool) -> Manifest:
    at = top.keys(
        *("format", "version", "kind", "created", "software", "policy", "files", "claims"),
        *("weaknesses", "details"),
        optional=("report",),
    )
    kind = at["kind"].text()
    return Manifest(
        kind=kind,
        created=at["created"].like(CREATED, "a time in UTC such as 2026-11-21T09:00:00Z"),
        software=at["software"].values(At.text),
        policy_sha256=_hash_of(at["policy"]),
        files=at["files"].each(lambda it: _file(it, None if of_output else "data")),
        claims=at["claims"].each(_synthetic_claim if kind == SYNTHETIC else _claim),
        weaknesses=at["weaknesses"].texts(),
        details=at["details"].mapping(),
        report_sha256=_hash_of(at["report"]) if "report" in at else None,
    )


def _check_risk(manifest: Manifest) -> None:
    """Refuse a table that doesn't state its risk over released columns, as version 1 didn't."""
    at = At(manifest.details.get("risk"), f"{MANIFEST_NAME}: details: risk")
    if "released_columns" not in at.mapping():
        raise VerificationError(f"{at.place} lacks the key 'released_columns'.")


#: Whether the manifest of a kind of ours lies next to an output, and what else is asked of it.
_IS_BESIDE: Final = {MICRODATA: False, MASKED: False, SYNTHETIC: False, EVENTS: True}
_CHECKS: Final = {MICRODATA: _check_risk}


def _hash_of(at: At) -> str:
    return at.keys("sha256")["sha256"].sha256()


def _file(at: At, folder: str | None) -> DataFile:
    found = at.keys("name", "format", "sha256", "bytes", "rows")
    return DataFile(
        name=released_name(found["name"], folder),
        format=found["format"].word(FORMATS),
        sha256=found["sha256"].sha256(),
        n_bytes=found["bytes"].count(),
        n_rows=found["rows"].count(),
    )


def _claim(at: At) -> Claim:
    found = at.keys("model", "parameters", "about", "basis", "evidence")
    return Claim(
        model=found["model"].text(),
        parameters=found["parameters"].parameters(),
        about=found["about"].mapping(),
        basis=cast("Basis", found["basis"].word(tuple(BASES))),
        evidence=found["evidence"].mapping(),
    )


def _synthetic_claim(at: At) -> Claim:
    """Read a claim of synthetic rows; groups of a hybrid were called accounted, which is false."""
    claim = _claim(at)
    if (claim.model, claim.basis) == ("hybrid-groups", "accounted"):
        return replace(claim, basis="stated")
    return claim

"""manifest.json read strictly: whatever isn't exactly a manifest, of version 1 or 2, is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, cast

from halfmask._errors import VerificationError
from halfmask.claims._details import At, released_name, strict_json
from halfmask.claims.claim import BASES, WEAKNESSES, Basis, Claim, weakness_sentence
from halfmask.claims.manifest import (
    EVENTS,
    FORMAT,
    MANIFEST_NAME,
    MASKED,
    MICRODATA,
    SYNTHETIC,
    TABLES,
    VERSION,
    DataFile,
    Manifest,
    manifest_path,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.claims.claim import Json


FORMATS: Final = ("parquet", "csv", "arrow", "jsonl", "excel")
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
    policy = at["policy"].keys("sha256", optional=("approval",))
    return Manifest(
        kind=kind,
        created=at["created"].like(CREATED, "a time in UTC such as 2026-11-21T09:00:00Z"),
        software=at["software"].values(At.text),
        policy_sha256=policy["sha256"].sha256(),
        files=at["files"].each(lambda it: _file(it, None if of_output else "data")),
        claims=at["claims"].each(_synthetic_claim if kind == SYNTHETIC else _claim),
        weaknesses=at["weaknesses"].texts(),
        details=at["details"].mapping(),
        report_sha256=at["report"].keys("sha256")["sha256"].sha256() if "report" in at else None,
        approval=policy["approval"].values(At.text) if "approval" in policy else {},
    )


def _check_risk(manifest: Manifest) -> None:
    """Refuse a table that doesn't state its risk over released columns, as version 1 didn't."""
    at = At(manifest.details.get("risk"), f"{MANIFEST_NAME}: details: risk")
    if "released_columns" not in at.mapping():
        raise VerificationError(f"{at.place} lacks the key 'released_columns'.")


#: Whether the manifest of a kind of ours lies next to an output, and what else is asked of it.
_IS_BESIDE: Final = {MICRODATA: False, MASKED: False, SYNTHETIC: False, TABLES: False, EVENTS: True}
_CHECKS: Final = {MICRODATA: _check_risk}


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


#: What version 0.1 called its manifests of events.
FIRST_EVENTS: Final = "halfmask events release"
#: Names of counts that version 0.1 had for others.
_RENAMED: Final = {"least-events": "min-events", "least-entities": "min-entities"}


def table_of_first_version(top: At) -> dict[str, Json]:
    """Return a table's manifest as version 2 has it: all claims were counted."""
    details = ("rows", "support", "columns", "method", "risk", "utility")
    same = ("created", "software", "policy", "files", "weaknesses")
    at = top.keys("format", "version", "claims", *same, *details, optional=("report",))
    at["columns"].each(lambda it: it.keys("name", "role", "kind", "recoding", "dtype"))
    return {
        **_head(MICRODATA),
        **_values(at, *same, "report"),
        "claims": list(at["claims"].each(_first_claim)),
        "details": _values(at, *details),
    }


def events_of_first_version(top: At) -> dict[str, Json]:
    """Return an output's manifest as version 2 has it."""
    details = ("counts", "failures", "risk")
    at = top.keys(
        *("format", "version", "created", "software", "policy", "folder", "files", "lines"),
        *("fields", "claims", "weaknesses", *details),
    )
    at["weaknesses"].mapping()
    files = at["files"].each(_first_file)
    if at["lines"].count() != sum(each["rows"] for each in files if isinstance(each["rows"], int)):
        at["lines"].refuse("the sum of the lines of its files")
    policy = at["policy"].keys("sha256", "release")
    fields = at["fields"].each(_first_field)
    claims, panes = at["claims"].or_none(_first_event_claims) or ([], [])
    words = {word for _, words in fields for word in words if word in WEAKNESSES}
    return {
        **_head(EVENTS),
        **_values(at, "created", "software"),
        "policy": _values(policy, "sha256"),
        "files": list(files),
        "claims": claims,
        "weaknesses": [weakness_sentence(word) for word in sorted(words)],
        "details": {
            **_values(policy, "release"),
            **_values(at, *details),
            "fields": [field for field, _ in fields],
            "panes": panes,
        },
    }


def _head(kind: str) -> dict[str, Json]:
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def _values(at: Mapping[str, At], *names: str) -> dict[str, Json]:
    return {name: at[name].value for name in names if name in at}


def _first_claim(at: At) -> Json:
    required = ("model", "parameters", "column", "quasi_identifiers", "evidence")
    found = at.keys(*required, optional=("support",))
    return {
        **_values(found, "model", "parameters", "evidence"),
        "about": _values(found, "column", "quasi_identifiers", "support"),
        "basis": "counted",
    }


def _first_file(at: At) -> dict[str, Json]:
    found = at.keys("name", "sha256", "bytes", "lines")
    suffix = PurePath(found["name"].text()).suffix.removeprefix(".")
    return {
        **_values(found, "name", "sha256", "bytes"),
        "format": suffix if suffix in {"parquet", "arrow"} else "jsonl",
        "rows": found["lines"].count(),
    }


def _first_field(at: At) -> tuple[Json, tuple[str, ...]]:
    # It named the field twice, once for people.
    found = at.keys("field", "steps", "rule", "form", "weaknesses")
    words = found["weaknesses"].texts()
    return _values(found, "steps", "rule", "form", "weaknesses"), words


def _first_event_claims(at: At) -> tuple[list[Json], Json]:
    found = at.keys("format", "version", optional=("panes", "guarantees", "aggregates"))
    if (found["format"].value, found["version"].value) != ("halfmask events claims", 1):
        raise VerificationError("The claims are of a version that this halfmask doesn't read.")
    if "aggregates" in found:
        claims, panes = found["aggregates"].each(_first_cells), At([], at.place)
    else:
        both = at.keys("format", "version", "panes", "guarantees")
        claims, panes = both["guarantees"].each(_first_guarantee), both["panes"]
    if not claims:
        at.refuse("null, or something that is claimed")
    return list(claims), panes.value


def _first_guarantee(at: At) -> Json:
    least = "least-entities-of-the-run"
    found = at.keys("kind", "k", "m", "fields", "unit", "session", "entity", "fails", least)
    return {
        "model": found["kind"].value,
        "parameters": _values(found, "k", *(("m",) if found["kind"].value == "k-m" else ())),
        "about": _values(found, "fields", "unit", "session", "entity", "fails"),
        "basis": "counted",
        "evidence": {"min_entities": found[least].value},
    }


def _first_cells(at: At) -> Json:
    about = ("name", "window", "by", "count", "entities", "totals")
    found = at.keys(*about, *_RENAMED)
    least = {new: found[old].value for old, new in _RENAMED.items()}
    return {
        "model": "cells",
        "parameters": {word: count for word, count in least.items() if count is not None},
        "about": _values(found, *about),
        "basis": "counted",
        "evidence": {},
    }

"""manifest.json: what a release says of itself, so that a stranger can count it again.

The manifest holds names of released columns, parameters and counts. It holds no cell value, no
category, no path of the owner's machine and no name of a column that was dropped.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "MANIFEST_NAME",
    "REPORT_NAME",
    "Claim",
    "DataFile",
    "Evidence",
    "Json",
    "Manifest",
    "ReleasedColumn",
    "RowCounts",
    "SupportFile",
    "write_manifest",
]

MANIFEST_NAME = "manifest.json"
REPORT_NAME = "report.html"
FORMAT = "halfmask-release"
VERSION = 1

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows that came in, that left, and that were left out: in = out + suppressed."""

    n_in: int
    n_out: int
    n_suppressed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of the released table.

    Attributes
    ----------
    name
        Under the release folder, with ``/``: ``data/part-00000.parquet``.
    format
        ``"parquet"``, ``"csv"``, ``"arrow"`` or ``"jsonl"``.
    sha256
        64 lower-case hexadecimal digits.
    n_bytes, n_rows
        Its size and its rows.
    """

    name: str
    format: str
    sha256: str
    n_bytes: int
    n_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFile:
    """The order or tree of a sensitive column's values: ``;``-separated, value then ancestors."""

    name: str
    column: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumn:
    """One column of the released table and what was done to it."""

    name: str
    role: str
    kind: str
    recoding: str | None
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was counted for a claim.

    Attributes
    ----------
    achieved
        The level of the worst class: smallest size for k, smallest l, largest t.
    classes, rows, smallest_class
        How many classes and rows were judged, and the rows of the smallest class.
    """

    achieved: float
    classes: int
    rows: int
    smallest_class: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A guarantee as stated, with the evidence that was counted for it.

    Attributes
    ----------
    model
        ``"k-anonymity"``, ``"distinct-l-diversity"``, ...
    parameters
        ``{"k": 10}``; numbers and words only.
    column
        The sensitive column, or ``None`` for k-anonymity.
    quasi_identifiers
        The columns that make the classes.
    evidence
        What was counted.
    support
        The name of the support file that orders the column's values, or ``None``.
    """

    model: str
    parameters: Mapping[str, float | int | str]
    column: str | None
    quasi_identifiers: tuple[str, ...]
    evidence: Evidence
    support: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "quasi_identifiers", tuple(self.quasi_identifiers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All that a release says of itself.

    Attributes
    ----------
    created
        When, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Name and version of each program that shaped the release.
    policy_sha256
        `Policy.sha256` of the policy that it was made by.
    rows, files, support, columns, claims
        See the values above.
    method
        Name and parameters of the method.
    weaknesses
        Sentences that name what the release doesn't protect from.
    risk, utility
        Numbers of the report, as JSON.
    report_sha256
        The hash of report.html; ``None`` before it is written.

    Examples
    --------
    >>> manifest = Manifest(
    ...     created="2026-11-21T09:00:00Z", software={"halfmask": "0.1.0"},
    ...     policy_sha256="0" * 64, rows=RowCounts(n_in=0, n_out=0, n_suppressed=0),
    ...     files=(), support=(), columns=(), method={"name": "guided"}, claims=(),
    ... )
    >>> manifest.to_dict()["format"]
    'halfmask-release'
    """

    created: str
    software: Mapping[str, str]
    policy_sha256: str
    rows: RowCounts
    files: tuple[DataFile, ...]
    support: tuple[SupportFile, ...]
    columns: tuple[ReleasedColumn, ...]
    method: Mapping[str, Json]
    claims: tuple[Claim, ...]
    weaknesses: tuple[str, ...] = ()
    risk: Mapping[str, Json] = field(default_factory=dict)
    utility: Mapping[str, Json] = field(default_factory=dict)
    report_sha256: str | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the manifest as the JSON object that `read_manifest` reads."""
        rows = self.rows
        report: dict[str, Json] = (
            {} if self.report_sha256 is None else {"report": {"sha256": self.report_sha256}}
        )
        return {
            "format": FORMAT,
            "version": VERSION,
            "created": self.created,
            "software": dict(self.software),
            "policy": {"sha256": self.policy_sha256},
            "rows": {"in": rows.n_in, "out": rows.n_out, "suppressed": rows.n_suppressed},
            "files": [_file_dict(each) for each in self.files],
            "support": [
                {"name": each.name, "column": each.column, "sha256": each.sha256}
                for each in self.support
            ],
            "columns": [
                {
                    "name": each.name,
                    "role": each.role,
                    "kind": each.kind,
                    "recoding": each.recoding,
                    "dtype": each.dtype,
                }
                for each in self.columns
            ],
            "method": dict(self.method),
            "claims": [_claim_dict(each) for each in self.claims],
            "weaknesses": list(self.weaknesses),
            "risk": dict(self.risk),
            "utility": dict(self.utility),
            **report,
        }

    def to_json(self) -> str:
        """Return the text of manifest.json: indented, strict JSON, a newline at its end.

        Raises
        ------
        ReleaseError
            If a number of it is infinite or not a number, or a value isn't JSON.
        """
        try:
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            # Python's own message quotes the value that it can't write.
            raise ReleaseError(
                "The manifest can't be written: it holds an infinite number or a value that "
                "JSON doesn't have.",
                hint="Every number of evidence, risk and utility must be finite or null.",
            ) from None
        return text + "\n"


def _file_dict(each: DataFile) -> Json:
    return {
        "name": each.name,
        "format": each.format,
        "sha256": each.sha256,
        "bytes": each.n_bytes,
        "rows": each.n_rows,
    }


def _claim_dict(claim: Claim) -> Json:
    evidence = claim.evidence
    support: dict[str, Json] = {} if claim.support is None else {"support": claim.support}
    return {
        "model": claim.model,
        "parameters": dict(claim.parameters),
        "column": claim.column,
        **support,
        "quasi_identifiers": list(claim.quasi_identifiers),
        "evidence": {
            "achieved": evidence.achieved,
            "classes": evidence.classes,
            "rows": evidence.rows,
            "smallest_class": evidence.smallest_class,
        },
    }


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write manifest.json into a release folder: complete or not at all.

    Parameters
    ----------
    manifest
        What the release says of itself.
    folder
        The release folder; it exists.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    ReleaseError
        If it can't be written.
    """
    text = manifest.to_json()
    target = folder / MANIFEST_NAME
    beside = folder / f".{MANIFEST_NAME}.partial"
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ReleaseError(
            f"The manifest can't be written: {error.strerror or 'the system refused'}.",
            hint="Check that the disk isn't full and that the release folder may be written.",
        ) from None
    return target

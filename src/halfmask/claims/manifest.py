"""manifest.json: what a release claims, so that a recipient can verify it.

Every kind of release has the same manifest: its kind, files, claims and weaknesses. What only one
kind has stands in its ``details``. The names of files can't lead out of its folder.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from halfmask._errors import ReleaseError, VerificationError

if TYPE_CHECKING:
    from halfmask.claims.claim import Claim, Json


#: The name of the manifest in the folder of a release.
MANIFEST_NAME: Final = "manifest.json"
#: What follows the name of an output whose manifest lies next to it.
BESIDE: Final = ".manifest.json"

# Letters, digits, dot, dash and underscore: no "..", no drive, no separator of another system,
# nothing that another normalisation turns into one of these.
PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# Windows opens these as devices, whatever follows the dot.
DEVICE: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


#: The name of the report in the folder of a release.
REPORT_NAME: Final = "report.html"
#: A table of people, protected by guarantees, by masks alone, or by synthesis.
MICRODATA: Final = "microdata"
MASKED: Final = "masked"
SYNTHETIC: Final = "synthetic"
#: An output of events, whose manifest lies next to it.
EVENTS: Final = "events"
#: The kind of a copied database: its manifest is a report, and its rows are elsewhere.
DATABASE: Final = "database"
#: Rows under differential privacy, by sampling and suppression (SafePub).
PRIVATE_MICRODATA: Final = "private-microdata"
#: A model that was trained under differential privacy.
PRIVATE_MODEL: Final = "private-model"
#: The answer of a question under a budget, and all charges of a budget.
PRIVATE_ANSWER: Final = "private-answer"
PRIVACY_LEDGER: Final = "privacy-ledger"
#: Tables of counts and sums.
TABLES: Final = "tables"
FORMAT: Final = "halfmask-release"
VERSION: Final = 2


class HasJson(Protocol):
    """What can be written as manifest.json."""

    def to_json(self) -> str:
        """Return the text of manifest.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of the released table.

    Attributes
    ----------
    name
        Path below the release folder, with ``/``: ``data/part-00000.parquet``.
    format
        ``"parquet"``, ``"csv"``, ``"arrow"`` or ``"jsonl"``.
    sha256
        64 lower-case hexadecimal digits.
    n_bytes, n_rows
        The size in bytes and the number of rows.
    """

    name: str
    format: str
    sha256: str
    n_bytes: int
    n_rows: int

    def to_dict(self) -> dict[str, Json]:
        """Return the file as the manifest has it."""
        return {
            "name": self.name,
            "format": self.format,
            "sha256": self.sha256,
            "bytes": self.n_bytes,
            "rows": self.n_rows,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a release: its files, claims, evidence and weaknesses.

    Attributes
    ----------
    kind
        What was released: ``"microdata"`` for a table of people.
    created
        The time of creation, in UTC: ``2026-11-21T09:00:00Z``.
    software
        Name and version of each program that shaped the release.
    policy_sha256
        The SHA-256 hash of the policy that made the release.
    files
        The data files.
    claims
        What is claimed, with evidence.
    weaknesses
        Sentences, each about a risk that the release doesn't protect against.
    details
        Facts that only this kind of release has, as JSON.
    report_sha256
        The hash of report.html; ``None`` before it is written.
    approval
        Who approved the release, when, for which receiver and purpose, and why its thresholds
        were chosen, as far as the policy says it.

    Examples
    --------
    >>> manifest = Manifest(
    ...     kind="counts", created="2026-11-21T09:00:00Z", software={"halfmask": "0.2.0"},
    ...     policy_sha256="0" * 64, files=(), claims=(),
    ... )
    >>> manifest.to_dict()["kind"]
    'counts'
    """

    kind: str
    created: str
    software: Mapping[str, str]
    policy_sha256: str
    files: tuple[DataFile, ...]
    claims: tuple[Claim, ...]
    weaknesses: tuple[str, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict)
    report_sha256: str | None = None
    approval: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """Return the manifest as the JSON object that `read_manifest` reads."""
        report: dict[str, Json] = (
            {} if self.report_sha256 is None else {"report": {"sha256": self.report_sha256}}
        )
        approval: dict[str, Json] = {"approval": dict(self.approval)} if self.approval else {}
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "created": self.created,
            "software": dict(self.software),
            "policy": {"sha256": self.policy_sha256, **approval},
            "files": [each.to_dict() for each in self.files],
            "claims": [each.to_dict() for each in self.claims],
            "weaknesses": list(self.weaknesses),
            "details": dict(self.details),
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
        # Half a surrogate, as in the name of a file that isn't UTF-8, is written as JSON's escape.
        return text.encode("utf-8", "backslashreplace").decode() + "\n"


def write_manifest(manifest: HasJson, folder: Path) -> Path:
    """Write manifest.json into a release folder: complete or not at all."""
    text = manifest.to_json()
    target = folder / MANIFEST_NAME
    partial = folder / f".{MANIFEST_NAME}.partial"
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ReleaseError(
            f"The manifest can't be written: {error.strerror or 'the system refused'}.",
            hint="Check that the disk isn't full and that the release folder may be written.",
        ) from None
    return target


def check_name(name: str, folder: str | None) -> bool:
    """Return whether a name is that of a plain file under ``folder`` of a release.

    None is for an output with its manifest next to it: its owner named it, so that letters of any
    script and spaces are in order.

    Examples
    --------
    >>> check_name("data/part-00000.parquet", "data")
    True
    >>> check_name("data/../secret", "data") or check_name("/data/x", "data")
    False
    >>> check_name("März 14.jsonl", None), check_name("../x", None), check_name(".hidden", None)
    (True, False, False)
    """
    if folder is None:
        return not name.startswith(".") and not set(name) & {"/", "\\", "\0"}
    first, *rest = name.split("/")
    return (
        first == folder
        and len(rest) == 1
        and PART.fullmatch(rest[0]) is not None
        and not rest[0].endswith(".")
        and DEVICE.fullmatch(rest[0]) is None
    )


def manifest_of(output: Path) -> Path:
    """Return where the manifest of an output lies."""
    return output.parent / (output.name + BESIDE)


def manifest_path(where: Path) -> Path:
    """Return where the manifest of a release is: in its folder, or next to its output."""
    inside = where / MANIFEST_NAME
    if os.path.lexists(inside):
        return inside
    if (where.name == MANIFEST_NAME or where.name.endswith(BESIDE)) and where.is_file():
        return where
    if manifest_of(where).is_file():
        return manifest_of(where)
    within = sorted(where.glob("*" + BESIDE)) if where.is_dir() else []
    return within[0] if len(within) == 1 else inside


def folder_of(manifest: Path) -> Path:
    """Return the folder that the names of a manifest are in: its own, or an output next to it."""
    if manifest.name == MANIFEST_NAME:
        return manifest.parent
    output = manifest.with_name(manifest.name.removesuffix(BESIDE))
    return output if output.is_dir() else output.parent


def released_file(folder: Path, name: str) -> Path | None:
    """Return the file of that name in a release folder, or None where it isn't a plain file.

    A symbolic link on the way, a folder, a device and a pipe are no plain files; the release
    folder itself may be a link, since its owner chose it.
    """
    path = folder
    parts = name.split("/")
    for depth, part in enumerate(parts, start=1):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError:
            return None
        wanted = stat.S_ISREG if depth == len(parts) else stat.S_ISDIR
        if not wanted(mode):
            return None
    return path


def entries_of(folder: Path) -> frozenset[str]:
    """Return the name of everything in a release folder that isn't a folder with something in it.

    Links are not followed, and an empty folder counts: its name could carry something.
    """
    found: set[str] = set()
    open_folders = [""]
    try:
        while open_folders:
            prefix = open_folders.pop()
            with os.scandir(folder / prefix) as entries:
                inside = list(entries)
            if not inside and prefix:
                found.add(prefix)
            for entry in inside:
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append(f"{name}/")
                else:
                    found.add(name)
    except OSError as error:
        raise VerificationError(
            f"The release folder can't be listed: {error.strerror or 'the system refused'}."
        ) from None
    return frozenset(found)

"""The keys that every version and kind of manifest has, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypedDict

from halfmask._errors import VerificationError
from halfmask.claims._manifest import DataFile
from halfmask.claims._released_files import check_name
from halfmask.claims._strict import At

FORMATS: Final = ("parquet", "csv", "arrow", "jsonl")
CREATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


class CommonKeys(TypedDict):
    """What every manifest has."""

    created: str
    software: Mapping[str, str]
    policy_sha256: str
    files: tuple[DataFile, ...]
    weaknesses: tuple[str, ...]
    report_sha256: str | None


def common_keys(at: Mapping[str, At], *, folder: str | None = "data") -> CommonKeys:
    """Return what every manifest has, from the keys of one; see `released_name` for `folder`."""
    return CommonKeys(
        created=created_of(at["created"]),
        software=software_of(at["software"]),
        policy_sha256=at["policy"].keys("sha256")["sha256"].sha256(),
        files=at["files"].each(lambda each: _file(each, folder)),
        weaknesses=at["weaknesses"].each(At.text),
        report_sha256=at["report"].keys("sha256")["sha256"].sha256() if "report" in at else None,
    )


def created_of(at: At) -> str:
    """Return when a release was made."""
    return at.like(CREATED, "a time in UTC such as 2026-11-21T09:00:00Z")


def software_of(at: At) -> dict[str, str]:
    """Return the versions of the programs that shaped a release."""
    return {key: At(it, at.place).text() for key, it in at.mapping().items()}


def released_name(at: At, folder: str | None) -> str:
    """Return the name of a plain file under a folder of the release; None: next to its manifest."""
    name = at.text()
    if not check_name(name, folder):
        where = "" if folder is None else f" under {folder}/"
        raise VerificationError(
            f"{at.place} must be the plain name of a file{where}.",
            hint="A release names only files of its own folder.",
        )
    return name


def _file(at: At, folder: str | None) -> DataFile:
    found = at.keys("name", "format", "sha256", "bytes", "rows")
    return DataFile(
        name=released_name(found["name"], folder),
        format=found["format"].word(FORMATS),
        sha256=found["sha256"].sha256(),
        n_bytes=found["bytes"].count(),
        n_rows=found["rows"].count(),
    )

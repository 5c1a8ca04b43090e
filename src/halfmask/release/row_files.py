"""How the files of a release are written: where, by what, and what they are verified with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.claims import DataFile

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.verifier import VerifyInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """Where a release is written, and how.

    Parameters
    ----------
    out
        The folder to make, or its address; of a database, where its copy goes.
    overwrite
        Whether what is there may be replaced.
    persons
        A file to make outside of the release.
    report
        Of a database: the folder to make for manifest and page.
    progress
        Called with what is being done and how far it is.
    """

    out: str | Path
    overwrite: bool
    persons: str | Path | None
    report: str | Path | None
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFiles:
    """How the files of a release are written, and what they are verified with.

    Parameters
    ----------
    write
        ``write(folder)`` writes the files under ``folder / "data"`` and returns them as the
        manifest states them. ``None`` if the rows aren't in the folder, as those of a database.
    evidence
        ``evidence(files)`` returns what the verifier needs and the folder lacks, such as the file
        of persons.
    release
        Without ``write``: the `Release` with the claims that were counted while rows were copied.
    folder
        Without ``write``: the folder for manifest and page.
    commit
        Without ``write``: makes the copied rows visible. Called last, before the folder gets its
        name.
    """

    write: Callable[[Path], Sequence[DataFile]] | None
    evidence: Callable[[Sequence[DataFile]], VerifyInputs] | None = None
    release: Any = None  # a Release, whose module imports this one
    folder: str | Path | None = None
    commit: Callable[[], None] | None = None


def write_lines(folder: Path, name: str, text: str) -> DataFile:
    """Write JSON lines into a file of a release, and return its name, hash and rows."""
    data = text.encode()
    (folder / name).write_bytes(data)
    return DataFile(
        name=name,
        format="jsonl",
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        n_rows=data.count(b"\n"),
    )

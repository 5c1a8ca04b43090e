"""The page Verify: a release is dropped, or chosen in the folder, and its verdict is read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import DataError
from halfmask.claims.claim import BASES
from halfmask.workbench._candidate import cancel
from halfmask.workbench._page import Fields, Page, PageAnswer
from halfmask.workbench._releases import release_named, releases_of

if TYPE_CHECKING:
    from halfmask.workbench._desk import Desk

KIND: Final = "verify"
_WORK: Final = "halfmask.workbench._received"


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the newest verdict, or that of the job that is asked for."""
    job = desk.jobs.get(query["job"]) if "job" in query else desk.jobs.latest(KIND)
    job = job if job is not None and job.kind == KIND else None
    names = [] if job is None else job.arguments.get("names") or [Path(job.arguments["where"]).name]
    there = [name for name, _ in releases_of(desk.project)]
    owners = query.get("hash", "").strip().lower()
    return {"job": job, "names": names, "releases": there, "bases": BASES, "owners": owners}


def drop(desk: Desk, fields: Fields) -> PageAnswer:
    """Verify the files that were dropped."""
    uploads = fields.uploads_of("release")
    if not uploads:
        raise DataError("No file was chosen.", hint="Drop the zip of a release, or all its files.")
    staged = Path(tempfile.mkdtemp(prefix="received-", dir=desk.project.hidden))  # of mode 0700
    try:
        for number, upload in enumerate(uploads):
            upload.path.rename(staged / str(number))
        names = [upload.name for upload in uploads]
        job = desk.jobs.start(KIND, f"{_WORK}:verify_received", names=names, staged=str(staged))
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return PageAnswer(query={"job": job.id})


def choose(desk: Desk, fields: Fields) -> PageAnswer:
    """Verify a release in the folder of the workbench."""
    where = release_named(desk.project.folder, fields.text("name"))
    job = desk.jobs.start(KIND, f"{_WORK}:verify_folder", where=str(where))
    return PageAnswer(to="verify", query={"job": job.id})


PAGE = Page("verify", "Verify", show, {"drop": drop, "choose": choose, "cancel": cancel}, needs="")

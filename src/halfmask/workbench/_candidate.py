"""The candidate: a release that is made and verified in a job's folder, and hasn't left it.

It is compared with the table, attacked, and then put to its place. It is stale as soon as the
policy, a file that the policy names, or the table has changed.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask.workbench._notices import notice_of

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._jobs import Job
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

KIND: Final = "candidate"
#: Files of a candidate: where each row went, and what Compare shows.
PLACES: Final = "places.npy"
COMPARED: Final = "compared.json"
_WORK: Final = "halfmask.workbench._candidate:make_candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate that was made: its facts, where it lies, and whether it is of what is open."""

    job: Job
    folder: Path
    facts: Mapping[str, Any]
    is_fresh: bool


def start_candidate(desk: Desk) -> Job:
    """Make a candidate of the open table by the policy; raise where there can't be one."""
    project = desk.project
    project.any_policy()
    return desk.jobs.start(
        KIND,
        _WORK,
        policy=project.policy_text(),
        table=table_to_keep(project),
        project=str(project.folder),
        stamp=stamp_of(project),
    )


def state_of(desk: Desk) -> dict[str, Any]:
    """Return what every page on candidates shows: the newest, and work on one that isn't done."""
    latest = desk.jobs.latest(KIND)
    return {
        "candidate": candidate_of(desk),
        "making": None if latest is None or latest.state == "done" else latest,
    }


def make(desk: Desk, fields: Fields) -> None:
    """Start the making of a candidate: an action of pages."""
    del fields
    start_candidate(desk)


def cancel(desk: Desk, fields: Fields) -> None:
    """Cancel a job: an action of pages."""
    desk.jobs.cancel(fields.text("job"))


def table_to_keep(project: Project) -> str:
    """Return the open table as jobs name it, which write no password down; raise without one."""
    project.source()
    return str(project.table)


def candidate_of(desk: Desk) -> Candidate | None:
    """Return the newest candidate that was made, fresh or stale."""
    job = next((it for it in desk.jobs.all() if it.kind == KIND and it.state == "done"), None)
    if job is None:
        return None
    fresh = job.arguments["stamp"] == stamp_of(desk.project)
    return Candidate(job=job, folder=job.folder / "release", facts=job.result, is_fresh=fresh)


def stamp_of(project: Project) -> str:
    """Return what changes with the policy, the files that it names, and the table."""
    text, table = project.policy_text(), project.table_file
    named = [project.folder / name for name in _named_files(tomllib.loads(text))]
    if table is not None:
        named += [table, *(sorted(table.rglob("*")) if table.is_dir() else ())]
    stats = [it.stat() for it in named if it.exists()]
    there = [(found.st_mtime_ns, found.st_size) for found in stats]
    said = json.dumps([text, project.table, there])
    return hashlib.sha256(said.encode()).hexdigest()


def _named_files(section: object) -> Iterator[str]:
    """Yield the files of hierarchies and maps that a policy names."""
    if isinstance(section, dict):
        for key, value in section.items():
            if key == "file" and isinstance(value, str):
                yield value
            else:
                yield from _named_files(value)
    elif isinstance(section, list):
        for each in section:
            yield from _named_files(each)


def make_candidate(
    report: Progress, folder: Path, *, policy: str, table: str, project: str, stamp: str
) -> dict[str, Any]:
    """Make the candidate in the job's folder, and return its facts; `stamp` is for its readers."""
    del stamp
    from halfmask.microdata import protect_to  # noqa: PLC0415 # a job loads what it needs
    from halfmask.microdata.policy_class import policy_class  # noqa: PLC0415 # as above
    from halfmask.workbench._attacking import keep_attacks  # noqa: PLC0415 # as above
    from halfmask.workbench._compared import keep_compared, warnings_of  # noqa: PLC0415 # as above
    from halfmask.workbench._kept_secrets import (  # noqa: PLC0415 # as above
        ask_books,
        asked_book,
        secrets_of,
    )

    home = Path(project)
    wanted: Any = policy_class(policy).from_toml(policy, folder=home)
    given = secrets_of(wanted, home, table)
    if (section := getattr(wanted, "book", None)) is not None:
        given["book"] = asked_book(given["vault"], section)
    release = protect_to(table, wanted, folder / "release", **given, progress=report)
    manifest, verification = release.written
    facts = {
        "kind": manifest.kind,
        "policy": manifest.policy_sha256,
        "rows": dict(release.rows),
        "claims": [
            {"sentence": each.sentence, "holds": each.holds, "checked": each.checked}
            for each in verification.claims
        ],
        "checked": list(release.checked),
        "warnings": [],
        "linked": "The comparison wasn't finished.",
        "books": {},
        "failed": "",
    }
    try:
        report("comparing with the table")
        facts["warnings"] = warnings_of(release)
        facts["linked"] = keep_compared(release, folder)
        keep_attacks(release, folder, report)
        report("asking the book of earlier releases")
        facts["books"] = ask_books(release, home)
    except Exception as error:  # noqa: BLE001 # a budget may have paid for it: the release stays
        facts["failed"] = notice_of(error).what
    return facts

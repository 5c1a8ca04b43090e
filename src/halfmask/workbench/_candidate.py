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

from halfmask.workbench._json_files import read_json

if TYPE_CHECKING:
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._jobs import Job
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

KIND: Final = "candidate"
#: Files of a candidate: where each row went, what Compare shows, and what attacks found.
PLACES: Final = "places.npy"
COMPARED: Final = "compared.json"
MEASURED: Final = "attacks.json"
_WORK: Final = "halfmask.workbench._making:make_candidate"


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


def job_on(desk: Desk, candidate: Candidate) -> Job | None:
    """Return the newest battery on a candidate."""
    job = desk.jobs.latest("attack")
    return job if job and job.arguments["release"] == str(candidate.folder) else None


def attacks_on(desk: Desk, candidate: Candidate | None) -> dict[str, Any] | None:
    """Return what a battery found on a fresh candidate, or what was found as it was made."""
    if candidate is None or not candidate.is_fresh:
        return None
    job, measured = job_on(desk, candidate), candidate.job.folder / MEASURED
    if job is not None and job.state == "done":
        return dict(job.result)
    return read_json(measured) or None


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

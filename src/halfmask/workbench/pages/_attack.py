"""Attack: the battery on the candidate, each finding explained; the book of earlier releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.workbench._candidate import (
    attacks_on,
    cancel,
    candidate_of,
    job_on,
    make,
    state_of,
    table_to_keep,
)
from halfmask.workbench._kept_secrets import books_of
from halfmask.workbench._page import Page
from halfmask.workbench._releases import releases_of
from halfmask.workbench.pages._table_files import tables_in

if TYPE_CHECKING:
    from halfmask.workbench._candidate import Candidate
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

_WORK: Final = "halfmask.workbench._attacking:attack_candidate"
#: Kinds whose rows are attacked in a job; others are measured while they are made.
_OF_ROWS: Final = ("microdata", "masked")


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the findings on the candidate, and what the books say of it."""
    del query
    state = state_of(desk)
    candidate: Candidate | None = state["candidate"]
    if candidate is None or not candidate.is_fresh:
        return {**state, "fresh": None, "attacking": None, "found": None}
    job = job_on(desk, candidate)
    return {
        **state,
        "fresh": candidate,
        "attacking": None if job is None or job.state == "done" else job,
        "found": attacks_on(desk, candidate),
        "is_of_rows": candidate.facts["kind"] in _OF_ROWS,
        "controls": _controls(desk.project),
        "books": _books(desk.project, candidate),
        "n_releases": len(releases_of(desk.project)),
    }


def attack(desk: Desk, fields: Fields) -> None:
    """Start the battery on the candidate."""
    candidate, project = candidate_of(desk), desk.project
    if candidate is None or not candidate.is_fresh:
        raise ParameterError("There is no candidate of this policy.", hint="Make one first.")
    control = fields.text("control")
    if control and control not in _controls(project):
        raise ParameterError(
            "The held-out rows must be a table in the folder of the workbench.",
            hint="Copy it there, and choose it again.",
        )
    desk.jobs.start(
        "attack",
        _WORK,
        release=str(candidate.folder),
        table=table_to_keep(project),
        project=str(project.folder),
        policy=project.policy_text(),
        control=str(project.inside(control)) if control else "",
    )


def _controls(project: Project) -> list[str]:
    """Return the tables in the folder that may hold rows set aside."""
    open_one = None if project.table_file is None else project.table_file.name
    return [name for name in tables_in(project) if name != open_one]


def _books(project: Project, candidate: Candidate) -> list[dict[str, Any]]:
    """Return each book's releases, and what it said of the candidate."""
    found: list[dict[str, Any]] = []
    try:
        for book in books_of(project.folder):
            said = candidate.facts["books"].get(book.dataset, {"together": [], "found": []})
            altered = book.check_folders()
            found.append(
                {
                    "dataset": book.dataset,
                    "releases": [(it, altered.get(it.number, "")) for it in book.releases()],
                    **said,
                }
            )
    except HalfmaskError as error:
        found.append({"dataset": "", "error": error.what})
    return found


PAGE: Final = Page("attack", "Attack", show, {"make": make, "attack": attack, "cancel": cancel})

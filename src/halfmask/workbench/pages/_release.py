"""The page Release: a release is made, verified on disk, shown and handed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.claims import MANIFEST_NAME, REPORT_NAME
from halfmask.claims.claim import BASES
from halfmask.claims.manifest import released_file
from halfmask.workbench._candidate import attacks_on, cancel, candidate_of, table_to_keep
from halfmask.workbench._commands import python_lines, shell_lines
from halfmask.workbench._kept_secrets import is_charged
from halfmask.workbench._notices import notice_of
from halfmask.workbench._page import Fields, Page, PageAnswer
from halfmask.workbench._received import digest_of_manifest
from halfmask.workbench._releases import (
    check_new_name,
    propose_name,
    release_named,
    releases_of,
    zip_of,
)

if TYPE_CHECKING:
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._project import Project

KIND: Final = "release"
_WORK: Final = "halfmask.workbench._making"
_MOST_SHOWN: Final = 200_000


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the newest release or the one that is asked for, and the form for the next."""
    project = desk.project
    job = desk.jobs.get(query["job"]) if "job" in query else desk.jobs.latest(KIND)
    job = job if job is not None and job.kind == KIND else None
    made = job.result["name"] if job is not None and job.state == "done" and job.result else None
    policy: Any = project.any_policy()
    text = project.policy_text()
    if job is not None and job.state == "failed" and job.arguments.get("policy", text) != text:
        job = None  # what failed is no longer asked for
    candidate, name = candidate_of(desk), propose_name(project)
    return {
        "job": job,
        "chosen": _chosen(desk, query.get("name", made)),
        "releases": releases_of(project),
        "name": name,
        "candidate": candidate,
        "attacks": attacks_on(desk, candidate),
        "policy": policy,
        "formats": _formats(policy),
        "books": sorted(it.stem for it in project.folder.glob("*/*.book")),
        "is_charged": is_charged(policy),
        "bases": BASES,
        **_commands(project, name),
    }


def _chosen(desk: Desk, name: str | None) -> dict[str, Any] | None:
    """Return what is shown of a release that is there, and what was found when it was made."""
    if name is None:
        return None
    try:
        folder = release_named(desk.project.folder, name)
    except HalfmaskError:
        return None  # it was renamed or removed since
    digest = digest_of_manifest(folder)
    made = (it.result for it in desk.jobs.all() if it.kind == KIND and it.result)
    result = next((it for it in made if (it["name"], it["manifest"]) == (name, digest)), None)
    with (folder / MANIFEST_NAME).open(encoding="utf-8", errors="replace") as file:
        manifest = file.read(_MOST_SHOWN + 1)
    return {
        "name": name,
        "result": result,
        "manifest": manifest[:_MOST_SHOWN],
        "is_cut": len(manifest) > _MOST_SHOWN,
        "digest": digest,
        "has_report": released_file(folder, REPORT_NAME) is not None,
    }


def _formats(policy: Any) -> tuple[str, ...]:  # noqa: ANN401 # of any kind
    """Return the formats that the policy can ask for; none where it has no say."""
    output = getattr(policy, "output", None)
    return () if output is None else get_args(type(output).model_fields["format"].annotation)


def _commands(project: Project, name: str) -> dict[str, Any]:
    """Return the same in the terminal and in Python, or why there is none."""
    try:
        return {
            "shell": shell_lines(project, name),
            "python": python_lines(project, name),
            "unsaid": None,
        }
    except HalfmaskError as error:
        return {"shell": "", "python": "", "unsaid": notice_of(error)}


def make(desk: Desk, fields: Fields) -> PageAnswer:
    """Make the release as the form says: of a fresh candidate the very files that were compared."""
    project = desk.project
    out = str(check_new_name(project.folder, fields.text("name")))
    notice = _write_output(project, fields)
    policy: Any = project.any_policy()
    candidate = candidate_of(desk)
    is_booked = getattr(policy, "book", None) is not None
    if candidate is not None and candidate.is_fresh and not is_booked:
        job = desk.jobs.start(
            KIND,
            f"{_WORK}:place_candidate",
            candidate=str(candidate.folder),
            out=out,
            facts={name: candidate.facts[name] for name in ("claims", "warnings")},
        )
    else:
        job = desk.jobs.start(
            KIND,
            f"{_WORK}:make_release",
            policy=project.policy_text(),
            table=table_to_keep(project),
            project=str(project.folder),
            out=out,
        )
    return PageAnswer(query={"job": job.id}, notice=notice)


def _write_output(project: Project, fields: Fields) -> str:
    """Write into the policy how it is released and in which book; return what is to be said."""
    import tomlkit  # noqa: PLC0415 # the page must be ready within a second

    before = project.policy_text()
    document = tomlkit.parse(before)
    output, book = getattr(project.any_policy(), "output", None), document.get("book", {})
    if output is not None and fields.text("format", output.format) != output.format:
        document.setdefault("output", tomlkit.table())["format"] = fields.text("format")
    if fields.text("dataset"):
        if not fields.text("receiver"):
            raise ParameterError("A book needs the receiver.", hint="Say who gets the release.")
        wanted = {name: fields.text(name) for name in ("dataset", "receiver")}
        if any(book.get(name) != it for name, it in wanted.items()):
            document.setdefault("book", tomlkit.table()).update(wanted)
    elif fields.has("dataset"):
        document.pop("book", None)
    if (text := tomlkit.dumps(document)) == before:
        return ""
    project.replace(text, "How a release is written")
    return "The policy has your choices now, so the release is made again by it."


def download(desk: Desk, fields: Fields) -> PageAnswer:
    """Send a release as a zip."""
    return PageAnswer(file=zip_of(desk.project, fields.text("name")), is_passing=True)


PAGE = Page(
    "release",
    "Release",
    show,
    {"make": make, "download": download, "cancel": cancel},
)

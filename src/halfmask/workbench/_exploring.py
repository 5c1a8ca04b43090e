"""Exploring as a job: many policies around the project's, and the numbers of each as it comes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask.workbench._estimate import file_stamps
from halfmask.workbench._json_files import write_json

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.microdata import Policy
    from halfmask.microdata.exploring import Exploration, ExploredPoint
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._jobs import Job
    from halfmask.workbench._project import Project

KIND: Final = "explore"
_WORK: Final = "halfmask.workbench._exploring:explore_policies"
_FILE: Final = "explored.json"
#: The sections of a policy that a grid varies.
VARIED: Final = ("method", "recoding", "suppression", "guarantees")


def start_exploring(desk: Desk, grid: Mapping[str, Any]) -> Job:
    """Explore around the project's policy; ``grid`` has arguments of `explore`."""
    project = desk.project
    policy = project.policy()
    project.source()
    return desk.jobs.start(
        KIND,
        _WORK,
        policy=project.policy_text(),
        table=str(project.table),
        project=str(project.folder),
        grid=dict(grid),
        files=_stamps(project, policy),
    )


def explore_policies(
    report: Progress,
    folder: Path,
    *,
    policy: str,
    table: str,
    project: str,
    grid: dict[str, Any],
    files: object = None,
) -> dict[str, int]:
    """Measure the policies of a grid, and keep what is found so far in the job's folder.

    `files` is for those who read the result.
    """
    del files
    from halfmask.microdata import Policy, explore  # noqa: PLC0415 # a job loads what it needs
    from halfmask.workbench._kept_secrets import secrets_of  # noqa: PLC0415 # as above

    home = Path(project)
    given = Policy.from_toml(policy, folder=home)
    vault = secrets_of(given, home, table).get("vault")

    is_limited = "seconds" in tomllib.loads(policy).get("method", {})

    def keep(found: Exploration) -> None:
        write_json(folder / _FILE, _facts(found, is_limited=is_limited))

    found = explore(table, given, **grid, vault=vault, watch=keep, progress=report)
    keep(found)
    return {"points": len(found.points), "refused": len(found.refused)}


def explored_of(job: Job | None) -> dict[str, Any] | None:
    """Return what a job has found so far, if anything."""
    file = None if job is None else job.folder / _FILE
    if file is None or not file.is_file():
        return None
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found if "tried" in found else None  # an older version kept less


def _facts(found: Exploration, *, is_limited: bool) -> dict[str, Any]:
    from halfmask.microdata.exploring import trial_sentences  # noqa: PLC0415 # as above

    best = {each.asked.number for each in found.frontier}
    points = [_point(found, each) | {"best": each.asked.number in best} for each in found.shown]
    if not is_limited:  # the search had a limit of time, and a release by a point has none
        for point in points:
            point["sections"].get("method", {}).pop("seconds", None)
    return {
        "rows": found.rows,
        "table_rows": found.table_rows,
        "grid_policies": found.grid_policies,
        "tried": found.n_tried,
        "risk": found.risk,
        "utility": found.utility,
        # Those on the frontier first, as an owner reads them.
        "points": sorted(points, key=lambda it: (not it["best"], it["risk"], it["loss"])),
        "refused": [[why, len(names)] for why, names in found.reasons.items()],
        "trials": trial_sentences(found.trials),
    }


def _point(found: Exploration, point: ExploredPoint) -> dict[str, Any]:
    asked, (risk, loss) = point.asked, found.place(point)
    stated = {} if asked.policy is None else tomllib.loads(asked.policy.to_toml())
    return {
        "number": asked.number,
        "given": point.is_given,
        "remark": point.remark,
        "method": asked.method,
        "recoding": asked.recoding,
        "limit": asked.max_suppression,
        "stated": asked.stated,
        "risk": risk,
        "loss": loss,
        "suppressed": point.measures.suppressed / found.rows,
        "classes": point.measures.classes,
        "sections": {name: stated[name] for name in VARIED if name in stated},
    }


def _stamps(project: Project, policy: Policy) -> list[int]:
    """Return what changes when the table does, or a file that the policy names."""
    table = project.table_file
    stamps = () if table is None or not table.exists() else (table.stat().st_mtime_ns,)
    return [*stamps, *(part for it in file_stamps(project.folder, policy) for part in it)]


def write_sections(document: MutableMapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Give a policy's document the sections of a point; comments and other keys stay."""
    _make_equal(document, sections, VARIED)


def _make_equal(
    own: MutableMapping[str, Any], wanted: Mapping[str, Any], names: tuple[str, ...]
) -> None:
    for name in names:
        if name not in wanted:
            own.pop(name, None)
            continue
        old, new = own.get(name), wanted[name]
        if isinstance(old, MutableMapping) and isinstance(new, Mapping):
            _make_equal(old, new, (*dict.fromkeys([*old, *new]),))
        elif isinstance(old, list) and isinstance(new, list) and _are_alike(old, new):
            for each, other in zip(old, new, strict=True):
                _make_equal(each, other, (*dict.fromkeys([*each, *other]),))
        elif old != new:
            own[name] = new


def _are_alike(old: list[Any], new: list[Any]) -> bool:
    """Return whether both are as many sections, to be changed in their places."""
    return len(old) == len(new) and all(isinstance(each, Mapping) for each in (*old, *new))


def has_changed_since(job: Job, project: Project) -> bool:
    """Return whether policy, files or table differ now in more than a grid varies."""
    grid, text = job.arguments["grid"], project.policy_text()
    varied = {name.rpartition(".")[2] for name in ("k", *(grid["vary"] or ()))}
    then, now = (_fixed(tomllib.loads(each), varied) for each in (job.arguments["policy"], text))
    return then != now or job.arguments.get("files") != _stamps(project, project.policy())


def _fixed(stated: dict[str, Any], varied: set[str]) -> dict[str, Any]:
    found = {name: section for name, section in stated.items() if name not in VARIED}
    guarantees = [
        {name: value for name, value in each.items() if name not in varied}
        for each in stated.get("guarantees", ())
    ]
    return {**found, "guarantees": guarantees}

"""Explore: many policies by risk and loss, drawn as they come; a point opens its policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError
from halfmask.workbench._exploring import (
    KIND,
    explored_of,
    has_changed_since,
    start_exploring,
    write_sections,
)
from halfmask.workbench._page import Fields, Page, PageAnswer

if TYPE_CHECKING:
    from halfmask.microdata import Policy
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._jobs import Job

#: The limits of a grid: of policies, and of rows that they are measured on.
MOST_POLICIES, USUAL_ROWS = 60, 50_000
_USUAL_K: Final = (2, 5, 10, 20, 50)
_METHODS: Final = {
    "mondrian": "Mondrian",
    "guided": "Guided by the label",
    "full-domain": "Full domain",
    "mdav": "MDAV (slower)",
}
_RECODINGS: Final = {
    "ranges": "Ranges",
    "level": "Levels of hierarchies",
    "centroid": "Centre of the class",
    "representative": "One row of the class",
}
#: Axes that every table has numbers for.
_RISKS: Final = ("highest", "average", "all-columns")
_LOSSES: Final = ("loss", "detail", "non-uniform-entropy", "ambiguity", "suppressed")
#: The picture's frame: left, right, top, bottom.
_FRAME: Final = (70.0, 700.0, 40.0, 340.0)
_WIDTH: Final = 720.0


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the frontier of the last exploration, and the form of the next."""
    if not hasattr(desk.project.any_policy(), "guarantee_sections"):
        return {"can_vary": False}
    policy = desk.project.policy()
    job = _job_of(desk, query.get("job", ""))
    of, found = _last_found(desk, job)
    points = found["points"] if found else []
    chosen = next((it for it in points if str(it["number"]) == query.get("point")), None)
    return {
        "can_vary": bool(policy.guarantee_sections) and not policy.is_private,
        "job": job,
        "of": of,
        "found": found,
        "chosen": chosen,
        "picture": _picture(points) if points else None,
        "is_older": bool(of and has_changed_since(of, desk.project)),
        "methods": _METHODS,
        "recodings": _RECODINGS,
        **_axes(),
        **_form(policy, job.arguments["grid"] if job else {}),
    }


def _job_of(desk: Desk, job_id: str) -> Job | None:
    job = desk.jobs.get(job_id)
    return job if job is not None and job.kind == KIND else desk.jobs.latest(KIND)


def _last_found(desk: Desk, job: Job | None) -> tuple[Job | None, dict[str, Any] | None]:
    """Return what a job found; where it was stopped before any point, what the last one found."""
    found = explored_of(job)
    if job is not None and not job.is_running and not (found and found["points"]):
        for other in desk.jobs.all():
            before = explored_of(other) if other.kind == KIND else None
            if before and before["points"]:
                return other, before
    return job, found


def _axes() -> dict[str, Mapping[str, str]]:
    from halfmask.microdata.exploring import (  # noqa: PLC0415 # the page must be ready in a second
        RISKS,
        UTILITIES,
    )

    risks = {name: RISKS[name] for name in _RISKS}
    return {"risks": risks, "losses": {name: UTILITIES[name] for name in _LOSSES}}


def _form(policy: Policy, grid: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form holds: the last choices, or those that fit the policy."""
    own, parameters = float(policy.suppression.max_fraction), _parameters(policy)
    usual_k = sorted({*_USUAL_K, parameters["k"][1]}) if "k" in parameters else []
    chosen = {"k": grid.get("k") or usual_k, **(grid.get("vary") or {})}
    trees = any(it.hierarchy and it.role == "quasi_identifier" for it in policy.columns.values())
    usual = ["mondrian", *(["guided"] if policy.split_targets else []), *(["full-domain"] * trees)]
    recodings = [policy.recoding.named, *(["level"] if trees else [])]
    return {
        "grid": {
            "methods": grid.get("methods") or list(dict.fromkeys([policy.method.named, *usual])),
            "recodings": grid.get("recodings") or recodings,
            "suppression": _listed(
                100 * each for each in grid.get("max_suppression") or sorted({0.0, own, 0.02})
            ),
            "rows": grid.get("rows", USUAL_ROWS),
            "max_points": grid.get("max_points", MOST_POLICIES),
            "risk": grid.get("risk", "highest"),
            "utility": grid.get("utility", "loss"),
        },
        "parameters": [
            (name, words, _listed(chosen.get(name) or [value]))
            for name, (words, value) in parameters.items()
        ],
    }


def _parameters(policy: Policy) -> dict[str, tuple[str, float]]:
    """Return the numbers of guarantees that can be varied, by the names that `explore` takes."""
    found: dict[str, tuple[str, float]] = {}
    for section in policy.guarantee_sections:
        for name, value in section.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                key = "k" if name == "k" else f"{section.named}.{name}"
                words = "k" if name == "k" else f"{name} of {section.named}"
                found.setdefault(key, (words, value))
    return found


def _listed(values: Any) -> str:  # noqa: ANN401 # numbers
    return ", ".join(f"{value:g}" for value in values)


def _picture(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return where points, the frontier and the axes are drawn."""
    from halfmask.microdata.exploring.axes import (  # noqa: PLC0415 # as above
        RiskAxes,
        point_labels,
    )

    axes = RiskAxes.of([(it["risk"], it["loss"]) for it in points], _FRAME)
    placed = [
        {
            **it,
            "x": round(axes.across(it["risk"]), 1),
            "y": round(axes.up(it["loss"]), 1),
        }
        for it in points
    ]
    best = [it for it in placed if it["best"]]
    numbered = [(it["x"], it["y"], str(it["number"])) for it in best]
    steps = " ".join(f"H {it['x']} V {it['y']}" for it in best[1:])
    return {
        # The frontier is drawn over the others.
        "points": [it for it in placed if not it["best"]] + best,
        "labels": point_labels(numbered, right=_WIDTH),
        "path": f"M {best[0]['x']} {best[0]['y']} {steps}" if best else "",
        "across": [(axes.across(risk), f"{risk:g}") for risk in axes.ticks()],
        "down": [(axes.up(loss), f"{loss:.3g}") for loss in axes.levels()],
    }


def _start(desk: Desk, fields: Fields) -> PageAnswer:
    """Explore the grid of the form."""
    methods, recodings = fields.all("methods"), fields.all("recodings")
    if not methods or not recodings:
        raise ParameterError("Nothing to vary.", hint="Tick at least one method and one recoding.")
    known = _parameters(desk.project.policy())
    asked = {name: _numbers(fields, f"vary-{name}", name) for name in known if name != "k"}
    vary = {name: values for name, values in asked.items() if values != [known[name][1]]}
    ks = _numbers(fields, "k", "k") if fields.has("k") else None
    if any(isinstance(each, float) for each in ks or ()):
        raise ParameterError("The values of k must be whole numbers.")
    job = start_exploring(
        desk,
        {
            "k": ks,
            "vary": vary or None,
            "methods": methods,
            "recodings": recodings,
            "max_suppression": [
                share / 100 for share in _numbers(fields, "suppression", "rows left out")
            ],
            "max_points": min(MOST_POLICIES, fields.whole("max_points")),
            "rows": fields.whole("rows"),
            "risk": fields.text("risk", "highest"),
            "utility": fields.text("utility", "loss"),
        },
    )
    return PageAnswer(query={"job": job.id})


def _numbers(fields: Fields, name: str, words: str) -> list[float | int]:
    """Return the numbers of a field; a guarantee may take no other than whole ones, as such."""
    try:
        found = [float(each) for each in re.split(r"[,;\s]+", fields.text(name)) if each]
    except ValueError:
        found = []
    if not found:
        raise ParameterError(
            f"The field for {words} wants numbers.",
            hint="Write them with commas between, such as 2, 5, 10.",
        )
    return [int(each) if each.is_integer() else each for each in found]


def _cancel(desk: Desk, fields: Fields) -> PageAnswer:
    """Stop exploring; the points that were measured stay."""
    job = desk.jobs.cancel(fields.text("job"))
    return PageAnswer(query={"job": job.id} if job else {})


def _open(desk: Desk, fields: Fields) -> PageAnswer:
    """Write a point's policy into the policy file, as a version."""
    job = _job_of(desk, fields.text("job"))
    found = explored_of(job) or {"points": []}
    number = fields.whole("point")
    point = next((it for it in found["points"] if it["number"] == number), None)
    if job is None or point is None:
        raise ParameterError("This policy isn't there any more.", hint="Explore again.")
    changed = has_changed_since(job, desk.project)
    with desk.project.editing(f"Open policy {number} of Explore") as document:
        write_sections(document, point["sections"])
    older = " Other parts have changed since it was measured: its figures may differ."
    said = f"The policy file now has policy {number} of Explore. Undo goes back."
    return PageAnswer(to="protect", notice=said + (older if changed else ""))


PAGE = Page("explore", "Explore", show, {"start": _start, "cancel": _cancel, "open": _open})

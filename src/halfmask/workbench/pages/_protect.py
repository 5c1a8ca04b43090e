"""Protect: the kind of release, its guarantees and methods, and what they do to a sample."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError, PolicyError
from halfmask.workbench._candidate import table_to_keep
from halfmask.workbench._controls import changes_of, controls_of
from halfmask.workbench._estimate import ROWS, Estimates
from halfmask.workbench._guarantee_words import in_numbers, start_parameters
from halfmask.workbench._page import Page, PageAnswer
from halfmask.workbench._policy_edits import remove_section
from halfmask.workbench._release_kinds import KINDS, add_guarantee, change_kind
from halfmask.workbench._warming import WARMING
from halfmask.workbench.pages._columns import set_role
from halfmask.workbench.pages._counts import COUNT_ACTIONS, show_counts

if TYPE_CHECKING:
    from pydantic import BaseModel

    from halfmask.microdata import Policy
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

_TRIAL: Final = "trial"
_USUAL: Final = ("k-anonymity", "distinct-l-diversity", "t-closeness")
#: Sections of a release of classes that are chosen by name.
_CHOSEN: Final = ("method", "recoding")
#: A column that so many rows differ in is named.
_SINGLES_OUT: Final = 0.05
_KIND_CHOSEN: Final = "Kind of release: "


def show(desk: Desk, query: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the policy as controls, and what it does to the sample."""
    project = desk.project
    if not hasattr(project.any_policy(), "guarantee_sections"):
        return {"counts": show_counts(desk, query), "kinds": KINDS, "kind": "counts"}
    policy = project.policy()
    measured = policy.kind in ("microdata", "masked")
    waiting = measured and WARMING.is_running
    job = desk.jobs.latest(_TRIAL)
    return {
        "kinds": KINDS,
        "kind": next(it.name for it in KINDS if it.kind == policy.kind),
        "guarantees": _guarantees(policy),
        "models": [] if policy.is_private else _models(),
        "sensitive": [name for name, it in policy.columns.items() if it.role == "sensitive"],
        "sections": _sections(policy),
        "exposed": _exposed(project, policy) if policy.kind == "microdata" else [],
        "repeated": _repeated(project, policy) if policy.kind == "microdata" else {},
        "table_masks": [it.name for it in policy.table_masks],
        "waiting": waiting,
        "estimate": None if waiting else Estimates(project).estimate(),
        "costs": Estimates(project).costs() if "costs" in query and not waiting else None,
        "trial": job if job is not None and job.arguments.get("kind") == policy.kind else None,
        "is_old": job is not None and job.arguments.get("policy") != project.policy_text(),
    }


def _released(policy: Policy) -> list[str]:
    return [name for name, it in policy.columns.items() if it.role != "identifier"]


def _exposed(project: Project, policy: Policy) -> list[dict[str, Any]]:
    """Return columns that leave unchanged and unguarded, or that single out many rows alone."""
    from halfmask.description.singling_out import share_unique  # noqa: PLC0415 # as above

    guarded = {it.about for it in policy.guarantee_sections}
    try:
        there = project.rows().columns
    except HalfmaskError:
        return []  # the estimate says it
    leaving = tuple(
        name
        for name, it in policy.columns.items()
        if it.role in ("sensitive", "insensitive") and not (it.mask or it.hierarchy)
        if name in there
    )

    def count() -> dict[str, float]:
        rows = project.sample(ROWS)
        return {name: share_unique(rows, [name]) for name in leaving}

    found = []
    for name, alone in project.kept(("alone", leaving), count).items():
        unguarded = policy.columns[name].role == "sensitive" and name not in guarded
        if unguarded or alone >= _SINGLES_OUT:
            found.append({"name": name, "alone": alone, "unguarded": unguarded})
    return found


def _repeated(project: Project, policy: Policy) -> Mapping[str, tuple[int, int]]:
    """Return identifiers whose values repeat while guarantees count rows, with values and rows."""
    from halfmask.description.proposal import repeated_identifiers  # noqa: PLC0415 # as above

    names = [name for name, it in policy.columns.items() if it.role == "identifier"]
    if policy.person is not None or not names:
        return {}
    try:
        names = [name for name in names if name in project.source().columns]
        return project.kept(
            ("repeated", *names), lambda: repeated_identifiers(project.source(), names)
        )
    except HalfmaskError:
        return {}  # the estimate says it


def _set_person(desk: Desk, fields: Fields) -> None:
    name = fields.text("column")
    with desk.project.editing(f"Count each {name} once") as document:
        document["person"] = name


def _guarantees(policy: Policy) -> list[dict[str, Any]]:
    """Return each guarantee with its controls and what it means."""
    sensitive = [name for name, it in policy.columns.items() if it.role == "sensitive"]
    return [
        {
            "model": it.named,
            "about": it.about,
            "means": in_numbers(it.made_type, it.parameters, it.about),
            "controls": controls_of(it, (), but=(it.key, "column")),
            "columns": sensitive if it.about is not None else (),
        }
        for it in policy.guarantee_sections
    ]


def _models() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the models that can be added, in groups, each with its sentence."""
    from halfmask.guarantees import GUARANTEES  # noqa: PLC0415 # the page must be ready in a second

    groups: dict[str, list[tuple[str, str]]] = {
        "Chosen most": [],
        "Of who is found again": [],
        "Of what is learnt of a sensitive column": [],
        "Against a population (command line only)": [],
    }
    names = list(groups)
    for name, model in GUARANTEES.items():
        about = any(it == "column" for it in _keys(model))
        place = 3 if model.needs_population else 2 if about else 1
        group = names[0 if name in _USUAL else place]
        groups[group].append((name, model.sentence))
    return list(groups.items())


def _keys(model: type[Any]) -> list[str]:
    from dataclasses import fields  # noqa: PLC0415 # as above

    return [it.name for it in fields(model) if it.init]


def _sections(policy: Policy) -> list[dict[str, Any]]:
    """Return the other sections of the kind of release, with their controls."""
    columns = _released(policy)
    if policy.kind == "synthetic" and policy.synthesis is not None:
        return [_section("synthesis", "Synthetic rows", policy.synthesis, columns, but=("kind",))]
    if policy.kind != "microdata":
        return []
    from halfmask.anonymize import METHODS, RECODINGS  # noqa: PLC0415 # as above

    titles = ("How classes are found", "What is written for a class")
    chosen = [
        _section(key, title, getattr(policy, key), columns, but=("name",))
        | {"chosen": getattr(policy, key).named, "choices": _first_lines(kinds)}
        for key, title, kinds in zip(_CHOSEN, titles, (METHODS, RECODINGS), strict=True)
    ]
    return [*chosen, _section("suppression", "Suppressed rows", policy.suppression, columns)]


def _section(
    key: str, title: str, section: BaseModel, columns: list[str], but: tuple[str, ...] = ()
) -> dict[str, Any]:
    controls = controls_of(section, columns, but=but)
    return {"key": key, "title": title, "controls": controls, "choices": None}


def _first_lines(kinds: Mapping[str, type[Any]]) -> list[tuple[str, str]]:
    return [(name, (kind.__doc__ or "").partition("\n")[0]) for name, kind in kinds.items()]


# ------------------------------------------------------------------ actions


def _choose_kind(desk: Desk, fields: Fields) -> PageAnswer:
    project, name = desk.project, fields.text("kind")
    policy, rows = project.policy(), project.rows().height
    before = _before_kinds(project, name)
    if before is not None:
        project.replace(before, f"{_KIND_CHOSEN}{name}, as before")
        return PageAnswer(notice="The policy is as it was before other kinds were looked at.")
    with project.editing(f"{_KIND_CHOSEN}{name}") as document:
        notice = change_kind(document, policy, name, rows)
    return PageAnswer(notice=notice)


def _before_kinds(project: Project, name: str) -> str | None:
    """Return the policy before kinds were looked at, if it was of this kind: nothing is lost."""
    from halfmask.microdata.policy_class import policy_class  # noqa: PLC0415 # as above

    history = project.history
    back = 0
    while back < history.at and history.versions[history.at - back].why.startswith(_KIND_CHOSEN):
        back += 1
    text = history.go(-back).decode("utf-8-sig")  # looked at, and not saved
    wanted = next((it.kind for it in KINDS if it.name == name), None)
    before = policy_class(text).from_toml(text, folder=project.folder)
    return text if back and getattr(before, "kind", None) == wanted else None


def _number(desk: Desk, fields: Fields) -> int:
    number = fields.whole("number")
    if not 0 <= number < len(desk.project.policy().guarantee_sections):
        raise ParameterError("There is no such guarantee.")
    return number


def _change_guarantee(desk: Desk, fields: Fields) -> None:
    number = _number(desk, fields)
    section = desk.project.policy().guarantee_sections[number]
    changes = changes_of(controls_of(section, (), but=(section.key, "column")), fields)
    if section.about is not None and fields.text("column", section.about) != section.about:
        changes["column"] = fields.text("column")
    _write(desk, section.named, changes, lambda document: document["guarantees"][number])


def _add_guarantee(desk: Desk, fields: Fields) -> None:
    from halfmask.guarantees import GUARANTEES  # noqa: PLC0415 # as above

    model = fields.text("model")
    if model not in GUARANTEES:
        raise ParameterError("Choose a guarantee of the list.")
    section = {"model": model, **start_parameters(GUARANTEES[model])}
    if "column" in _keys(GUARANTEES[model]):
        section["column"] = fields.text("column")
        if not section["column"]:
            raise PolicyError(
                f"The guarantee {model!r} is about a sensitive column, and there is none.",
                hint="Give a column the role 'sensitive' on the page Columns.",
            )
    with desk.project.editing(f"Add {model}") as document:
        add_guarantee(document, section)


def _remove_guarantee(desk: Desk, fields: Fields) -> None:
    number = _number(desk, fields)
    name = desk.project.policy().guarantee_sections[number].named
    with desk.project.editing(f"Remove {name}") as document:
        del document["guarantees"][number]
        if not document["guarantees"]:
            del document["guarantees"]


def _change_section(desk: Desk, fields: Fields) -> None:
    key, policy = fields.text("section"), desk.project.policy()
    if key not in (*_CHOSEN, "suppression", "synthesis") or getattr(policy, key) is None:
        raise ParameterError("There is no such section.")
    section = getattr(policy, key)
    name = fields.text("name")
    if key in _CHOSEN and name and name != section.named:
        _choose(desk, key, name)
        return
    controls = controls_of(section, _released(policy), but=("name", "kind"))
    _write(desk, key, changes_of(controls, fields), partial(_stated, key, section))


def _choose(desk: Desk, key: str, name: str) -> None:
    """Choose a method or a recoding; its parameters begin with their defaults."""
    from halfmask.anonymize import METHODS  # noqa: PLC0415 # as above

    with desk.project.editing(f"{key.capitalize()}: {name}") as document:
        before = document.get("method", {}).get("name", next(iter(METHODS)))
        if key in document:
            for other in list(document[key]):
                del document[key][other]
        document.setdefault(key, {})["name"] = name
        judges = [getattr(METHODS.get(it), "judges_release", False) for it in (before, name)]
        if key == "method" and judges[0] != judges[1] and "recoding" in document:
            remove_section(document, "recoding")  # each goes with one of them


def _stated(key: str, section: Any, document: Any) -> Any:  # noqa: ANN401 # of any kind
    """Return a section of the document, made where the file leaves it out."""
    named = {"name": section.named} if key in _CHOSEN else {}
    return document.setdefault(key, named)


def _write(desk: Desk, what: str, changes: Mapping[str, Any], found: Any) -> None:  # noqa: ANN401
    """Write changed keys as one version; None removes a key."""
    if not changes:
        return
    named = ", ".join(f"{key} = {value}" for key, value in changes.items())
    with desk.project.editing(f"{what}: {named}") as document:
        section = found(document)
        for key, value in changes.items():
            if value is not None:
                section[key] = value
            elif key in section:
                del section[key]


def _show_costs(desk: Desk, fields: Fields) -> PageAnswer:
    del desk, fields
    return PageAnswer(query={"costs": "1"})


def _start_trial(desk: Desk, fields: Fields) -> None:
    del fields
    project = desk.project
    desk.jobs.start(
        _TRIAL,
        "halfmask.workbench._trial:try_policy",
        project=str(project.folder),
        table=table_to_keep(project),
        policy=project.policy_text(),
        kind=project.policy().kind,
    )


def _cancel(desk: Desk, fields: Fields) -> None:
    desk.jobs.cancel(fields.text("job"))


PAGE: Final = Page(
    "protect",
    "Protect",
    show,
    {
        "kind": _choose_kind,
        "guarantee": _change_guarantee,
        "add": _add_guarantee,
        "remove": _remove_guarantee,
        "section": _change_section,
        "role": set_role,
        "person": _set_person,
        "costs": _show_costs,
        "trial": _start_trial,
        "cancel": _cancel,
        **COUNT_ACTIONS,
    },
)

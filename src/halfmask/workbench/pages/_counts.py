"""Tables of counts on the page Protect: what they cross, their rules, and what is hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from math import prod
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.workbench._asking import number_in
from halfmask.workbench._candidate import stamp_of, table_to_keep
from halfmask.workbench._kept_secrets import is_charged
from halfmask.workbench._notices import notice_of
from halfmask.workbench._page import Action, PageAnswer

if TYPE_CHECKING:
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

#: The file of tables: the policy of people keeps its own.
FILE: Final = "tables.toml"
_KIND: Final = "counts"
_SAMPLE: Final = 10_000
#: Tables of so many cells, of so many rows, are made while the page is opened.
_LIVE_CELLS: Final = 120
_LIVE_ROWS: Final = 100_000
_MOST_CROSSED: Final = 4
#: Columns of so few values are proposed first.
_FEW: Final = 12
_USUAL: Final = 5
#: The code of missing cells, which would be an error otherwise.
_MISSING: Final = "(missing)"
#: Columns of more values aren't offered.
_MOST_VALUES: Final = 200
#: Rules of the form, with the numbers of each and what the form calls them; the first is needed.
_RULES: Final = {
    "minimum-frequency": {
        "n": "The least number of contributors",
        "margin": "How near others must not come",
    },
    "p-percent": {"p": "The percent of an estimate"},
    "dominance": {"k": "The percent of the largest", "n": "The number of largest contributors"},
}


def show_counts(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of the policy, their rules, and the cells as they would be released."""
    del query
    project = desk.project
    policy: Any = project.any_policy()
    columns = _columns(project)
    job, failure, made = desk.jobs.latest(_KIND), None, None
    job = job if job is not None and job.arguments["stamp"] == stamp_of(project) else None
    if job is not None and job.state == "done":
        made = job.result
    elif job is None and not is_charged(policy) and _is_live(desk):
        try:
            made = _live(project)
        except HalfmaskError as error:
            failure = notice_of(error)
    given = {each.rule: each for each in reversed(policy.rules)}
    return {
        "tables": policy.tables,
        "columns": columns,
        "rules": {name: given.get(name) for name in _RULES},
        "others": [it.rule for it in policy.rules if it.rule not in _RULES],
        "has_rules": policy.protection.method == "suppression",
        "method": policy.protection.method,
        "owner": policy.owner,
        "is_charged": is_charged(policy),
        "is_of_rows": policy.ready is None,
        "has_sums": any(it.value for it in policy.tables),
        "made": made,
        "job": job,
        "failure": failure,
        "files": _other_files(project),
        "cells": _cells_of(desk),
        "most_values": _MOST_VALUES,
    }


def _columns(project: Project) -> list[tuple[str, int, bool]]:
    """Return each column, how many values it has in a sample, and whether it has numbers."""

    def count() -> list[tuple[str, int, bool]]:
        sample = project.sample(_SAMPLE)
        return [(it.name, it.n_unique(), it.dtype.is_numeric()) for it in sample]

    return project.kept("codes", count)


def _cells_of(desk: Desk) -> int:
    """Return how many cells the tables have at most, as far as a sample shows."""
    policy: Any = desk.project.any_policy()
    codes = {name: n + 1 for name, n, _ in _columns(desk.project)}
    return sum(prod(codes.get(it, _LIVE_CELLS) for it in each.dimensions) for each in policy.tables)


def _is_live(desk: Desk) -> bool:
    """Return whether the tables are small enough to be made while the page is opened."""
    return _cells_of(desk) <= _LIVE_CELLS and desk.project.rows().height <= _LIVE_ROWS


def _live(project: Project) -> Any:  # noqa: ANN401 # JSON, as of a job
    from halfmask.workbench._tabulating import tables_of  # noqa: PLC0415 # ready within a second

    text, table = project.policy_text(), str(project.table)
    return project.kept(
        ("counts", stamp_of(project)), lambda: tables_of(text, table, project.folder)
    )


def _other_files(project: Project) -> list[str]:
    """Return other policy files in the folder, to which one may go back."""
    return [
        it.name
        for it in sorted(project.folder.glob("*.toml"))
        if it != project.policy_file
        and re.search(r"^halfmask(-tables)?\s*=", it.read_text("utf-8", "replace"), re.MULTILINE)
    ]


def start_counts(desk: Desk, fields: Fields) -> PageAnswer:
    """Make a policy of tables of the open table, or go back to the one that is there."""
    del fields
    project = desk.project
    if (project.folder / FILE).is_file():
        project.use(FILE)
        return PageAnswer(to="protect", notice=f"The tables of {FILE} are open again.")
    project.use(FILE, _proposed_text(project), "Tables of counts made")
    file = f"Tables of counts have a policy file of their own, {FILE}."
    return PageAnswer(to="protect", notice=f"{file} The policy of rows is kept.")


def _proposed_text(project: Project) -> str:
    """Return a policy of one table, of two columns of few values to begin with."""
    import tomlkit  # noqa: PLC0415 # the page must be ready within a second

    policy: Any = project.any_policy() if project.has_policy else None
    roles = {name: it.role for name, it in getattr(policy, "columns", {}).items()}
    fits = [(n, name) for name, n, _ in _columns(project) if 2 <= n <= _FEW * 2]
    fits.sort(key=lambda it: it[0] > _FEW)  # otherwise in the order of the table
    names = [name for _, name in fits if roles.get(name) != "identifier"][:2]
    if not names:
        raise ParameterError(
            f"No column has between 2 and {2 * _FEW} values, as tables of counts need.",
            hint="Make a hierarchy on the page Columns, or write the tables in the terminal.",
        )
    document = tomlkit.document()
    document["halfmask-tables"] = 1
    document["dimensions"] = {name: {"missing": _MISSING} for name in names}
    document["tables"] = [{"name": "counts", "dimensions": names}]
    document["rules"] = [{"rule": "minimum-frequency", "n": _USUAL}]
    return tomlkit.dumps(document)


def make_tables(desk: Desk, fields: Fields) -> None:
    """Make the tables instead of those of an older policy, and look for what hides fewer cells."""
    del fields
    latest = desk.jobs.latest(_KIND)
    if latest is not None and latest.is_running:
        desk.jobs.cancel(latest.id)
    desk.jobs.start(
        _KIND,
        "halfmask.workbench._tabulating:tabulate",
        policy=desk.project.policy_text(),
        table=table_to_keep(desk.project),
        project=str(desk.project.folder),
        stamp=stamp_of(desk.project),
    )


def change_table(desk: Desk, fields: Fields) -> None:
    """Change what a table crosses and sums, or add one."""
    names, value = fields.all("dimension"), fields.text("value")
    if not 1 <= len(names) <= _MOST_CROSSED:
        raise ParameterError(
            f"A table crosses 1 to {_MOST_CROSSED} columns here.",
            hint="Each further column makes smaller cells. More go into the policy file.",
        )
    with desk.project.editing("What the tables count") as document:
        tables = document.setdefault("tables", [])
        at = fields.whole("table")
        if at >= len(tables):
            taken = {it["name"] for it in tables}
            free = (f"table-{n}" for n in range(1, len(tables) + 2))
            tables.append({"name": next(it for it in free if it not in taken)})
        tables[at]["dimensions"] = names
        tables[at].pop("value", None)
        if value:
            tables[at]["value"] = value
        _with_margins(document)
        sections = document.setdefault("dimensions", {})
        for name in names:
            sections.setdefault(name, {"missing": _MISSING})


def drop_table(desk: Desk, fields: Fields) -> None:
    """Leave a table out."""
    with desk.project.editing("A table left out") as document:
        del document["tables"][fields.whole("table")]


def drop_column(desk: Desk, fields: Fields) -> None:
    """Leave a column out of the tables: a remedy."""
    column = fields.text("column")
    with desk.project.editing("A column left out of the tables") as document:
        for each in document["tables"]:
            each["dimensions"] = [it for it in each["dimensions"] if it != column]


def change_rules(desk: Desk, fields: Fields) -> None:
    """Change what makes a cell sensitive; rules that the form hasn't stay."""
    with desk.project.editing("What makes a cell sensitive") as document:
        there = [dict(it) for it in document.pop("rules", [])]
        for rule, numbers in _RULES.items():
            made = next((it for it in there if it["rule"] == rule), None)
            if not fields.text(f"{rule}-{next(iter(numbers))}"):
                there = [it for it in there if it is not made]
                continue
            if made is None:
                there.append(made := {"rule": rule})
            for name, words in numbers.items():
                made.pop(name, None)
                if text := fields.text(f"{rule}-{name}"):
                    number = number_in(text, words)
                    made[name] = int(number) if name == "n" and number == int(number) else number
        if there:
            document["rules"] = there
        _with_margins(document)
        document.pop("owner", None)
        if owner := fields.text("owner"):
            document["owner"] = owner


def _with_margins(document: MutableMapping[str, Any]) -> None:
    """Give the threshold of contributors the margin that it needs where sums are released."""
    if any("value" in it for it in document["tables"]):
        for each in document.get("rules", []):
            if each["rule"] == "minimum-frequency":
                each.setdefault("margin", 10.0)


def open_file(desk: Desk, fields: Fields) -> PageAnswer:
    """Go back to another policy file of the folder."""
    desk.project.use(fields.text("file"))
    return PageAnswer(notice=f"The policy is {desk.project.policy_file.name}.")


#: For the page Protect, which has the action that cancels a job.
COUNT_ACTIONS: Final[Mapping[str, Action]] = {
    "counts": start_counts,
    "counts-make": make_tables,
    "counts-table": change_table,
    "counts-drop": drop_table,
    "counts-leave-out": drop_column,
    "counts-rules": change_rules,
    "counts-file": open_file,
}

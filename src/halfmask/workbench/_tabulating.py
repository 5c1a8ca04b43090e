"""Tables of counts as they would be released, with why each cell is hidden: for the owner."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError
from halfmask.crosstabs import TablesPolicy
from halfmask.microdata import protect
from halfmask.workbench._kept_secrets import secrets_of

if TYPE_CHECKING:
    import polars as pl

    from halfmask._progress import Progress

#: Of larger tables the page shows the beginning.
_ROWS: Final = 60
_COLUMNS: Final = 24
#: What a rule finds, in words.
_WORDS: Final = {
    "minimum-frequency": "too few contributors",
    "dominance": "few contributors dominate",
    "p-percent": "one can estimate another",
    "prior-posterior": "one can estimate another",
    "class-disclosure": "a whole group is alike",
    "zeros": "nobody is in it",
}


def tabulate(
    report: Progress, folder: Path, *, policy: str, table: str, project: str, stamp: str
) -> dict[str, Any]:
    """Make all tables, and look for a column whose absence hides fewer cells: work of a job."""
    del folder, stamp  # the stamp is for those who read the result
    made = tables_of(policy, table, Path(project), report)
    made["remedies"] = list(_remedies(policy, table, Path(project), report))
    return made


def tables_of(text: str, table: str, home: Path, report: Progress | None = None) -> dict[str, Any]:
    """Return all tables of a policy, protected, for the page of their owner."""
    return _made(TablesPolicy.from_toml(text, folder=home), table, home, report)


def _made(
    policy: TablesPolicy, table: str, home: Path, report: Progress | None = None
) -> dict[str, Any]:

    release = protect(table, policy, **secrets_of(policy, home, table), progress=report)
    return {"tables": [_shown(each) for each in release.facts.tables], "remedies": None}


def _shown(table: Any) -> dict[str, Any]:  # noqa: ANN401 # of another room: a released table
    """Return one table: its summary, and its cells with the last dimension across."""
    sensitivity, hidden = table.published.sensitivity, table.hidden
    reasons: list[tuple[str, ...]] = [()] * len(hidden)
    if sensitivity is not None:
        reasons = [sensitivity.reasons[cell] for cell in table.cells.tolist()]
    why = [", ".join(_WORDS.get(it, it) for it in each) for each in reasons]
    cells = [
        {"text": "x", "state": "sensitive" if reason else "guard", "why": reason}
        if is_hidden
        else {"text": f"{value:,}", "state": "published", "why": ""}
        for value, is_hidden, reason in zip(table.values.to_list(), hidden, why, strict=True)
    ]
    states = Counter(it["state"] for it in cells)
    return {
        "name": table.name,
        "what": "Counts" if table.measure is None else f"Sums of {table.measure}",
        "cells": len(cells),
        "sensitive": states["sensitive"],
        "guards": states["guard"],
        "rules": dict(Counter(_WORDS.get(it, it) for each in reasons for it in each)),
        **_crossed(table.labels, cells),
    }


def _crossed(labels: pl.DataFrame, cells: list[dict[str, str]]) -> dict[str, Any]:
    """Return cells in rows; a combination that nobody is in has no cell, and is 0."""
    down = labels.columns[:-1]
    across = labels.to_series(labels.width - 1).to_list() if labels.width > 1 else ["value"]
    columns = list(dict.fromkeys(across))
    heads = labels.select(down if labels.width > 1 else labels.columns).rows()
    if labels.width <= 1:
        across = ["value"] * len(heads)
    found: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for head, column, cell in zip(heads, across, cells, strict=True):
        found.setdefault(head, {})[column] = cell
    nobody = {"text": "0", "state": "published", "why": ""}
    return {
        "down": down if labels.width > 1 else labels.columns,
        "across": columns[:_COLUMNS],
        "rows": [
            {"head": head, "cells": [own.get(it, nobody) for it in columns[:_COLUMNS]]}
            for head, own in list(found.items())[:_ROWS]
        ],
        "is_cut": len(found) > _ROWS or len(columns) > _COLUMNS,
    }


def _remedies(text: str, table: str, home: Path, report: Progress) -> list[dict[str, Any]]:
    """Return what is hidden if a column of the only table is left out."""
    policy = TablesPolicy.from_toml(text, folder=home)
    found: list[dict[str, Any]] = []
    if len(policy.tables) != 1 or len(policy.tables[0].dimensions) < 2:
        return found
    section = policy.tables[0]
    for at, name in enumerate(section.dimensions):
        report(f"trying it without {at + 1} of {len(section.dimensions)} columns")
        rest = tuple(it for it in section.dimensions if it != name)
        tables = (section.model_copy(update={"dimensions": rest}),)
        try:
            made = _made(policy.model_copy(update={"tables": tables}), table, home)["tables"][0]
        except HalfmaskError:
            continue  # a rule is about this column, or all cells would be hidden
        hidden = made["sensitive"] + made["guards"]
        found.append({"column": name, "cells": made["cells"], "hidden": hidden})
    return sorted(found, key=lambda it: it["hidden"] / it["cells"])

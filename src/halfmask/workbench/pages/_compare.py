"""Compare: the table and the candidate side by side, by cell and by column; rows at risk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from halfmask.workbench._candidate import COMPARED, PLACES, cancel, make, state_of
from halfmask.workbench._json_files import read_json
from halfmask.workbench._page import Page

if TYPE_CHECKING:
    from halfmask.workbench._candidate import Candidate
    from halfmask.workbench._desk import Desk

SIZE: Final = 20
#: A longer cell is shown by its beginning.
_LETTERS: Final = 80


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows that are asked for, and what was kept of columns and risk."""
    state = state_of(desk)
    candidate: Candidate | None = state["candidate"]
    if candidate is None or not candidate.is_fresh:
        return {**state, "shown": None}
    kept = {"columns": [], "risk": None, **read_json(candidate.job.folder / COMPARED)}
    kept["columns"] = [_pictured(*it) for it in enumerate(kept["columns"])]
    table = None
    if not candidate.facts["linked"]:
        asked = query.get("row") or query.get("from", "")
        table = _compared(desk, candidate, int(asked) if asked.isdecimal() else 0)
        table["marked"] = query.get("row", "")
    return {**state, "shown": {**kept, "table": table}, "facts": candidate.facts, "size": SIZE}


def _pictured(number: int, column: dict[str, Any]) -> dict[str, Any]:
    """Return a column with its picture, drawn again: a folder that was sent may hold any markup."""
    from halfmask.assess.utility import Distribution  # noqa: PLC0415 # ready within a second
    from halfmask.microdata.charts import distribution_chart  # noqa: PLC0415 # as above

    if column["picture"] is None:
        return {**column, "picture": "", "sentence": ""}
    said: dict[str, Any] = column["picture"]
    listed = {name: tuple(said[name]) for name in ("labels", "before", "after")}
    found = Distribution(**(said | listed))
    drawn = distribution_chart(column["name"], found, name=f"picture-{number}").svg()
    return {**column, "picture": Markup(drawn), "sentence": found.sentence}  # noqa: S704 # escaped


def _compared(desk: Desk, candidate: Candidate, asked: int) -> dict[str, Any]:
    """Return some rows of the table with their cells before and after."""
    import numpy as np  # noqa: PLC0415 # the page must be ready within a second

    from halfmask.microdata.attacked import released_rows  # noqa: PLC0415 # as above

    project, name = desk.project, ("released", candidate.job.id)
    released, rows = project.kept(name, lambda: released_rows(candidate.folder)), project.rows()
    first = max(0, min(asked, rows.height - 1)) // SIZE * SIZE
    names = [name for name in rows.columns if name in released.columns]
    before = rows[first : first + SIZE].select(names).rows()
    places = np.load(candidate.job.folder / PLACES)[first : first + SIZE].tolist()
    found = released[[max(0, place) for place in places]].select(names).rows()
    return {
        "names": names,
        "dropped": [name for name in rows.columns if name not in released.columns],
        "first": first,
        "n_rows": rows.height,
        "rows": [
            {
                "number": first + number,
                "left_out": place < 0,
                "cells": [_cell(*both) for both in zip(was, now, strict=True)],
            }
            for number, (place, was, now) in enumerate(zip(places, before, found, strict=True), 1)
        ],
    }


def _cell(before: object, after: object) -> tuple[str, str, bool]:
    """Return a cell before and after as texts, and whether it was changed."""
    was, now = _text(before), _text(after)
    return was, now, before != after and str(before) != str(after)


def _text(value: object) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."


PAGE: Final = Page("compare", "Compare", show, {"make": make, "cancel": cancel})

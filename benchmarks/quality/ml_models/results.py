"""Everything that is written of a run: results.json, tables, figures; and its bars."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ml_models.beside import beside_the_toolkit, by_family, counted, with_one_training
from ml_models.facts import Facts
from ml_models.figures import draw
from ml_models.grid import Grid
from ml_models.judging import bars
from ml_models.tables import table_1, table_2, tables_as_markdown
from ml_models.verdicts import raw_models

if TYPE_CHECKING:
    from pathlib import Path

    from bars import Bar
    from ml_models.running import Run

LIBRARIES = ("halfmask", "numpy", "scipy", "scikit-learn", "polars", "numba")


def write_results(
    run: Run, out: Path, skipped: list[str], left: list[str], seconds: float, commit: str
) -> list[Bar]:
    """Write the JSON, the tables and the figures of all that was measured; return the bars.

    `commit` is the one of the code that measured, taken as `run.version` is: when it began.
    """
    store = run.store()
    grid, facts = Grid.of(store), Facts.of(run.most_rows)
    first, second = table_1(store), table_2(store)
    found = bars(grid, store, first, second)
    written: dict[str, Any] = {
        "commit": commit,
        "version": run.version,
        "seconds_of_this_run": round(seconds, 1),
        "libraries": {name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "notes_on_data": {name: dataset.notes for name, dataset in facts.datasets.items()},
        "skipped": skipped,
        "not_done": left,
        "places": _places(grid, facts),
        "accuracy": grid.as_json(),
        "beside_the_toolkit": _beside_the_toolkit(grid),
        "with_one_training": [each.as_json() for each in with_one_training(grid)],
        "table_1": first,
        "table_2": second,
        "raw_models": raw_models(store),
        "bars": {bar.name: bar.as_json() for bar in found},
        "figures": draw(grid, out, facts),
    }
    (out / "results.json").write_text(json.dumps(written, indent=1), encoding="utf-8")
    text = tables_as_markdown(grid, first, second, facts)
    (out / "tables.md").write_text(text, encoding="utf-8")
    return found


def _places(grid: Grid, facts: Facts) -> list[dict[str, Any]]:
    """Say for each place what is recoded, and what always saying the same would reach."""
    result = []
    for place in grid.scenes():
        seeds = grid.seeds(place)
        majority = facts.majority(place[0], seeds)
        result.append(
            {
                **dict(zip(("data", "quasi_identifiers", "model"), place, strict=True)),
                "recoded": facts.how_many(place, seeds),
                "majority": None if majority is None else majority.as_json(),
            }
        )
    return result


def _beside_the_toolkit(grid: Grid) -> dict[str, Any]:
    found = beside_the_toolkit(grid)
    return {
        "all": counted(found) if found else None,
        "families": by_family(found),
        "cells": [each.as_json() for each in found],
    }

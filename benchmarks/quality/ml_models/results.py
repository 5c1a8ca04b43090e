"""Everything that is written of a run: results.json, tables, figures; and its bars."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ml_models.datasets import DATASETS, missing_files
from ml_models.figures import draw
from ml_models.grid import Grid
from ml_models.judging import bars
from ml_models.store import commit
from ml_models.tables import table_1, table_2, tables_as_markdown

if TYPE_CHECKING:
    from pathlib import Path

    from bars import Bar
    from ml_models.running import Run

LIBRARIES = ("halfmask", "numpy", "scipy", "scikit-learn", "polars", "numba")


def write_results(
    run: Run, out: Path, skipped: list[str], left: list[str], seconds: float
) -> list[Bar]:
    """Write the JSON, the tables and the figures of all that was measured; return the bars."""
    store = run.store()
    grid = Grid.of(store)
    first, second = table_1(store), table_2(store)
    found = bars(grid, store, first, second)
    notes = {name: make().notes for name, make in DATASETS.items() if name not in missing_files()}
    written: dict[str, Any] = {
        "commit": commit(),
        "version": run.version,
        "seconds_of_this_run": round(seconds, 1),
        "libraries": {name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "notes_on_data": notes,
        "skipped": skipped,
        "not_done": left,
        "accuracy": grid.as_json(),
        "table_1": first,
        "table_2": second,
        "bars": {bar.name: bar.as_json() for bar in found},
        "figures": draw(grid, out),
    }
    (out / "results.json").write_text(json.dumps(written, indent=1), encoding="utf-8")
    text = tables_as_markdown(grid, first, second)
    (out / "tables.md").write_text(text, encoding="utf-8")
    return found

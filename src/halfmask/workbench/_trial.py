"""Try a policy on a sample, as a job: what can't be said without making the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.workbench._estimate import ROWS
from halfmask.workbench._project import Project

if TYPE_CHECKING:
    from halfmask._progress import Progress


def try_policy(
    report: Progress, folder: Path, *, project: str, table: str, policy: str, kind: str
) -> dict[str, Any]:
    """Make a release that isn't written, and return its rows and tables of what was measured."""
    del kind  # it is for those who read the result
    from halfmask.microdata import Policy, protect  # noqa: PLC0415 # as the job needs them

    del folder
    opened = Project(Path(project), table)
    parsed = Policy.from_toml(policy, folder=opened.folder)
    rows = opened.sample(ROWS)
    release = protect(rows, parsed, progress=report)
    found = getattr(release.facts, "measured", None)
    blocks = [] if found is None else found.blocks()
    if parsed.is_private:
        released = release.data
        names = [[name, f"{released[name].n_unique():,}"] for name in released.columns]
        tables = [{"title": "Values that are left", "columns": ["column", "values"], "rows": names}]
    else:
        tables = [
            {"title": it.title, "columns": list(it.columns), "rows": [list(row) for row in it.rows]}
            for it in blocks
        ]
    return {"rows": rows.height, "out": release.rows["out"], "tables": tables}

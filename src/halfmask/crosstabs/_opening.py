"""What a policy of tables is applied to: microdata, or tables that are ready.

Ready tables are one frame or file, a folder or list of files, or frames by name; all are linked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import DataError
from halfmask._progress import Progress, silent
from halfmask.crosstabs._ready import read_ready
from halfmask.crosstabs._tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.engines import Engine


def open_cells(
    table: object,
    policy: TablesPolicy,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
    record: str | None = None,
    record_key: Callable[[pl.Series], pl.Series] | None = None,
) -> tuple[CellSystem, ...]:
    """Return the cells of all tables of a policy, one `CellSystem` a measure."""
    if policy.ready is not None:
        return read_ready(_named(table, policy), policy, policy.ready, progress=progress)
    return tabulate(
        table, policy, engine=engine, progress=progress, record=record, record_key=record_key
    )


def _named(tables: object, policy: TablesPolicy) -> dict[str, object]:
    """Return each table by its name."""
    wanted = [each.name for each in policy.tables]
    if isinstance(tables, Mapping):
        found: dict[str, object] = {str(name): where for name, where in tables.items()}
    elif isinstance(tables, str | Path) and Path(tables).is_dir():
        found = {path.name.partition(".")[0]: path for path in _files(Path(tables), policy)}
    elif isinstance(tables, list | tuple):
        if not all(isinstance(each, str | Path) for each in tables):
            raise DataError(
                "A list of ready tables must be one of files.",
                hint='Give frames by name, as in {"turnover": frame}.',
            )
        found = {Path(path).stem: path for path in tables}
        if len(found) < len(tables):
            raise DataError("Two ready tables have one name.", hint="Rename one of the files.")
    else:
        own = Path(tables).stem if isinstance(tables, str | Path) else "table"
        return {wanted[0] if len(wanted) == 1 else own: tables}
    missing = [name for name in wanted if name not in found]
    if missing or not found:
        raise DataError(
            f"There are no ready tables of these names: {', '.join(map(repr, missing))}."
            if missing
            else "The folder has no ready tables.",
            hint="The name of a table is that of its file, without the ending.",
        )
    return {name: found[name] for name in wanted or found}


def _files(folder: Path, policy: TablesPolicy) -> list[Path]:
    """Return the files of a folder that aren't hierarchies, in order."""
    base = policy.folder or Path()
    trees = {
        (base / each.hierarchy).resolve() for each in policy.dimensions.values() if each.hierarchy
    }
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and path.name[0] not in "._"
        and path.suffix.lower() != ".hrc"
        and path.resolve() not in trees
    ]

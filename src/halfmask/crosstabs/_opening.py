"""What a policy of tables is applied to: microdata, or tables that are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Return the cells of all tables of a policy, one `CellSystem` a measure.

    Of microdata see `tabulate`; with ``[ready]`` in the policy the input is tables, see
    `read_ready`.
    """
    if policy.ready is not None:
        return read_ready(table, policy, policy.ready, progress=progress)
    return tabulate(
        table, policy, engine=engine, progress=progress, record=record, record_key=record_key
    )

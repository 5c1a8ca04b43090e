"""Fold and map over batches: the same functions in threads here, or on a cluster.

Start with :class:`Engine`. What is folded is a summary that adds up, what is mapped is a plan that
never looks at another batch; an engine decides where and when, and nothing else.
:class:`LocalEngine` is the default, :class:`DaskEngine` takes a cluster. :func:`map_in_order` is
for parts of one batch, such as its columns, which stay in this process whatever the engine.
"""

from __future__ import annotations

from halfmask.engines._dask import DaskEngine
from halfmask.engines._engine import Engine
from halfmask.engines._local import LocalEngine, map_in_order, worker_count
from halfmask.engines._tables import fold_table, map_table

__all__ = [
    "DaskEngine",
    "Engine",
    "LocalEngine",
    "fold_table",
    "map_in_order",
    "map_table",
    "worker_count",
]

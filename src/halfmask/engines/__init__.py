"""Fold and map over batches: the same functions in threads here, or on a cluster.

Start with :class:`Engine`. What is folded is a summary that adds up, what is mapped is a plan that
never looks at another batch; an engine decides where and when, and nothing else.
:class:`LocalEngine` is the default; :class:`DaskEngine` and :class:`SparkEngine` take a cluster,
and :func:`connect` opens one by its address. :func:`fold_table` and :func:`map_table` run over a
table, whose parts an engine reads by itself where they lie in Parquet. :func:`map_in_order` is
for parts of one batch, such as its columns, which stay in this process whatever the engine.
:func:`folder_of_parts` is for output that workers write, and :func:`check_confidential` stands
before keys that are sent to them.
"""

from __future__ import annotations

from halfmask.engines._confidential import check_confidential
from halfmask.engines._connecting import connect
from halfmask.engines._dask import DaskEngine
from halfmask.engines._folders import PartFolder, folder_of_parts
from halfmask.engines._local import LocalEngine, fold_table, map_in_order, map_table, worker_count
from halfmask.engines._spark import SparkEngine
from halfmask.engines.engine import Engine

__all__ = [
    "DaskEngine",
    "Engine",
    "LocalEngine",
    "PartFolder",
    "SparkEngine",
    "check_confidential",
    "connect",
    "fold_table",
    "folder_of_parts",
    "map_in_order",
    "map_table",
    "worker_count",
]

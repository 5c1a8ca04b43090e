"""Fold and map over batches: the same functions in threads here, or on a cluster.

Start with :class:`Engine`. What is folded is a summary that adds up, what is mapped is a plan that
never looks at another batch; an engine decides where and when, and nothing else.
:class:`LocalEngine` is the default; :class:`DaskEngine` and :class:`SparkEngine` take a cluster,
and :func:`connect` opens one by its address. `fold_table` and `map_table` run over a
table, whose parts an engine reads by itself where they lie in Parquet. `map_in_order` is
for parts of one batch, such as its columns, which stay in this process whatever the engine.
`folder_of_parts` is for output that workers write, and `check_confidential` stands
before keys that are sent to them.
"""

from __future__ import annotations

from halfmask.engines._confidential import check_confidential as check_confidential
from halfmask.engines._connecting import connect
from halfmask.engines._dask import DaskEngine
from halfmask.engines._folders import PartFolder as PartFolder
from halfmask.engines._folders import folder_of_parts as folder_of_parts
from halfmask.engines._local import LocalEngine
from halfmask.engines._local import fold_table as fold_table
from halfmask.engines._local import map_in_order as map_in_order
from halfmask.engines._local import map_table as map_table
from halfmask.engines._local import worker_count as worker_count
from halfmask.engines._spark import SparkEngine
from halfmask.engines.engine import Engine

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "DaskEngine",
    "Engine",
    "LocalEngine",
    "SparkEngine",
    "connect",
]

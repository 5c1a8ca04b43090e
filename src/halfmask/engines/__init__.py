"""Fold and map over batches: the same functions on one machine, and later on a cluster.

Start with :func:`map_in_order`. What is folded is a summary that adds up, what is mapped is a plan
that never looks at another batch; an engine decides where and when, and nothing else.
"""

from __future__ import annotations

from halfmask.engines._local import map_in_order, worker_count

__all__ = ["map_in_order", "worker_count"]

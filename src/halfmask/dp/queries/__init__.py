"""Questions to a table under a budget: answers with noise, and with intervals.

Start with :meth:`PrivateTable.open`, narrow the table by ``where``, ``join`` and ``group_by``, and
``select`` aggregates: :class:`Count`, :class:`Sum`, :class:`Mean`, :class:`Variance`,
:class:`Quantile`, :class:`DistinctCount`. ``plan`` states the error to expect before anything is
paid for; ``answer`` charges the table's :class:`~halfmask.dp.ledger.PrivacyLedger`.
:func:`query_sql` takes a question in SQL. :func:`release_answer` writes an answer with its claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._foreign import need
from halfmask.dp.queries._aggregates import (
    Aggregate,
    BoundedAggregate,
    Count,
    DistinctCount,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from halfmask.dp.queries._answer import PrivateAnswer
from halfmask.dp.queries._estimates import ExpectedError
from halfmask.dp.queries._grouping import Bins
from halfmask.dp.queries._plan import QueryPlan
from halfmask.dp.queries._private_table import PrivateQuery, PrivateTable
from halfmask.dp.queries._release_answer import release_answer

if TYPE_CHECKING:
    from halfmask.dp.queries._sql import query_sql

__all__ = [
    "Aggregate",
    "Bins",
    "BoundedAggregate",
    "Count",
    "DistinctCount",
    "ExpectedError",
    "Mean",
    "PrivateAnswer",
    "PrivateQuery",
    "PrivateTable",
    "Quantile",
    "QueryPlan",
    "Sum",
    "Variance",
    "query_sql",
    "release_answer",
]


def __getattr__(name: str) -> object:
    """Import what reads SQL when it is first asked for: that takes 0.2 s."""
    if name != "query_sql":
        raise AttributeError(f"module 'halfmask.dp.queries' has no attribute {name!r}")
    need("sqlglot")
    from halfmask.dp.queries import _sql  # noqa: PLC0415 # as above

    return _sql.query_sql

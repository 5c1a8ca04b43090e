"""A database as a release: the tables of a schema, copied through masks.

Start with :func:`propose_database_policy`, edit what it returns, load it as a
:class:`DatabasePolicy`, and call :func:`protect_database`. Columns that foreign keys link share one
mask and one key, so the references of the copy lead to the same rows. The target is written whole
or not at all, and compared with the source before it is committed.
"""

from __future__ import annotations

from halfmask.databases._checking import TableCount
from halfmask.databases._policy import DatabasePolicy
from halfmask.databases._proposal import propose_database_policy
from halfmask.databases._protect import MaskedDatabase, protect_database

__all__ = [
    "DatabasePolicy",
    "MaskedDatabase",
    "TableCount",
    "propose_database_policy",
    "protect_database",
]

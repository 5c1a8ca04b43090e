"""Tables in and out, and what is said of their columns.

Start with `describe`, which proposes a role and a kind for each column of a table, and says why;
`Schema` is what the owner makes of it.
"""

from __future__ import annotations

from halfmask.data._schema import Column, Kind, Missing, Role, Schema

__all__ = ["Column", "Kind", "Missing", "Role", "Schema"]

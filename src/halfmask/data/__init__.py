"""Tables in and out, and what is said of their columns.

Start with `describe`, which proposes a role and a kind for each column of a table, and says why;
`Schema` is what the owner makes of it.
"""

from __future__ import annotations

from halfmask.data._hierarchy import Hierarchy, leaf_text
from halfmask.data._hierarchy_dates import Dates
from halfmask.data._hierarchy_file import read_hierarchy
from halfmask.data._hierarchy_rules import Groups, HierarchyRule, Intervals, Order, Prefix
from halfmask.data._schema import Column, Kind, Missing, Role, Schema

__all__ = [
    "Column",
    "Dates",
    "Groups",
    "Hierarchy",
    "HierarchyRule",
    "Intervals",
    "Kind",
    "Missing",
    "Order",
    "Prefix",
    "Role",
    "Schema",
    "leaf_text",
    "read_hierarchy",
]

"""Tables in and out, and the schema of their columns.

Start with `open_table`, which reads a file, a folder, standard input or a frame in batches; then
`describe`, which proposes a role and a kind for each column of a table, and says why; `Schema` is
what the owner makes of it, and `write_table` writes what may be released.
"""

from __future__ import annotations

from halfmask.data._calendar import (
    Unit,
    check_calendar,
    day_of,
    local_times,
    moved_by_days,
    next_unit_start,
    unit_start,
)
from halfmask.data._describe import Batched, Description, describe
from halfmask.data._hierarchy_dates import Dates
from halfmask.data._hierarchy_file import read_hierarchy
from halfmask.data._hierarchy_rules import Groups, HierarchyRule, Intervals, Order, Prefix
from halfmask.data._owned_buffer import owned_buffer
from halfmask.data._proposal import Proposal
from halfmask.data._read_options import ReadOptions
from halfmask.data._reader import Reader, ReaderAround
from halfmask.data._schema import Column, Kind, Missing, Role, Schema
from halfmask.data._source import Source, open_table
from halfmask.data._spelling import Normalization, spellings, steps_needed
from halfmask.data.atomic import atomic_file, atomic_folder
from halfmask.data.database_url import DatabaseUrl, is_database_url, quoted_name
from halfmask.data.formats import Format
from halfmask.data.frames import count_infinite, like, to_polars
from halfmask.data.hierarchy import Hierarchy, as_text, leaf_text
from halfmask.data.orders import has_order, natural_order, orders_of
from halfmask.data.singling_out import SinglingOut
from halfmask.data.writer import TableWriter, write_table

__all__ = [
    "Batched",
    "Column",
    "DatabaseUrl",
    "Dates",
    "Description",
    "Format",
    "Groups",
    "Hierarchy",
    "HierarchyRule",
    "Intervals",
    "Kind",
    "Missing",
    "Normalization",
    "Order",
    "Prefix",
    "Proposal",
    "ReadOptions",
    "Reader",
    "ReaderAround",
    "Role",
    "Schema",
    "SinglingOut",
    "Source",
    "TableWriter",
    "Unit",
    "as_text",
    "atomic_file",
    "atomic_folder",
    "check_calendar",
    "count_infinite",
    "day_of",
    "describe",
    "has_order",
    "is_database_url",
    "leaf_text",
    "like",
    "local_times",
    "moved_by_days",
    "natural_order",
    "next_unit_start",
    "open_table",
    "orders_of",
    "owned_buffer",
    "quoted_name",
    "read_hierarchy",
    "spellings",
    "steps_needed",
    "to_polars",
    "unit_start",
    "write_table",
]

"""Tables in and out, and the schema of their columns.

Start with `open_table`, which reads a file, a folder, standard input or a frame in batches.
`Schema` says what its columns are, and `write_table` writes what may be released.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from halfmask.data._schema import Column, Kind, Missing, Role, Schema
from halfmask.data.arrow_types import owned_buffer
from halfmask.data.frames import count_infinite, like, to_polars
from halfmask.data.hierarchy._dates import (
    Dates,
    Unit,
    check_calendar,
    day_of,
    local_times,
    moved_by_days,
    next_unit_start,
    unit_start,
)
from halfmask.data.hierarchy._file import read_hierarchy
from halfmask.data.hierarchy._rules import Groups, HierarchyRule, Intervals, Order, Prefix
from halfmask.data.hierarchy.orders import has_order, natural_order, orders_of
from halfmask.data.hierarchy.tree import Hierarchy, as_text, leaf_text
from halfmask.data.io._opening import open_table
from halfmask.data.io._read_options import ReadOptions
from halfmask.data.io._reader import Normalization, Reader, ReaderAround, spellings, steps_needed
from halfmask.data.io._source import Source
from halfmask.data.io.atomic import atomic_file, atomic_folder
from halfmask.data.io.database_url import DatabaseUrl, is_database_url, quoted_name
from halfmask.data.io.formats import Format
from halfmask.data.io.writer import TableWriter, write_table

__all__ = [
    "Column",
    "DatabaseUrl",
    "Dates",
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
    "ReadOptions",
    "Reader",
    "ReaderAround",
    "Role",
    "Schema",
    "Source",
    "TableWriter",
    "Unit",
    "as_text",
    "atomic_file",
    "atomic_folder",
    "check_calendar",
    "count_infinite",
    "day_of",
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

if not TYPE_CHECKING:  # what moved to the room `description` is found here, too

    def __getattr__(name: str) -> object:
        if name in {"Batched", "Description", "Proposal", "SinglingOut", "describe"}:
            return getattr(importlib.import_module("halfmask.description"), name)
        raise AttributeError(f"module 'halfmask.data' has no attribute {name!r}")

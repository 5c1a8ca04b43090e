"""Tables in and out, and the schema of their columns.

Start with `open_table`, which reads a file, a folder, standard input or a frame in batches.
`Schema` says what its columns are, and `write_table` writes what may be released.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from halfmask.data._schema import Column, Kind, Missing, Role, Schema
from halfmask.data.arrow_types import owned_buffer as owned_buffer
from halfmask.data.frames import count_infinite as count_infinite
from halfmask.data.frames import like as like
from halfmask.data.frames import to_polars as to_polars
from halfmask.data.hierarchy._dates import Dates, Unit
from halfmask.data.hierarchy._dates import check_calendar as check_calendar
from halfmask.data.hierarchy._dates import day_of as day_of
from halfmask.data.hierarchy._dates import local_times as local_times
from halfmask.data.hierarchy._dates import moved_by_days as moved_by_days
from halfmask.data.hierarchy._dates import next_unit_start as next_unit_start
from halfmask.data.hierarchy._dates import unit_start as unit_start
from halfmask.data.hierarchy._file import read_hierarchy
from halfmask.data.hierarchy._rules import Groups, HierarchyRule, Intervals, Order, Prefix
from halfmask.data.hierarchy.orders import has_order as has_order
from halfmask.data.hierarchy.orders import natural_order as natural_order
from halfmask.data.hierarchy.orders import orders_of as orders_of
from halfmask.data.hierarchy.tree import Hierarchy
from halfmask.data.hierarchy.tree import as_text as as_text
from halfmask.data.hierarchy.tree import leaf_text as leaf_text
from halfmask.data.io._derived import DerivedColumn as DerivedColumn
from halfmask.data.io._opening import frame_given as frame_given
from halfmask.data.io._opening import open_table
from halfmask.data.io._read_options import ReadOptions
from halfmask.data.io._reader import Normalization, Reader
from halfmask.data.io._reader import ReaderAround as ReaderAround
from halfmask.data.io._reader import spellings as spellings
from halfmask.data.io._reader import steps_needed as steps_needed
from halfmask.data.io._sinks import guarded as guarded
from halfmask.data.io._source import Source
from halfmask.data.io.atomic import atomic_file as atomic_file
from halfmask.data.io.atomic import atomic_folder as atomic_folder
from halfmask.data.io.database_url import DatabaseUrl as DatabaseUrl
from halfmask.data.io.database_url import is_database_url as is_database_url
from halfmask.data.io.database_url import quoted_name as quoted_name
from halfmask.data.io.formats import Format
from halfmask.data.io.writer import TableWriter, write_table

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "Column",
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
    "Role",
    "Schema",
    "Source",
    "TableWriter",
    "Unit",
    "open_table",
    "read_hierarchy",
    "write_table",
]

if not TYPE_CHECKING:  # what moved to the room `description` is found here, too

    def __getattr__(name: str) -> object:
        if name in {"Batched", "Description", "Proposal", "SinglingOut", "describe"}:
            return getattr(importlib.import_module("halfmask.description"), name)
        raise AttributeError(f"module 'halfmask.data' has no attribute {name!r}")

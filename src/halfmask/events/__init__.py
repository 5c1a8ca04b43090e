"""Nested events: a policy names the fields of JSON lines that are released; others are dropped.

Lines come in blocks of some megabytes. A compiled scanner walks each line once, follows the paths
that the policy names and fills columns of tokens; rules work on whole columns; a compiled writer
puts the output's lines together from the columns alone. So a field that nobody named can't be
copied: there is no code that could.
"""

from __future__ import annotations

from halfmask.events.block._bad_lines import Limits, Reason
from halfmask.events.block._block import scan_block as scan_block
from halfmask.events.block._level import Level
from halfmask.events.block._path_tree import OutputShape as OutputShape
from halfmask.events.block._path_tree import PathTree as PathTree
from halfmask.events.block._paths import Path as Path
from halfmask.events.block._paths import Step as Step
from halfmask.events.block._values import Kind, Values
from halfmask.events.block._values import read_text as read_text
from halfmask.events.block._writing import write_block as write_block
from halfmask.events.policy._policy import EventPolicy
from halfmask.events.running._dead_letters import DeadLetters
from halfmask.events.running._event_run import run_events, sealed_tables, stage_of, table_entry
from halfmask.events.running._run_summary import RunSummary
from halfmask.events.running._transforming import Transform
from halfmask.events.secrets._reversal import Reversed, reverse_events
from halfmask.events.secrets._tables import SecretTable
from halfmask.events.stages._stage import Stage

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "DeadLetters",
    "EventPolicy",
    "Kind",
    "Level",
    "Limits",
    "Reason",
    "Reversed",
    "RunSummary",
    "SecretTable",
    "Stage",
    "Transform",
    "Values",
    "reverse_events",
    "run_events",
    "sealed_tables",
    "stage_of",
    "table_entry",
]

"""``halfmask events``: describe, run and verify streams of events."""

from __future__ import annotations

from halfmask.cli._events_describe import describe
from halfmask.cli._events_reverse import reverse
from halfmask.cli._events_run import run
from halfmask.cli._events_table import table
from halfmask.cli._events_verify import verify
from halfmask.cli._options import command_group

events = command_group("events", "Release a stream of nested events by a policy.")
for command in (describe, run, verify, reverse):
    events.command()(command)
events.add_typer(table)

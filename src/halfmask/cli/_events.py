"""``halfmask events``: describe, run and verify streams of events."""

from __future__ import annotations

import typer

from halfmask.cli._events_describe import describe
from halfmask.cli._events_reverse import reverse
from halfmask.cli._events_run import run
from halfmask.cli._events_table import table
from halfmask.cli._events_verify import verify

__all__ = ["events"]

events = typer.Typer(
    name="events",
    help="Let others study a stream of nested events, by one policy.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (describe, run, verify, reverse):
    events.command()(command)
events.add_typer(table)


@events.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)

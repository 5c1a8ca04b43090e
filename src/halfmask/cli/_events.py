"""``halfmask events``: describe, run and verify streams of events."""

from __future__ import annotations

import typer

from halfmask.cli._events_describe import describe

__all__ = ["events"]

events = typer.Typer(
    name="events",
    help="Let others study a stream of nested events, by one policy.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
events.command()(describe)


@events.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)

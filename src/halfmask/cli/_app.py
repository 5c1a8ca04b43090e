"""The command `halfmask`: its commands, and what happens when one fails."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from halfmask import __version__
from halfmask._errors import ColumnWarning
from halfmask.cli._assess import assess
from halfmask.cli._console import console, printable, say_failure, use_careful_streams
from halfmask.cli._decode import decode
from halfmask.cli._describe import describe
from halfmask.cli._encode import encode
from halfmask.cli._events import events
from halfmask.cli._failures import INTERRUPTED, failure_of
from halfmask.cli._hash import hash_
from halfmask.cli._options import show_help
from halfmask.cli._predict import predict
from halfmask.cli._protect import protect
from halfmask.cli._push import push
from halfmask.cli._schema import schema
from halfmask.cli._serve import serve
from halfmask.cli._stopping import stopping_cleanly
from halfmask.cli._vault import vault
from halfmask.cli._verify import verify

__all__ = ["main"]

# What click makes of the interrupt key, before we see it.
CLICK_INTERRUPTED = 130

app = typer.Typer(
    name="halfmask",
    help=(
        "Let others learn from a table of people that they must not see.\n\n"
        "First describe the table and edit the policy that is proposed, then "
        "protect the table by it: a release, verified on disk, with its report. "
        "Whoever gets the release can verify it."
    ),
    epilog="Exit codes: 0 done, 1 failed (an unmet promise included), 2 wrong usage.",
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (describe, protect, verify, schema, decode, push, predict):
    app.command()(command)
app.command(name="hash")(hash_)
app.add_typer(assess)
app.add_typer(encode)
app.add_typer(events)
app.add_typer(vault)
app.add_typer(serve)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback takes the flag
    if wanted:
        typer.echo(f"halfmask {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback has answered
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    show_help(context)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `halfmask` and return its exit code.

    Parameters
    ----------
    arguments
        The words behind `halfmask`; by default those the process was started with.

    Returns
    -------
    int
        0 done, 1 failed (a promise that isn't met included), 2 wrong usage.

    Notes
    -----
    **Guarantees.** Whatever is raised becomes one line and a hint on standard error, or one JSON
    object on standard output with ``--json``. Neither holds a cell's value, a category or the path
    of an input. Only ``--debug`` shows a traceback, which may.

    Examples
    --------
    >>> main(["--version"])
    halfmask 0.1.0
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = words[: words.index("--")] if "--" in words else words
    as_json, debug = "--json" in options, "--debug" in options
    use_careful_streams()
    with stopping_cleanly(), nullcontext() if debug else _hushed():
        try:
            run = typer.main.get_command(app)
            status = run.main(words, prog_name="halfmask", standalone_mode=False)
        except SystemExit:
            raise  # typer's, where whoever read our output has gone
        except BaseException as error:  # noqa: BLE001 - polars' panics are BaseExceptions
            return say_failure(
                failure_of(error), as_json=as_json, traceback_of=error if debug else None
            )
    if status == CLICK_INTERRUPTED:
        return say_failure(INTERRUPTED, as_json=as_json)
    return status if isinstance(status, int) else 0


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep libraries from saying things of their own: what they say may quote a cell."""
    last_resort, logging.lastResort = logging.lastResort, None
    said: set[str] = set()

    def say(message: Warning | str, *_: object, **__: object) -> None:
        # A table that is opened twice is warned of once.
        if str(message) not in said:
            said.add(str(message))
            text = f"Warning: {printable(str(message))}"
            console(stderr=True).print(text, style="yellow", soft_wrap=True)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=ColumnWarning)
            warnings.showwarning = say
            yield
    finally:
        logging.lastResort = last_resort

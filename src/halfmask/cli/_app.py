"""The command `halfmask`: its commands, and what happens when one fails."""

from __future__ import annotations

import functools
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from halfmask import __version__
from halfmask._errors import ColumnWarning
from halfmask.cli import _rooms as rooms
from halfmask.cli._assess import assess
from halfmask.cli._book import book
from halfmask.cli._budget import budget
from halfmask.cli._console import (
    console,
    printable,
    say_failure,
    show_traceback,
    use_careful_streams,
)
from halfmask.cli._crosstab import crosstab
from halfmask.cli._decode import decode, reverse
from halfmask.cli._describe import describe
from halfmask.cli._encode import encode
from halfmask.cli._events import events
from halfmask.cli._explore import explore
from halfmask.cli._failures import failure_of
from halfmask.cli._hash import hash_
from halfmask.cli._option_groups import flag, spreads_groups
from halfmask.cli._options import CommandGroup, DebugOption, HeadedGroup, show_help
from halfmask.cli._predict import predict
from halfmask.cli._protect import protect, synthesize
from halfmask.cli._query import query
from halfmask.cli._remote import push
from halfmask.cli._serve import serve
from halfmask.cli._stopping import stopping_cleanly
from halfmask.cli._vault import vault
from halfmask.cli._verify import verify
from halfmask.cli._workbench import workbench


@spreads_groups
def schema(
    *,
    of_tables: bool = flag("--tables: Of policies of tables of counts and sums."),
    debug: DebugOption = False,  # noqa: ARG001 - main looks for it
) -> int:
    """Print the JSON schema of policy files, for editors."""
    kind = rooms.crosstabs.TablesPolicy if of_tables else rooms.microdata.Policy
    typer.echo(json.dumps(kind.json_schema(), indent=2))
    return 0


# What click makes of the interrupt key, before we see it.
CLICK_INTERRUPTED = 130

app = CommandGroup(
    name="halfmask",
    cls=HeadedGroup,
    help=(
        "Let others learn from data that they must not see.\n\n"
        "To release a table, run describe, edit the policy that it proposes, then run "
        "protect. The release is verified on disk and has a report. The receiver can "
        "verify it again."
    ),
    epilog="{run} in a path is replaced by the time in UTC and a random number, so that each run "
    "has its own, as in releases/{run}.\n\n"
    "Exit codes: 0 success; 1 failure, such as an unmet guarantee; 2 wrong "
    "usage; 130 interrupted.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
COMMANDS = (
    describe,
    explore,
    protect,
    crosstab,
    synthesize,
    query,
    verify,
    schema,
    reverse,
    decode,
    push,
    predict,
    workbench,
)
for command in COMMANDS:
    app.command()(command)
app.command(name="hash")(hash_)
app.add_typer(assess)
app.add_typer(book)
app.add_typer(budget)
app.add_typer(encode)
app.add_typer(events)
app.add_typer(vault)
app.add_typer(serve)


#: Make the command of an app from all functions and their parameters, once.
_command_of = functools.cache(typer.main.get_command)


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


def run(words: Sequence[str], *, as_json: bool, debug: bool) -> int:
    """Run the command and return its exit code; see `halfmask.cli.main`."""
    use_careful_streams()
    with stopping_cleanly(), nullcontext() if debug else _hushed():
        try:
            _refuse_databases(words)
            words = _with_run(words)
            status = _command_of(app).main(list(words), prog_name="halfmask", standalone_mode=False)
        except SystemExit:
            raise  # typer's, where the reader of our output has gone
        except (KeyboardInterrupt, typer.Abort) as error:
            if debug:
                show_traceback(error)
            raise KeyboardInterrupt from None
        except BaseException as error:  # noqa: BLE001 - polars' panics are BaseExceptions
            if debug:
                show_traceback(error)
            return say_failure(failure_of(error), as_json=as_json)
    if status == CLICK_INTERRUPTED:
        raise KeyboardInterrupt
    return status if isinstance(status, int) else 0


def _refuse_databases(words: Sequence[str]) -> None:
    """Refuse the URL of a database that no command reads or writes, whatever it is given as."""
    for word in words:
        value = word.partition("=")[2] if word.startswith("--") else word
        if value.startswith("jdbc:") or ("://" in value and not value.startswith("http")):
            rooms.data.io.database_url.refuse_unsupported(value)


def _with_run(words: Sequence[str]) -> Sequence[str]:
    """Return the words with a name of this run in the place of each {run}."""
    if not any("{run}" in word for word in words):
        return words
    name = rooms.data.io.atomic.run_name()
    return [word.replace("{run}", name) for word in words]


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep libraries from saying things of their own: what they say may quote a cell."""
    last_resort, logging.lastResort = logging.lastResort, None
    shown: set[str] = set()

    def say(message: Warning | str, *_: object, **__: object) -> None:
        # A table that is opened twice is warned of once.
        if str(message) not in shown:
            shown.add(str(message))
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

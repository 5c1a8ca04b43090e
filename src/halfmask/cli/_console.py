"""How a command answers: text for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from halfmask.cli._failures import Failure

MOST_LETTERS = 2_000
#: The style of what a command warns of.
WARNED = "dark_orange"


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error that takes no text for markup."""
    from rich.console import Console  # noqa: PLC0415 - --version needs none

    return Console(
        file=sys.stderr if stderr else sys.stdout, markup=False, emoji=False, highlight=False
    )


def listing(*titles: str, right: tuple[str, ...] = ()) -> Table:
    """Return a table without lines, indented by two; the titles in `right` are of numbers."""
    from rich import box  # noqa: PLC0415 - --version needs none
    from rich.table import Table  # noqa: PLC0415 - the same

    table = Table(
        box=box.SIMPLE if any(titles) else None,
        show_header=any(titles),
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for title in titles:
        table.add_column(title, justify="right" if title in right else "left")
    return table


def mark(holds: bool, out: Console) -> str:  # noqa: FBT001 - mark(check.holds, ...) reads well
    """Return a tick or a cross, in words where the terminal has no such signs."""
    if out.encoding.lower().startswith("utf"):
        return "✓" if holds else "✗"
    return "yes" if holds else "NO"


def printable(text: str) -> str:
    r"""Return text from a table or manifest so that it can't steer the terminal.

    Examples
    --------
    >>> printable("age")
    'age'
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def say_json(result: Mapping[str, object], out: TextIO | None = None) -> None:
    """Write one JSON object and a line end; it is strict JSON in ASCII, whatever the terminal."""
    stream = out or sys.stdout
    stream.write(json.dumps(result, allow_nan=False) + "\n")
    stream.flush()


def show_traceback(error: BaseException) -> None:
    """Show where an error comes from, which only ``--debug`` may."""
    traceback.print_exception(error)
    sys.stderr.write("This traceback may hold values of the table: keep it to yourself.\n")


def say_failure(failure: Failure, *, as_json: bool) -> int:
    """Say what failed and return the exit code."""
    if as_json:
        say_json(failure.to_dict())
        return failure.status
    err = console(stderr=True)
    err.print(f"Error: {_shortened(failure.error)}", style="red", soft_wrap=True)
    if failure.hint is not None:
        err.print(f"Hint: {failure.hint}", soft_wrap=True)
    return failure.status


def _shortened(text: str) -> str:
    """Return text that a person may still read: a table may have ten thousand columns."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS]}... and so on; --json says all of it."


def use_careful_streams() -> None:
    """Let names that the terminal can't show be escaped instead of failing the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

"""How a command answers: text for people, one JSON object for programs, stages meanwhile."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from halfmask.cli._failures import Failure


COMPILING = (
    "Compiling the kernels that this run needs and no earlier one did; they are kept. "
    "This takes up to a minute."
)


class Stages:
    """Shows one line for the current stage, and keeps one for each that is done.

    On a terminal a bar moves; elsewhere nothing is shown unless `verbose`, and then one line a
    stage. Made to be called as `halfmask._progress.Progress` and used with ``with``.
    """

    def __init__(self, err: Console, *, verbose: bool) -> None:
        self._err = err
        self._says = verbose or err.is_terminal
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._stage: str | None = None
        self._since = 0.0

    def __enter__(self) -> Self:
        if self._err.is_terminal:
            self._bar = _bar(self._err)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._finish()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Say that a stage goes on; ``share`` of it, in [0, 1], is done."""
        if stage != self._stage:
            self._finish()
            self._start(None if stage == "done" else stage)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=None if share is None else 1.0, completed=share or 0)

    def _start(self, stage: str | None) -> None:
        self._stage, self._since = stage, time.monotonic()
        if self._bar is not None and stage is not None:
            self._task = self._bar.add_task(stage, total=None)

    def _finish(self) -> None:
        if self._stage is None:
            return
        if self._bar is not None and self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
        if self._says:
            seconds = time.monotonic() - self._since
            self._err.print(f"  {self._stage:<28} {seconds:6.1f} s", style="dim")
        self._stage = None


def _bar(err: Console) -> Progress:
    from rich.progress import (  # noqa: PLC0415 - --help needs none
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )


@contextmanager
def compilation_announced(err: Console) -> Iterator[None]:
    """Say it, once, if the block compiles a kernel: else the first run looks as if it hung."""
    try:
        from halfmask.kernels.compiling import COMPILATION  # noqa: PLC0415 - it takes a second to load
    except ImportError:  # a client's machine needs none, and compiles nothing
        yield
        return
    begun = False

    def announce(stage: str, share: float | None = None) -> None:  # noqa: ARG001 - once is enough
        nonlocal begun
        if not begun:
            begun = True
            err.print(COMPILING, soft_wrap=True)

    before, COMPILATION.progress = COMPILATION.progress, announce
    try:
        yield
    finally:
        COMPILATION.progress = before


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
        table.add_column(title, justify="right" if title in right else "left", overflow="fold")
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

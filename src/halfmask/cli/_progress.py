"""What long work says while it runs, on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        from numba.core import event  # noqa: PLC0415 - the compiler takes a second to load

        from halfmask.kernels.compiling import BAR  # noqa: PLC0415 - as above
    except ImportError:  # a client's machine needs none, and compiles nothing
        yield
        return

    class Announcement(event.Listener):
        begun = False

        def on_start(self, _: object) -> None:
            if not self.begun:
                self.begun = True
                err.print(COMPILING, soft_wrap=True)

        def on_end(self, _: object) -> None:
            """Say nothing: the stage that waited for it ends by itself."""

    # One of both speaks: the bar of Python would write over that of the stages.
    event.unregister("numba:compile", BAR)  # type: ignore[no-untyped-call] # numba's
    try:
        with event.install_listener("numba:compile", Announcement()):
            yield
    finally:
        event.register("numba:compile", BAR)  # type: ignore[no-untyped-call] # numba's

"""What long work says of itself while it runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress(Protocol):
    """Called with what is being done, and the share of it that is done where that is known."""

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Say that a stage goes on; ``share`` is in [0, 1]."""


def silent(stage: str, share: float | None = None) -> None:
    """Say nothing, but for one line in a notebook, which goes away when its cell is done."""
    shell = _notebook()
    if shell is not None:
        _LINE.say(shell, stage if share is None else f"{stage}: {share:.0%}")


def _notebook() -> Any:  # noqa: ANN401 # IPython's
    """Return the shell of the notebook that this process runs, if it runs one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


class _NotebookLine:
    """An output of a cell that is written again and again, and emptied after the cell."""

    #: Seconds between two shares of the same stage.
    PAUSE = 0.2

    def __init__(self) -> None:
        self._shown: Any = None
        self._hooked: Any = None
        self._stage, self._said = "", 0.0

    def say(self, shell: Any, text: str) -> None:  # noqa: ANN401 # IPython's
        stage, now = text.partition(":")[0], time.monotonic()
        if stage == self._stage and now - self._said < self.PAUSE:
            return
        self._stage, self._said = stage, now
        if self._hooked is not shell:
            self._hooked = shell
            shell.events.register("post_run_cell", self.clear)
        if self._shown is None:
            display = sys.modules["IPython"].display.display
            self._shown = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._shown.update({"text/plain": text}, raw=True)

    def clear(self, *_: object) -> None:
        """Empty the output: nobody can take it away."""
        if self._shown is not None:
            self._shown.update({"text/html": "", "text/plain": ""}, raw=True)
        self._shown, self._stage = None, ""


_LINE = _NotebookLine()


class WaitingBar:
    """Shows a stage on a terminal until it is done, or in a notebook; elsewhere nothing."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Show a stage, or take the bar away with ``done``."""
        del share  # nobody knows how much is to come
        if stage == "done":
            if self._bar is not None:
                self._bar.stop()
            self._bar = None
            return
        silent(stage)
        if self._bar is None:
            self._bar = _started()
        self._bar.update(self._bar.task_ids[0], description=stage)


def _started() -> Bar:
    from rich.console import Console  # noqa: PLC0415 # only where something is shown
    from rich.progress import BarColumn, Progress, TimeElapsedColumn  # noqa: PLC0415 # the same

    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(bar_width=30), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task("", total=None)
    bar.start()
    return bar

"""What long work says of itself while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress(Protocol):
    """Called with what is being done, and the share of it that is done where that is known."""

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Say that a stage goes on; ``share`` is in [0, 1]."""


def silent(stage: str, share: float | None = None) -> None:
    """Say nothing."""


class WaitingBar:
    """Shows a stage on a terminal or in a notebook until it is done; elsewhere nothing."""

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
        if self._bar is None:
            self._bar = _started()
        self._bar.update(self._bar.task_ids[0], description=stage)


def _started() -> Bar:
    from rich.console import Console  # noqa: PLC0415 # only where something is shown
    from rich.progress import BarColumn, Progress, TimeElapsedColumn  # noqa: PLC0415 # the same

    console = Console(stderr=True)
    shows = console.is_terminal or console.is_jupyter
    columns = ("{task.description}", BarColumn(bar_width=30), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not shows)
    bar.add_task("", total=None)
    bar.start()
    return bar

"""What long work says of itself while it runs."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is being done, and the share of it that is done where that is known."""

    def __call__(self, stage: str, share: float | None = None) -> None:
        """Say that a stage goes on; ``share`` is in [0, 1]."""


def silent(stage: str, share: float | None = None) -> None:
    """Say nothing."""

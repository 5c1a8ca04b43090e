"""Chunk: some whole lines of a stream, and where to go on after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import threading

    import numpy as np
    from numpy.typing import NDArray

SPARE = 128

#: Where a stream goes on, as JSON can hold it. It may hold names of files: it is kept sealed.
Position: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some whole lines.

    Parameters
    ----------
    view
        Lines of one file; only the last one of a file may lack its end.
    lines
        How many they are.
    first_line
        The number of the first in its file, from 1 on.
    file
        The number of the file among those of the source, from 1 on.
    position
        Where to go on after them.
    oversized
        Whether, in place of lines, this stands for one that is too long to be held; it was skipped.
    buffer
        Memory in which the lines stand first, and `SPARE` bytes behind them; the holder of the
        chunk may write into it. None where the lines stand elsewhere.
    give_back
        Is called when the lines are no longer used: their memory is reused.
    """

    view: bytes | memoryview = field(repr=False)
    lines: int
    first_line: int
    file: int = 1
    position: Position = field(repr=False)
    oversized: bool = False
    buffer: NDArray[np.uint8] | None = field(default=None, repr=False)
    give_back: Callable[[], None] | None = field(default=None, repr=False)

    @property
    def data(self) -> bytes:
        """The lines; a copy where they stand in memory that is used again."""
        return bytes(self.view)

    def release(self) -> None:
        """Say that nobody looks at the lines any more."""
        if self.give_back is not None:
            self.give_back()


class Source(Protocol):
    """Where lines come from.

    **Guarantees** that a run relies on: the lines from a position on are those that would have
    come next, or it is an error; chunks may be of other sizes.
    """

    @property
    def endless(self) -> bool:
        """Whether lines go on until the run is stopped."""
        ...

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield chunks from a position on; None: from the beginning.

        Parameters
        ----------
        position
            Of the last chunk that was worked on.
        stop
            When it is set, a source that waits for more ends instead.

        Raises
        ------
        DataError
            If the input can't be read, is torn, or isn't the one that the position is of. What
            was whole before that place has been yielded.
        """
        ...

    def reread(self) -> Source | None:
        """Return a source of the same lines to read first; None if they come once."""
        ...

    def share(self, position: Position) -> float | None:
        """Return which share of the input is before a position; None if nobody knows.

        Parameters
        ----------
        position
            A position that a chunk of this source had.
        """
        ...

    def saved(self, position: Position) -> None:
        """Take note that a checkpoint of all before a position is on the disk.

        Parameters
        ----------
        position
            A position that a chunk of this source had.
        """
        ...

    def counts(self) -> dict[str, int]:
        """Return counts for the summary, such as how often a followed file was rotated."""
        ...

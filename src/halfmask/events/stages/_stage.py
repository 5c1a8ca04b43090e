"""Stage: what stands between the rules and the output, and may hold events back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.block._block import Block
    from halfmask.events.block._writing import Changed
    from halfmask.events.streams import Chunk


class Stage(Protocol):
    """Gets every block after its rules, in order, and returns lines to write.

    One stage works on one stream; a run calls it from one thread at a time, which needn't be the
    thread that called `Transform.change`.

    **Guarantees** that a run relies on: what a stage returns depends only on the events that it
    took since its beginning, not on where blocks end; after ``restore(state())`` it goes on as if
    nothing had been between. Lines are whole: what is returned is empty or ends in a line feed.
    A class that inherits from it holds nothing back and knows nothing, unless it says otherwise.
    """

    @property
    def passes_through(self) -> bool:
        """Whether it lets all lines of a block pass and remembers none.

        Then it is asked by several threads at once, in any order, and the memory of a block is used
        again once its lines are written.
        """
        return False

    def look_ahead(self, chunks: Iterable[Chunk], limits: Limits) -> None:  # noqa: ARG002 # it holds nothing
        """Look at a whole input that has an end, before its blocks are taken.

        Not called where lines come once alone, such as those of a pipe; nor where `passes_through`.

        Parameters
        ----------
        chunks
            All of the input; each is to be released.
        limits
            Beyond what a line is refused.
        """
        return

    def take(self, changed: Changed, block: Block) -> bytes | memoryview:
        """Take a block in, and return the lines that may be written now.

        Parameters
        ----------
        changed
            The block after its rules: what may be written at all.
        block
            The original block, with the original values of the paths that are followed.

        Returns
        -------
        bytes or memoryview
            Lines; a view of the block's memory, if the stage passes through.
        """
        ...

    def finish(self) -> bytes:
        """Return what may be written of what was held back, at the end of the stream."""
        return b""

    def state(self) -> bytes:
        """Return all that the stage remembers of the stream, to be sealed in a vault."""
        return b""

    def restore(self, state: bytes) -> None:
        """Go on where a stage with the same settings was.

        Parameters
        ----------
        state
            What `state` of that stage returned.

        Raises
        ------
        DataError
            If the bytes aren't the state of such a stage.
        """
        if state:
            raise DataError("The state is that of another stage.")

    def renew(self) -> None:
        """Begin with the next input of the stream, once one is at its end.

        What is known of the stream stays; claims about lines are about the next output only.
        """
        return

    def summary(self) -> dict[str, int]:
        """Return counts for the run's summary, by name."""
        return {}


class PassThrough(Stage):
    """Writes what comes: the stage of a run that has no other."""

    passes_through = True

    def __init__(self) -> None:
        # Without settings. The signature that it would have of Protocol changes at the first call.
        pass

    def take(self, changed: Changed, block: Block) -> bytes | memoryview:  # noqa: ARG002 # a Stage's
        """Return all lines of the block that the rules let out."""
        return changed.view()

"""Changed: a block after its rules, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.events.block._writing import view_block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.events.block._buffers import ArrayLease
    from halfmask.events.block._level import Level
    from halfmask.events.block._shape import OutputShape
    from halfmask.events.block._values import Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changed:
    """A block after its rules: released columns, not yet written as lines.

    Parameters
    ----------
    shape
        Names and order of the fields.
    columns
        What is written.
    events
        The level of the events.
    wanted
        Which events are written.
    room
        What the block's memory is taken by.
    """

    shape: OutputShape
    columns: Mapping[str, Values]
    events: Level
    wanted: NDArray[np.bool_]
    room: ArrayLease

    def written(self) -> bytes:
        """Return the lines."""
        return bytes(self.view())

    def view(self) -> memoryview:
        """Return the lines, in memory of the block: they are there until it is released."""
        return view_block(
            self.shape, self.columns, events=self.events, wanted=self.wanted, room=self.room
        )

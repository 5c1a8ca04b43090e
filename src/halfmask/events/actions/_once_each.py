"""Work on each distinct value once, by a whole column of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._level import Level
from halfmask.events.running._context import BlockView, Context

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier

#: With fewer repeats it is faster to work on all of them.
_LEAST_REPEATS = 4


class OnceEach:
    """An applier of another one, which must look at nothing but the values."""

    __slots__ = ("_applier",)
    is_local = True

    def __init__(self, applier: Applier) -> None:
        self._applier = applier

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values."""
        codes, slots = values.numbered()
        if _LEAST_REPEATS * len(slots) > len(codes):
            return self._applier.apply(values, context)
        few = Level.of_events(len(slots))
        view = BlockView(read=context.view.read, events=len(slots), first_event=0)
        inner = _Noted(view=view, path=context.path)
        made = self._applier.apply(values.take(slots, few), inner)
        for reason, failed in inner.reasons:
            context.fail(reason, values.level, np.append(failed, False)[codes])  # a cell
        return made.take(codes, values.level)


class _Noted(Context):
    """A context that keeps which values couldn't be worked on, for each reason."""

    def __init__(self, *, view: BlockView, path: str) -> None:
        super().__init__(view=view, path=path)
        self.reasons: list[tuple[str, NDArray[np.bool_]]] = []

    def fail(self, reason: str, level: Level, slots: NDArray[np.bool_]) -> None:  # noqa: ARG002 # as of all contexts
        if slots.any():
            self.reasons.append((reason, slots))

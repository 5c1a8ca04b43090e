"""What a guarantee says of a table's classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from halfmask.guarantees._guarantee import Guarantee

__all__ = ["Judgement"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """The level that every class achieves, and which classes miss the guarantee.

    Parameters
    ----------
    guarantee
        What was judged.
    achieved
        The level of the worst class: the smallest k or l, the largest c or t.
    levels
        The level of each class (float64).
    failing
        The indices of the classes that miss the guarantee, ascending (int64).
    classes
        The number of classes that were judged.
    rows
        The number of rows in them.
    rows_failing
        The number of rows in the classes that miss.
    """

    guarantee: Guarantee
    achieved: float
    levels: npt.NDArray[np.float64]
    failing: npt.NDArray[np.int64]
    classes: int
    rows: int
    rows_failing: int

    def __repr__(self) -> str:
        return (
            f"Judgement({self.guarantee!r}: achieved {self.achieved:g}, "
            f"{len(self.failing)} of {self.classes} classes miss it)"
        )

    @property
    def holds(self) -> bool:
        """Whether no class misses the guarantee."""
        return self.failing.size == 0

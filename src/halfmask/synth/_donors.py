"""Rows that a cell may be drawn from: groups of codes, and one drawn from a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Codes drawn for some rows."""

    codes: NDArray[np.int32]
    neighbour: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Drawn({len(self.codes)} rows)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Donors:
    """The codes of rows in groups, ascending within each."""

    codes: NDArray[np.int32]
    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Donors({len(self.codes)} rows in {len(self.starts)} groups)"

    @classmethod
    def of(
        cls,
        groups: NDArray[np.int64],
        codes: NDArray[np.int32],
        n_groups: int,
        *,
        ends: NDArray[np.int64] | None = None,
    ) -> Self:
        """Gather the codes of each group."""
        drawable = codes >= 0
        own = groups[drawable]
        order = np.lexsort((codes[drawable], own))
        edges = np.append(0, np.cumsum(np.bincount(own, minlength=n_groups)))
        starts = edges[:-1].copy()
        sizes = edges[np.arange(1, n_groups + 1) if ends is None else ends] - starts
        empty = sizes == 0
        starts[empty], sizes[empty] = 0, len(own)
        return cls(codes=codes[drawable][order], groups=own[order], starts=starts, sizes=sizes)

    def drawn(self, groups: NDArray[np.integer], rng: np.random.Generator) -> Drawn:
        """Return for each row the code of a row that is drawn from its group."""
        offsets = (rng.random(len(groups)) * self.sizes[groups]).astype(np.int64)
        places = self.starts[groups] + offsets
        steps = np.where(rng.random(len(groups)) < 0.5, -1, 1)
        others = np.clip(places + steps, 0, len(self.codes) - 1)
        others = np.where(self.groups[others] == self.groups[places], others, places)
        return Drawn(codes=self.codes[places], neighbour=self.codes[others])

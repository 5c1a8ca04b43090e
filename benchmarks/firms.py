"""Random firms with hierarchies: the tables on which suppression is measured.

A part of the scripts; not run by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmTable:
    """Firms, and the trees over which their turnover is tabulated.

    Parameters
    ----------
    name
        The number of cells, and which seed.
    firms
        One row a firm: the columns of each dimension's levels, and ``turnover`` in whole numbers.
    levels
        By dimension the columns of its tree, from the top down; the last has the codes.
    """

    name: str
    firms: pl.DataFrame
    levels: dict[str, tuple[str, ...]]

    @property
    def policy(self) -> dict[str, object]:
        """The policy that protects turnover by p% = 10, in the words of a file."""
        return {
            "halfmask-tables": 1,
            "dimensions": {
                name: {"levels": list(levels), "total": "Total"}
                for name, levels in self.levels.items()
            },
            "tables": [{"name": "turnover", "dimensions": list(self.levels), "value": "turnover"}],
            "rules": [{"rule": "p-percent", "p": 10.0}],
        }


def firm_table(trees: Sequence[Sequence[int]], firms: int, *, seed: int) -> FirmTable:
    """Return random firms; each tree has the number of children of each level, such as (3, 3)."""
    random = np.random.default_rng(seed)
    columns: dict[str, pl.Series] = {}
    levels: dict[str, tuple[str, ...]] = {}
    cells = 1
    for number, tree in enumerate(trees):
        name = "abcdef"[number]
        leaves = int(np.prod(tree))
        shares = random.dirichlet(np.full(leaves, 3.0))
        drawn = random.choice(leaves, size=firms, p=shares)
        names = (*(f"{name}{depth + 1}" for depth in range(len(tree) - 1)), name)
        for depth, level in enumerate(names):
            below = int(np.prod(tree[depth + 1 :]))
            # codes of one width, as tau-argus wants them, and no code on two levels
            codes = [f"{name}{depth}{code:03d}" for code in drawn // below]
            columns[level] = pl.Series(level, codes)
        levels[name] = names
        cells *= 1 + sum(int(np.prod(tree[: depth + 1])) for depth in range(len(tree)))
    turnover = np.ceil(random.lognormal(3.0, 1.3, size=firms)).astype(np.int64)
    frame = pl.DataFrame([*columns.values(), pl.Series("turnover", turnover)])
    return FirmTable(name=f"{cells} cells, seed {seed}", firms=frame, levels=levels)


#: Trees and firms by the number of cells. pytauargus' modular search survives no other table of
#: three dimensions that was tried: it wants deep trees, and even so some seeds end its process.
TREES = {
    85: (((4, 3), (4,)), 90),
    221: (((3, 3), (4, 3)), 700),
    273: (((3, 3), (4, 4)), 700),
    442: (((5, 4), (4, 3)), 550),
    3094: (((5, 4), (4, 3), (6,)), 4500),
}


def table_of(cells: int, *, seed: int = 1) -> FirmTable:
    """Return the table of that many cells."""
    trees, firms = TREES[cells]
    return firm_table(trees, firms, seed=seed)

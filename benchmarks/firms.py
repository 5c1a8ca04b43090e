"""Random firms with hierarchies: the tables on which suppression is measured.

A part of the scripts; not run by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._earlier import apply_earlier
from halfmask.crosstabs._opening import open_cells
from halfmask.crosstabs._primary import find_sensitive
from halfmask.crosstabs._protections import Suppression
from halfmask.crosstabs._requirements import state_requirements
from halfmask.crosstabs._suppress import suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import HiddenPattern, Knowledge, Sensitivity
    from halfmask.crosstabs._rules import CellRule


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
    def policy(self) -> TablesPolicy:
        """The policy that protects turnover by p% = 10."""
        sections: dict[str, object] = {
            "halfmask-tables": 1,
            "dimensions": {name: {"levels": list(it)} for name, it in self.levels.items()},
            "tables": [{"name": "turnover", "dimensions": list(self.levels), "value": "turnover"}],
            "rules": [{"rule": "p-percent", "p": 10.0}],
        }
        return TablesPolicy(**sections)

    @property
    def problem(self) -> Problem:
        """What suppression starts from."""
        return problem_of(self.firms, self.policy)

    def tree(self, dimension: str) -> str:
        """Return the tree of a dimension as the text of an .hrc file."""
        lines: list[str] = []
        before: tuple[str, ...] = ()
        levels = self.levels[dimension]
        for path in self.firms.select(levels).unique().sort(levels).iter_rows():
            lines += [
                "@" * at + code
                for at, code in enumerate(path)
                if before[: at + 1] != path[: at + 1]
            ]
            before = path
        return "\n".join(lines) + "\n"


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


#: Trees and firms by the number of cells. pytauargus' modular search ends its process on many
#: others of three dimensions, and on some seeds of these.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Cells, what they need, and what is known of them."""

    cells: CellSystem
    sensitivity: Sensitivity
    knowledge: Knowledge
    rules: tuple[CellRule, ...]

    def hide(self, chosen: Suppression = Suppression()) -> HiddenPattern:  # noqa: B008 # it is frozen
        """Return which cells are hidden."""
        return suppress(self.cells, self.sensitivity, self.knowledge, chosen, rules=self.rules)

    def keeping(self, hidden: NDArray[np.bool_]) -> Problem:
        """Return the same, with cells that must be hidden."""
        knowledge = replace(self.knowledge, must_hide=self.knowledge.must_hide | hidden)
        return replace(self, knowledge=knowledge)

    def unmet(self, hidden: NDArray[np.bool_], *, singletons: str) -> tuple[int, int]:
        """Return how many requirements aren't met, and how many there are."""
        needed = state_requirements(self.cells, self.sensitivity, hidden, singletons=singletons)
        found = audit(self.cells, hidden, needed, self.knowledge, intervals=False)
        return len(found.unmet), len(needed.cell)

    def secondary(self, hidden: NDArray[np.bool_]) -> tuple[int, float]:
        """Return how many cells are hidden that aren't sensitive, and their value."""
        others = hidden & ~self.sensitivity.is_sensitive
        return int(others.sum()), float(self.cells.value[others].sum())


def problem_of(table: object, policy: TablesPolicy) -> Problem:
    """Return the cells of one measure, what is sensitive in them, and what is known."""
    all_cells = open_cells(table, policy)
    (cells,) = all_cells
    (knowledge,) = apply_earlier(all_cells, policy)
    rules = policy.made_rules()
    sensitivity = find_sensitive(cells, rules, weights=policy.weights)
    return Problem(cells=cells, sensitivity=sensitivity, knowledge=knowledge, rules=rules)

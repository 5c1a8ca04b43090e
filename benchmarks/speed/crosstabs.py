"""Tables of counts and sums: tabulation, suppression and the audit, in seconds.

- 10 million rows over three dimensions with totals, against polars' group_by of the same columns,
  which has no totals.
- 3,094 cells, about 750 of them sensitive, protected and audited.
- The audit of 10,000 hidden cells: whether each sensitive one is safe. The intervals of all of them
  are timed as well, and have no bar.
- 100,000 cells of counts, protected by elimination.

`--quick` has a tenth of the rows and cells. No peer is needed; `quality/crosstabs.py` has one.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bars import Bar, report, say, seconds_of
from firms import FirmTable, Problem, firm_table, problem_of, table_of
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._opening import open_cells
from halfmask.crosstabs._protections import Suppression
from halfmask.crosstabs._requirements import state_requirements


class Clock:
    """Seconds since it was made; on a busy machine those of this process' CPU say more."""

    def __init__(self) -> None:
        self._start, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, str]:
        """Return the seconds, and those of the CPU in words."""
        return time.perf_counter() - self._start, f"{time.process_time() - self._cpu:.1f} s of CPU"


WIDE = ((5, 4, 3), (4, 3, 3), (8,))
NARROW = ((5, 4), (4, 3), (8,))


def tabulation(rows: int) -> list[Bar]:
    """Return how many times polars' group_by the tabulation of sums and of counts takes."""
    table = firm_table(((5, 4), (4, 3), (6,)), rows, seed=1)
    turnover, names = pl.col("turnover"), list(table.levels)
    grouped = table.firms.lazy().group_by(names)
    sums = (pl.len(), turnover.sum(), turnover.top_k(5).alias("largest"))
    bars = []
    for what, policy, statistics in (
        ("sums", table.policy, sums),
        ("counts", counts_of(table), (pl.len(),)),
    ):
        asked = grouped.agg(*statistics)
        theirs, _ = seconds_of(asked.collect, runs=3)
        plain, _ = seconds_of(grouped.agg(pl.len(), turnover.sum()).collect, runs=3)
        open_cells(table.firms[:1000], policy)  # kernels are compiled
        ours, _ = seconds_of(partial(open_cells, table.firms, policy), runs=3)
        why = f"ours {ours:.2f} s with totals; polars {theirs:.2f} s without"
        if what == "sums":
            why += f", with the five largest of each cell as ours; {plain:.2f} s without these"
        name = f"{rows:,} rows, {what}: tabulated, of polars' group_by"
        bars.append(Bar(name=name, value=ours / theirs, goal=2.0, side="at most", why=why))
    return bars


def counts_of(table: FirmTable) -> TablesPolicy:
    """Return the policy that counts rows, of which fewer than three are sensitive."""
    sections: dict[str, object] = {
        "halfmask-tables": 1,
        "dimensions": {name: {"levels": list(it)} for name, it in table.levels.items()},
        "tables": [{"name": "counts", "dimensions": list(table.levels)}],
        "rules": [{"rule": "minimum-frequency", "n": 3}],
    }
    return TablesPolicy(**sections)


def protection(cells: int) -> list[Bar]:
    """Return how long a table of turnover takes to be protected and audited."""
    table = table_of(cells, seed=1)
    table_of(85, seed=1).problem.hide()  # kernels are compiled
    clock = Clock()
    problem = table.problem
    pattern = problem.hide()
    unmet, needed = problem.unmet(pattern.hidden, singletons="exact")
    seconds, cpu = clock.read()
    sensitive = int(problem.sensitivity.is_sensitive.sum())
    why = f"{problem.cells.n} with a value, {sensitive} sensitive; {unmet} of {needed} unmet; {cpu}"
    name = f"{cells} cells protected and audited, s"
    return [Bar(name=name, value=seconds, goal=20, side="at most", why=why)]


def many_hidden(hidden: int) -> list[Bar]:
    """Return how long the audit of so many hidden cells takes, in the whole system."""
    trees, firms = (WIDE, 200_000) if hidden >= 10_000 else (NARROW, 23_000)
    problem = firm_table(trees, firms, seed=1).problem
    pattern = _smallest_hidden(problem, hidden)
    needed = state_requirements(problem.cells, problem.sensitivity, pattern, singletons="exact")
    clock = Clock()
    found = audit(problem.cells, pattern, needed, problem.knowledge, intervals=False)
    seconds, cpu = clock.read()
    say(f"audit: {seconds:.1f} s for {len(needed.cell):,} requirements")
    clock = Clock()
    audit(problem.cells, pattern, needed, problem.knowledge)
    whole, _ = clock.read()
    why = (
        f"{problem.cells.n:,} cells; {len(found.unmet):,} of {len(needed.cell):,} requirements "
        f"unmet: the smallest cells are hidden; {cpu}; {whole:.1f} s with the interval of each cell"
    )
    name = f"audit of {int(pattern.sum()):,} hidden cells, s"
    return [Bar(name=name, value=seconds, goal=10, side="at most", why=why)]


def _smallest_hidden(problem: Problem, wanted: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a pattern with all sensitive cells, and the smallest others until there are enough."""
    hidden = problem.sensitivity.is_sensitive.copy()
    others = np.flatnonzero(~hidden)
    order = np.argsort(problem.cells.value[others], kind="stable")
    hidden[others[order[: max(0, wanted - int(hidden.sum()))]]] = True
    return hidden


def counts(cells: int) -> Bar:
    """Return how long a table of counts takes, by elimination."""
    trees = ((8, 6, 5), (7, 5, 2), (2,)) if cells >= 100_000 else ((8, 6), (7, 5), (4,))
    table = firm_table(trees, 12 * cells, seed=1)
    policy = counts_of(table)
    small = firm_table(((3,), (3,)), 60, seed=1)
    eliminated = Suppression(search="elimination")
    problem_of(small.firms, counts_of(small)).hide(eliminated)  # kernels are compiled
    clock = Clock()
    problem = problem_of(table.firms, policy)
    say(f"counts: {problem.cells.n:,} cells in {clock.read()[0]:.1f} s")
    pattern = problem.hide(eliminated)
    seconds, cpu = clock.read()
    sensitive = int(problem.sensitivity.is_sensitive.sum())
    return Bar(
        name=f"{cells:,} cells of counts, s",
        value=seconds,
        goal=60,
        side="at most",
        why=f"{problem.cells.n:,} with people, {sensitive:,} sensitive, "
        f"{int(pattern.hidden.sum()):,} hidden; with tabulation; {cpu}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and cells")
    quick = parser.parse_args().quick
    report(
        [
            *tabulation(1_000_000 if quick else 10_000_000),
            *protection(442 if quick else 3094),
            *many_hidden(1_000 if quick else 10_000),
            counts(10_000 if quick else 100_000),
        ]
    )


if __name__ == "__main__":
    main()

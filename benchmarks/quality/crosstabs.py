"""Suppression in tables of turnover, against pytauargus: what it costs, and what it leaves unmet.

`python benchmarks/peers.py --only pytauargus` makes the peer's venv; without it, its bars have no
value. Random firms (`firms.py`) are tabulated over trees; p% = 10 says what is sensitive. Measured:

- 3,094 cells: our pattern and that of pytauargus' modular search (MOD), both audited in full. MOD's
  is then repaired: what it hides stays hidden, and our search adds what is missing.
- Up to 442 cells: our proven optimum and that of its optimal search (OPT), without singletons.
- The four linked tables of `examples/tables`.

`--quick` has one table of up to 221 cells and the linked ones, without the peer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bars import Bar, report, say
from firms import FirmTable, Problem, problem_of, table_of
from halfmask.crosstabs import TablesPolicy
from halfmask.crosstabs._protections import Suppression
from peers import DEFAULT_INTO, REPOSITORY, python_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINKED = REPOSITORY / "examples" / "tables"
#: Its modular search ends by itself in seconds; OPT may not.
LIMIT = 150
TRIES = 4
SMALL = ((85, 1), (85, 2), (221, 1), (221, 2), (273, 1), (442, 1), (442, 2))
#: OPT knows no singletons, and no sums of hidden cells.
ALONE = Suppression(search="optimal", singletons="off", hidden_sums=False)
NO_PEER = "pytauargus has no venv: run python benchmarks/peers.py --only pytauargus"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPattern:
    """What the peer hides, and how long it took; or why there is nothing."""

    hidden: NDArray[np.bool_] | None = None
    seconds: float = 0.0
    why: str = ""


def peer(table: FirmTable, problem: Problem, suppress: str, into: Path) -> PeerPattern:
    """Return the peer's pattern; it runs in a process of its own, which may end at any point."""
    python = python_of("pytauargus", into)
    if python is None:
        return PeerPattern(why=NO_PEER)
    names = list(table.levels)
    with tempfile.TemporaryDirectory() as folder:
        trees = {}
        for name in names:
            if len(table.levels[name]) > 1:
                file = Path(folder) / f"{name}.hrc"
                file.write_text(table.tree(name), encoding="utf-8")
                trees[name] = str(file)
        job = {
            "columns": table.firms.select([*names, "turnover"]).to_dict(as_series=False),
            "dimensions": names,
            "hierarchies": trees,
            "value": "turnover",
            "p": 10,
            "suppress": suppress,
        }
        given = Path(folder) / "job.json"
        given.write_text(json.dumps(job), encoding="utf-8")
        words = [str(python), str(Path(__file__).with_name("peer_pytauargus.py")), str(given)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return PeerPattern(why=f"{suppress} took more than {LIMIT} s")
    if done.returncode != 0:
        ended = "by a segmentation fault" if done.returncode < 0 else "with an error"
        return PeerPattern(why=f"{suppress} ended {ended}")
    answer = json.loads(done.stdout)
    return PeerPattern(hidden=in_our_order(answer["cells"], problem), seconds=answer["seconds"])


def in_our_order(answer: list[list[object]], problem: Problem) -> NDArray[np.bool_]:
    """Return whether the peer hides each of our cells."""
    cells = problem.cells
    labels = cells.labels(np.arange(cells.n), [each.name for each in cells.dimensions])
    where = {codes: number for number, codes in enumerate(labels.iter_rows())}
    hidden = np.zeros(cells.n, dtype=bool)
    for codes, value, status in answer:
        if status in ("U", "M"):
            number = where[tuple(codes)]  # type: ignore[arg-type] # a list of texts
            if abs(cells.value[number] - float(value)) > 0.5:  # type: ignore[arg-type] # a number
                raise ValueError("The peer has another table.")
            hidden[number] = True
    return hidden


def large(cells: int, *, quick: bool, into: Path) -> list[Bar]:
    """Return what we hide in a large table, and what MOD does after its repair.

    MOD gives another pattern in every run, and ends many runs with an error: it has several tries,
    and the first table on which one succeeds is taken.
    """
    ended = 0
    theirs = PeerPattern(why=NO_PEER)
    table = table_of(cells, seed=1)
    for seed, _ in [] if quick else product(range(1, 5), range(TRIES)):
        table = table_of(cells, seed=seed)
        theirs = peer(table, table.problem, "MOD(1)", into)
        if theirs.hidden is not None or theirs.why == NO_PEER:
            break
        ended += 1
        say(f"{table.name}: {theirs.why}")
    problem = table.problem
    sensitive = int(problem.sensitivity.is_sensitive.sum())
    start, cpu = time.perf_counter(), time.process_time()
    pattern = problem.hide()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    unmet, needed = problem.unmet(pattern.hidden, singletons="exact")
    n, cost = problem.secondary(pattern.hidden)
    what = f"{problem.cells.n} cells with a value, {sensitive} sensitive"
    took = f"{seconds:.1f} s, {cpu:.1f} s of CPU"
    say(f"{table.name}: {what}: ours hides {n} more / {cost:,.0f} in {took}")
    why = f"of {needed}; {what}"
    bars = [at_most(f"{cells} cells: requirements unmet", unmet, 0, why)]
    if quick:
        return bars
    ratio, why = None, theirs.why
    if theirs.hidden is not None:
        before = problem.secondary(theirs.hidden | problem.sensitivity.is_sensitive)
        open_, of = problem.unmet(theirs.hidden, singletons="off")
        after = problem.secondary(problem.keeping(theirs.hidden).hide().hidden)
        ratio = cost / after[1]
        why = (
            f"{table.name}: ours {n} / {cost:,.0f} in {took}; "
            f"MOD {before[0]} / {before[1]:,.0f} in {theirs.seconds:.1f} s leaves {open_} of {of} "
            f"unmet for attackers from outside, after {ended} runs that ended by themselves; "
            f"repaired {after[0]} / {after[1]:,.0f}"
        )
        say(why)
    return [*bars, at_most(f"{cells} cells: value hidden, of MOD repaired", ratio, 1.0, why)]


def at_most(name: str, value: float | None, goal: float, why: str) -> Bar:
    """Return a bar whose value must not exceed the goal."""
    return Bar(name=name, value=value, goal=goal, side="at most", why=why)


def optimum(tables: tuple[tuple[int, int], ...], into: Path) -> Bar:
    """Return the largest share by which our proven optimum and OPT's differ."""
    apart: list[float] = []
    notes = []
    for cells, seed in tables:
        table = table_of(cells, seed=seed)
        problem = table.problem
        start = time.perf_counter()
        pattern = problem.hide(ALONE)
        seconds = time.perf_counter() - start
        ours = problem.secondary(pattern.hidden)[1]
        theirs = peer(table, problem, "OPT(1,10)", into)
        gap = "not proven" if pattern.gap is None else f"gap {pattern.gap:.2%}"
        line = f"{table.name}: ours {ours:,.0f} ({gap}) in {seconds:.1f} s"
        if theirs.hidden is None:
            say(f"{line}; {theirs.why}")
            notes.append(theirs.why)
            continue
        cost = problem.secondary(theirs.hidden)[1]
        unmet, _ = problem.unmet(theirs.hidden, singletons="off")
        say(f"{line}; OPT {cost:,.0f} in {theirs.seconds:.1f} s, {unmet} unmet")
        if pattern.gap is None or pattern.gap > 0:
            notes.append(f"{table.name}: {gap}")
        apart.append(abs(ours - cost) / max(cost, 1.0))
        if ours != cost:
            notes.append(f"{table.name}: ours {ours:,.0f}, OPT {cost:,.0f} with {unmet} unmet")
    return at_most(
        "up to 442 cells: cost of the optimum, distance to OPT's",
        max(apart) if len(apart) == len(tables) else None,
        1e-9,
        "; ".join(dict.fromkeys(notes)),
    )


def linked() -> list[Bar]:
    """Return what the four linked tables leave unmet, and how long they take."""
    policy = TablesPolicy.load(LINKED / "policy.toml")
    start, cpu = time.perf_counter(), time.process_time()
    problem = problem_of(str(LINKED / "turnover"), policy)
    pattern = problem.hide()
    unmet, needed = problem.unmet(pattern.hidden, singletons="exact")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    n, cost = problem.secondary(pattern.hidden)
    in_all = sum(len(each) for each in problem.cells.tables.values())
    sensitive = int(problem.sensitivity.is_sensitive.sum())
    why = f"{in_all} cells, {problem.cells.n} apart; {sensitive} sensitive, {n} more hidden"
    say(f"linked tables: {why}, of {cost:,.0f}")
    return [
        at_most("four linked tables: requirements unmet", unmet, 0, f"of {needed}; {why}"),
        at_most("four linked tables, s", seconds, 20, f"{why}; {cpu:.1f} s of CPU"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small table, without the peer")
    parser.add_argument("--peers", type=Path, default=DEFAULT_INTO, help="the folder of the venvs")
    arguments = parser.parse_args()
    into = arguments.peers
    bars = linked()
    if arguments.quick:
        bars += large(221, quick=True, into=into)
    else:
        bars += large(3094, quick=False, into=into)
        bars.append(optimum(SMALL, into))
    report(bars)


if __name__ == "__main__":
    main()

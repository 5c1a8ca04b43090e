"""A person with several rows: the time of classes that count persons against those that count rows.

    python benchmarks/speed/persons.py           # 100,000 and 1M rows; about two minutes
    python benchmarks/speed/persons.py --quick   # 50,000 and 200,000 rows; under a minute

Each person has five rows on average, which differ. Seconds are CPU seconds of all threads, warm,
from a summary to the plan; the least of several runs counts. Progress goes to stderr; the last line
of stdout is one JSON object of bars.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np
import polars as pl

from bars import Bar, report, say
from halfmask.anonymize import FullDomain, Method, Mondrian, Protection
from halfmask.anonymize.recodings import Level, Ranges
from halfmask.data import Column, Intervals, Schema
from halfmask.guarantees import KAnonymity

ROWS_OF_A_PERSON = 5
K = 10
RUNS = 3
#: A table with persons may take this many times as long as the same one without.
MOST_TIMES = 3.0
INTERVALS = {"age": (5, 10, 20, 40), "zip": (10, 100, 500), "income": (5000, 10000, 20000)}
METHODS: dict[str, Method] = {"mondrian": Mondrian(), "full-domain": FullDomain()}


def visits(n: int) -> pl.DataFrame:
    """Rows of persons with five each on average."""
    draw = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "person": draw.integers(0, n // ROWS_OF_A_PERSON, n),
            "age": draw.integers(18, 90, n),
            "zip": draw.integers(0, 2000, n),
            "income": draw.normal(30_000, 10_000, n).round(-3),
            "sex": draw.choice(["f", "m"], n),
        }
    )


def protection(method: str, *, counts_persons: bool) -> Protection:
    """k-anonymity of rows or of persons."""
    columns = [
        Column(
            name=name,
            role="quasi_identifier",
            kind="numeric",
            hierarchy=Intervals(widths=widths) if method == "full-domain" else None,
        )
        for name, widths in INTERVALS.items()
    ]
    columns.append(Column(name="sex", role="quasi_identifier", kind="categorical"))
    return Protection(
        schema=Schema((*columns, Column(name="person", role="identifier", kind="numeric"))),
        guarantees=(KAnonymity(k=K),),
        method=METHODS[method],
        recoding=Level() if method == "full-domain" else Ranges(),
        max_suppression_fraction=0.02,
        person="person" if counts_persons else None,
    )


def cpu_seconds(frame: pl.DataFrame, asked: Protection) -> float:
    """Return the least CPU seconds of finding classes, after one run that compiles."""
    summary = asked.summarize(frame)
    taken = []
    for _ in range(1 + RUNS):
        start = time.process_time()
        asked.plan(asked.fit(summary))
        taken.append(time.process_time() - start)
    return min(taken[1:])


def bar(n: int, method: str) -> Bar:
    """Compare both units on one table."""
    frame = visits(n)
    rows, persons = (
        cpu_seconds(frame, protection(method, counts_persons=each)) for each in (False, True)
    )
    say(f"{n:,} rows, {method}: {rows:.3f} s by rows, {persons:.3f} s by persons")
    name = f"{n:,} rows, {method}: times as long by persons as by rows"
    return Bar(name=name, value=persons / rows, goal=MOST_TIMES, side="at most")


def main() -> None:
    """Measure both sizes by both methods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    sizes = (50_000, 200_000) if parser.parse_args().quick else (100_000, 1_000_000)
    report([bar(n, method) for n in sizes for method in METHODS])


if __name__ == "__main__":
    main()

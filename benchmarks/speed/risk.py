"""The measures of re-identification risk on a million rows of bootstrapped Adult.

    python benchmarks/speed/risk.py            # a million rows; about two minutes
    python benchmarks/speed/risk.py --quick    # 100,000 rows; under a minute

Each measure is timed once from a frame in memory to its numbers, compilation apart, in seconds of
a processor: all but a few steps of polars take one core, and the machine may be busy.
sdcMicro isn't compared: it needs R. Progress goes to stderr; the last line of stdout is one JSON
object of bars.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import workloads
from bars import Bar, report, say
from halfmask.assess.risk import (
    individual_risk,
    log_linear_risk,
    population_uniqueness,
    separation,
    suda,
    table_risk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MILLION = 1_000_000
QUICK_ROWS = 100_000
MISSING = 0.02
#: Seconds for a million rows.
GOALS: Mapping[str, float] = {
    "counted risks": 5.0,
    "SUDA2, sets of up to 3 columns": 10.0,
    "SUDA2, sets of all sizes": 30.0,
    "SUDA2, up to 3 columns, 2 % of the cells missing": 20.0,
    "distinction and separation, up to 3 columns": 10.0,
    "individual and household risk": 5.0,
    "log-linear model": 5.0,
    "superpopulation estimators": 5.0,
}


def measures(frame: pl.DataFrame) -> Mapping[str, Callable[[], object]]:
    """Return each measure, ready to run."""
    names = list(workloads.QUASI_IDENTIFIERS)
    rng = np.random.default_rng(0)
    survey = frame.with_columns(
        weight=pl.Series(rng.uniform(1, 200, frame.height)),
        home=pl.Series(rng.integers(0, frame.height // 3, frame.height)),
    )
    holes = frame.with_columns(
        pl.when(pl.Series(rng.random(frame.height) > MISSING)).then(pl.col(name)).alias(name)
        for name in names
    )
    weighted = {"quasi_identifiers": names, "weights": "weight"}
    return {
        "counted risks": lambda: table_risk(frame, quasi_identifiers=names),
        "SUDA2, sets of up to 3 columns": lambda: suda(frame, quasi_identifiers=names, largest=3),
        "SUDA2, sets of all sizes": lambda: suda(frame, quasi_identifiers=names),
        "SUDA2, up to 3 columns, 2 % of the cells missing": lambda: suda(
            holes, quasi_identifiers=names, largest=3
        ),
        "distinction and separation, up to 3 columns": lambda: separation(
            frame, quasi_identifiers=names
        ),
        "individual and household risk": lambda: individual_risk(
            survey, household="home", **weighted
        ),
        "log-linear model": lambda: log_linear_risk(survey, **weighted),
        "superpopulation estimators": lambda: population_uniqueness(survey, **weighted),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows; under a minute")
    rows = QUICK_ROWS if parser.parse_args().quick else MILLION
    for run in measures(workloads.bootstrapped(1_000)).values():
        run()  # compiles, or loads what was compiled
    bars = []
    for name, run in measures(workloads.bootstrapped(rows)).items():
        start, clock = time.process_time(), time.perf_counter()
        run()
        seconds, waited = time.process_time() - start, time.perf_counter() - clock
        say(f"{rows:>10,} rows, {name}: {seconds:.2f} s of a processor, {waited:.2f} s in all")
        bars.append(
            Bar(
                name=f"{rows:,} rows, {name}: seconds of a processor",
                value=seconds,
                goal=GOALS[name],
                side="at most",
                why=f"{waited:.2f} s in all",
            )
        )
    report(bars)


if __name__ == "__main__":
    main()

"""Exploring 60 policies on Adult: from the files to the frontier, and to the written folder.

    python benchmarks/speed/explore.py           # about two minutes
    python benchmarks/speed/explore.py --quick   # once

Every method of the grid is compiled before. Progress goes to stderr; the last line of stdout is one
JSON object of bars.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from typing import TYPE_CHECKING

import halfmask  # after the path
import workloads
from bars import Bar, report, say, seconds_of

if TYPE_CHECKING:
    from halfmask.microdata.exploring import Exploration

POLICIES = 60
SECONDS = 60.0
FEW_ROWS = 2_000
POLICY = workloads.ADULT_CSV.with_name("policy.toml")


def explored(**given: int) -> Exploration:
    """Explore Adult by the policy of the example, and write the folder."""
    policy = halfmask.Policy.load(POLICY)
    found = halfmask.explore(workloads.ADULT_CSV, policy, max_points=POLICIES, **given)
    with tempfile.TemporaryDirectory() as folder:
        found.write(Path(folder) / "out")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure once")
    quick = parser.parse_args().quick
    explored(rows=FEW_ROWS)  # compiles, or loads what was compiled
    runs, start = 1 if quick else 3, time.process_time()
    seconds, found = seconds_of(explored, runs=runs)
    cpu = (time.process_time() - start) / runs
    kept = len(found.points)
    say(f"{found.rows:,} rows, {kept} points, {len(found.refused)} refused: {seconds:.1f} s")
    best = len(found.frontier)
    why = f"{cpu:.1f} s of all processors; {kept} points, {best} of them on the frontier"
    name = f"{found.rows:,} rows of Adult, {POLICIES} policies explored and written: seconds"
    report([Bar(name=name, value=seconds, goal=SECONDS, side="at most", why=why)])


if __name__ == "__main__":
    main()

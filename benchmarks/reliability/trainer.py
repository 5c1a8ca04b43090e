"""What a trainer withstands: kills, too much at once, bad input, a compiler.

    python benchmarks/reliability/trainer.py                  # all of it; half an hour
    python benchmarks/reliability/trainer.py --quick          # a few minutes
    python benchmarks/reliability/trainer.py --only overload
    python benchmarks/reliability/trainer.py --only kills --kills 10

Each section runs `halfmask serve` as a process of its own and says in its module, under
`trainers/`, what it does to it. Progress goes to stderr; the last line of stdout is one JSON object
of all bars.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say

#: Each is a module of `trainers/` with `measure(*, quick, seed) -> bars`.
SECTIONS = ("refusals", "making", "overload", "kills")


def main() -> None:
    """Measure, print the bars."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="shorter, with fewer kills")
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--kills", type=int, help="how many kills, whatever else is asked for")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    bars: list[Bar] = []
    for section in asked.only or SECTIONS:
        say(section)
        more: dict[str, Any] = {"kills": asked.kills} if section == "kills" else {}
        measure = importlib.import_module(f"reliability.trainers.{section}").measure
        bars += measure(quick=asked.quick, seed=asked.seed, **more)
    report(bars)


if __name__ == "__main__":
    main()

"""Masking techniques, timed: each with its goal, and with a peer where there is one.

    python benchmarks/speed/masking.py            # every arm; minutes
    python benchmarks/speed/masking.py --quick    # fewer rows; under a minute an arm
    python benchmarks/speed/masking.py --list     # the names of the arms
    python benchmarks/speed/masking.py --only microaggregation

Each file of `masking_arms/` holds the arms of one technique in a dictionary `ARMS`. A new technique
is a new file there; nothing is changed here. Progress goes to stderr. The last line of stdout is
one JSON object of bars.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import masking_arms

from bars import Bar, report, say


def arms() -> dict[str, masking_arms.Arm]:
    """Return the arms of all files, by name."""
    found: dict[str, masking_arms.Arm] = {}
    for module in pkgutil.iter_modules(masking_arms.__path__):
        own: dict[str, masking_arms.Arm] = importlib.import_module(
            f"masking_arms.{module.name}"
        ).ARMS
        twice = found.keys() & own.keys()
        if twice:
            sys.exit(f"two files of masking_arms have an arm called {min(twice)}")
        found |= own
    return found


def main() -> None:
    known = arms()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--only", nargs="*", default=[], choices=sorted(known), help="arms")
    parser.add_argument("--list", action="store_true", help="print the names of the arms")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(known))
        return
    bars: list[Bar] = []
    for name in arguments.only or known:
        say(f"{name} ...")
        bars += known[name](quick=arguments.quick)
    report(bars)


if __name__ == "__main__":
    main()

"""The bars of "Speed and memory", measured side by side in one run.

    python benchmarks/peers.py                      # once: the peers' venvs
    python benchmarks/speed/anonymize.py            # about a quarter of an hour
    python benchmarks/speed/anonymize.py --quick    # under a minute, no peers

Progress goes to stderr; the last line of stdout is one JSON object of bars. It exits with 0
whether or not they hold: a figure of a noisy machine is to be read, not to fail a build.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import beside_c  # after the path
import beside_peers
import first_run
import folder
import growth
import judging
from ours import warm

import workloads
from bars import Bar, report, say
from peers import DEFAULT_INTO

MILLION = 1_000_000


def quick(_into: Path) -> list[Bar]:
    """Adult and 100,000 rows, without peers."""
    return [
        *beside_peers.bars(_into, quick=True),
        *beside_c.bars(
            {
                "adult": workloads.adult,
                "100k rows": lambda: workloads.bootstrapped(MILLION // 10),
            }
        ),
        *growth.bars([MILLION // 10]),
    ]


def full(into: Path) -> list[Bar]:
    """Every bar of the issue."""
    return [
        *beside_peers.bars(into, quick=False),
        *judging.bars(into),
        *beside_c.bars(
            {
                "adult": workloads.adult,
                "1M rows": lambda: workloads.bootstrapped(MILLION),
                "10M rows": lambda: workloads.bootstrapped(10 * MILLION),
            }
        ),
        *growth.bars([MILLION // 10, MILLION, 10 * MILLION]),
        *first_run.bars(),
        *folder.bars(10 * MILLION),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, no peers")
    parser.add_argument("--peers", type=Path, default=DEFAULT_INTO, help="the peers' venvs")
    arguments = parser.parse_args()
    say("warming up: kernels are compiled or loaded before anything is timed")
    warm()
    report((quick if arguments.quick else full)(arguments.peers))


if __name__ == "__main__":
    main()

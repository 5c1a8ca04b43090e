"""What hashing costs a model: beside one-hot rows, by bits, by loss, by how numbers are hashed.

    python benchmarks/peers.py --only vowpalwabbit
    python benchmarks/quality/hashing.py                    # all of it; about five minutes
    python benchmarks/quality/hashing.py --quick            # under a minute, without the peer
    python benchmarks/quality/hashing.py --only bits

Losses are progressive: each row is predicted first, and learnt from then. Vowpal Wabbit gets the
same rows with the same bins in the same order, hashes them by itself, and learns like us: adaptive,
normalized and invariant, at the rate 0.5, once. Each order of the rows but the file's is drawn,
and each has a key of its own; tables have means over orders, bars the worst of them.

Progress and tables go to stderr; the last line of stdout is one JSON object of all bars. The tables
are written to `--out`. Adult comes with the project; the others lie beside it (`../shared/data`),
and a bar that needs one says so where it doesn't.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from sections import run

OUT = Path(__file__).resolve().parents[2] / "build" / "hashing"
#: Each is a module of `hashings/` with `measure(*, quick, orders) -> (bars, table)`.
SECTIONS = ("one_hot", "bits", "losses", "numbers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, without the peer")
    parser.add_argument("--only", nargs="*", default=[], choices=SECTIONS, help="sections")
    parser.add_argument("--orders", type=int, help="orders of the rows: 3, or 1 if quick")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    orders = arguments.orders or (1 if arguments.quick else 3)
    run(
        "quality.hashings",
        arguments.only or SECTIONS,
        arguments.out,
        quick=arguments.quick,
        orders=orders,
    )


if __name__ == "__main__":
    main()

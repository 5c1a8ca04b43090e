"""What a trainer reads of hashed rows, what it can be robbed of, and what spoils it: every bar.

    python benchmarks/quality/hashing_attacks.py                    # all of it
    python benchmarks/quality/hashing_attacks.py --quick            # under a minute
    python benchmarks/quality/hashing_attacks.py --only reading

Progress and tables go to stderr; the last line of stdout is one JSON object of all bars. The tables
are written to `--out`. Adult comes with the project; the Criteo sample is used where it lies
beside it (`../shared/data/ctr`), and a bar that needs it says so where it doesn't.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from sections import main

#: Each is a module of `hashings/` with `measure(*, quick, seed) -> (bars, table)`.
SECTIONS = ("reading", "stealing", "poisoning")

if __name__ == "__main__":
    main(__doc__, "quality.hashings", SECTIONS)

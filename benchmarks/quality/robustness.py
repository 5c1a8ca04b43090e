"""What changed cells and hostile rows do to models of Adult: every bar, each in a section.

    python benchmarks/peers.py --only art
    python benchmarks/quality/robustness.py                    # all of it
    python benchmarks/quality/robustness.py --quick            # under a minute, without the peer
    python benchmarks/quality/robustness.py --only evasion beside_art

Times are seconds of CPU, all threads together: other processes don't count. Progress and tables go
to stderr; the last line of stdout is one JSON object of all bars. The tables are written to
`--out`. Adult comes with the project; a second table is used where it lies beside it
(`../shared/data`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that wait for others count as CPU, too

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from sections import main

#: Each is a module of `hostile/` with `measure(*, quick, seed) -> (bars, table)`.
SECTIONS = (
    "evasion",
    "beside_art",
    "oracles",
    "certificates",
    "poisoning",
    "anonymized",
    "defences",
)

if __name__ == "__main__":
    main(__doc__, "quality.hostile", SECTIONS)

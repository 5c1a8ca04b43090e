"""Who is found in two real streams of events, before and after policies: every bar.

    python benchmarks/quality/event_attacks.py                    # all of it, some minutes
    python benchmarks/quality/event_attacks.py --quick            # about a minute
    python benchmarks/quality/event_attacks.py --only known

Policies are run by `halfmask.events`. What has fewer than 20 people alike is held back here, by
polars, after the policy. A fifth of the people is kept out of each release as the control. Progress
and tables go to stderr; the last line of stdout is one JSON object of all bars. The tables are
written to `--out`. The streams lie beside the project (`../shared/data`), and a bar that needs one
says so where it doesn't.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from sections import main

#: Each is a module of `streams/` with `measure(*, quick, seed) -> (bars, table)`.
SECTIONS = ("known", "second_looks")

if __name__ == "__main__":
    main(__doc__, "quality.streams", SECTIONS)

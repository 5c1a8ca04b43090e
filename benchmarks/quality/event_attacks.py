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

import argparse
import importlib
import json
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say

HERE = Path(__file__).resolve()
OUT = HERE.parents[2] / "build" / "event_attacks"
#: Each is a module of `streams/` with `measure(*, quick, seed) -> (bars, table)`.
SECTIONS = ("known", "second_looks")


def measured(section: str, *, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Return what a section measured; a failure is a bar that doesn't hold."""
    started = time.perf_counter()
    try:
        module = importlib.import_module(f"quality.streams.{section}")
        found: tuple[list[Bar], str] = module.measure(quick=quick, seed=seed)
    except Exception as error:  # noqa: BLE001 # the other sections are still measured
        say(traceback.format_exc())
        why = type(error).__name__
        found = ([Bar(name=section, value=None, goal=0, side="at least", why=why)], "")
    say(f"{section}: {time.perf_counter() - started:.1f} s")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--only", nargs="*", default=[], choices=SECTIONS, help="sections")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    bars: list[Bar] = []
    pages = []
    for section in arguments.only or SECTIONS:
        found, table = measured(section, quick=arguments.quick, seed=arguments.seed)
        bars += found
        pages.append(f"## {section}\n\n{table}\n")
        say(pages[-1])
    (arguments.out / "tables.md").write_text("\n".join(pages), encoding="utf-8")
    said = {bar.name: bar.as_json() for bar in bars}
    (arguments.out / "bars.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    report(bars)


if __name__ == "__main__":
    main()

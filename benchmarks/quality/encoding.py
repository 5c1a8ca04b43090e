"""What encodings keep and what they hide: every bar of the issue, each in a section of its own.

    python benchmarks/quality/encoding.py                      # all of it
    python benchmarks/quality/encoding.py --quick              # about a minute
    python benchmarks/quality/encoding.py --only frequencies power

Progress and tables go to stderr; the last line of stdout is one JSON object of all bars. The
numbers and the tables are written to `--out`, and the frontiers' pictures to docs/figures with
`--figures`. A section that fails is a bar that doesn't hold, and says why.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share
sys.path.append(str(Path(__file__).resolve().parent / "encodings"))  # what sections share

from bars import say

HERE = Path(__file__).resolve()
OUT = HERE.parents[2] / "build" / "encoding"
FIGURES = HERE.parents[2] / "docs" / "figures"
#: Each is a module of `encodings/` with `measure(*, quick, seed)`.
SECTIONS = (
    "round_trip",
    "predictions",
    "series",
    "frequencies",
    "uploads",
    "power",
    "canaries",
    "edge",
)


def measured(section: str, *, quick: bool, seed: int) -> dict[str, Any]:
    """Return what a section measured; a failure is a bar that doesn't hold."""
    # Not as `encodings.x`: Python has a package of that name.
    started = time.perf_counter()
    try:
        module = importlib.import_module(f"quality.encodings.{section}")
        found: dict[str, Any] = module.measure(quick=quick, seed=seed)
    except Exception as error:  # noqa: BLE001 # the other sections are still measured
        say(traceback.format_exc())
        found = {section: {"value": None, "goal": "measured", "holds": False,
                           "why": type(error).__name__}}  # fmt: skip
    say(f"{section}: {time.perf_counter() - started:.1f} s")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--only", nargs="*", default=[], choices=SECTIONS, help="sections")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--figures", action="store_true", help="write docs/figures")
    arguments = parser.parse_args()
    bars: dict[str, Any] = {}
    pages: list[str] = []
    arguments.out.mkdir(parents=True, exist_ok=True)
    for section in arguments.only or SECTIONS:
        found = measured(section, quick=arguments.quick, seed=arguments.seed)
        table = found.pop("tables", "")
        for name, svg in found.pop("figures", {}).items():
            (arguments.out / f"{name}.svg").write_text(svg, encoding="utf-8")
            if arguments.figures:
                (FIGURES / f"{name}.svg").write_text(svg, encoding="utf-8")
        pages.append(f"## {section}\n\n{table}\n")
        say(pages[-1])
        for name, bar in found.items():
            mark = "holds " if bar["holds"] else "MISSED"
            say(f"{mark}  {name}: {bar['value']} (goal {bar['goal']}) {bar.get('why', '')}")
            bars[name] = bar
    (arguments.out / "tables.md").write_text("\n".join(pages), encoding="utf-8")
    (arguments.out / "bars.json").write_text(json.dumps(bars, indent=1), encoding="utf-8")
    print(json.dumps(bars))


if __name__ == "__main__":
    main()

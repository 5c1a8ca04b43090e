"""Run the sections of a benchmark, each a module that measures, and write what they found.

A part of the scripts; not run by itself.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bars import Bar, report, say

REPOSITORY = Path(__file__).resolve().parent.parent


def main(description: str | None, package: str, sections: tuple[str, ...]) -> None:
    """Run the sections that the command line names; their files are those of the package."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="about a minute, without peers")
    parser.add_argument("--only", nargs="*", default=[], choices=sections, help="sections")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / Path(sys.argv[0]).stem)
    given = parser.parse_args()
    run(package, given.only or sections, given.out, quick=given.quick, seed=given.seed)


def run(package: str, sections: Iterable[str], out: Path, **how: Any) -> None:  # noqa: ANN401 # the sections'
    """Measure each section, write its table and all bars to `out`, and report the bars."""
    out.mkdir(parents=True, exist_ok=True)
    bars: list[Bar] = []
    pages = []
    for section in sections:
        found, table = measured(f"{package}.{section}", **how)
        bars += found
        pages.append(f"## {section}\n\n{table}\n")
        say(pages[-1])
    (out / "tables.md").write_text("\n".join(pages), encoding="utf-8")
    said = {bar.name: bar.as_json() for bar in bars}
    (out / "bars.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    report(bars)


def measured(module: str, **how: Any) -> tuple[list[Bar], str]:  # noqa: ANN401 # the section's
    """Return the bars and the table of a section; a failure is a bar that doesn't hold."""
    started, section = time.perf_counter(), module.rsplit(".", maxsplit=1)[-1]
    try:
        found: tuple[list[Bar], str] = importlib.import_module(module).measure(**how)
    except Exception as error:  # noqa: BLE001 # the other sections are still measured
        say(traceback.format_exc())
        why = type(error).__name__
        found = ([Bar(name=section, value=None, goal=0, side="at least", why=why)], "")
    say(f"{section}: {time.perf_counter() - started:.1f} s")
    return found

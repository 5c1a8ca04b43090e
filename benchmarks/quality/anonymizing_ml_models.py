"""Reproduces "Anonymizing Machine Learning Models" (Goldsteen et al. 2020), and goes on from it.

    python benchmarks/peers.py                                       # once: the peers' venvs
    python benchmarks/quality/anonymizing_ml_models.py               # the paper: under an hour
    python benchmarks/quality/anonymizing_ml_models.py --beyond      # then all data and models
    python benchmarks/quality/anonymizing_ml_models.py --quick       # under a minute, no peers
    python benchmarks/quality/anonymizing_ml_models.py --only adult nn --seeds 0 1

Without `--beyond` it measures the paper's figures 2 to 5 and tables 1 and 2. It can be stopped at
any time: what was measured with the same code and settings is not measured twice. Progress goes to
stderr; the last line of stdout is one JSON object of bars. The numbers, tables and figures are
written to `--out`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from ml_models import hour, membership, plan, private, toolkit
from ml_models.datasets import missing_files
from ml_models.models import EPOCHS, LARGE_EPOCHS
from ml_models.results import write_results
from ml_models.running import Run, run
from ml_models.store import commit, version_of

from bars import report, say

OUT = Path(__file__).resolve().parents[2] / "build" / "anonymizing_ml_models"
SEEDS = (0, 1, 2, 3, 4)
QUICK_ROWS = 6_000
QUICK = (("accuracy", "adult", "12", "nn"), ("attribute", "nursery", "8", "dt"))


def chosen(arguments: argparse.Namespace) -> tuple[list[plan.Group], list[str]]:
    """Return what is to be measured, and what can't be, with why."""
    skipped = [f"{name}: not in the library" for name in membership.absent()]
    without: set[str] = set()
    if arguments.quick or not toolkit.available():
        without |= {"toolkit", "toolkit-qi"}
        skipped.append("ai-privacy-toolkit: --quick, or no venv (benchmarks/peers.py)")
    files = missing_files()
    skipped += [f"{data}: no {file}" for data, file in files.items()]
    groups = []
    beyond = arguments.beyond or bool(arguments.only)
    for group in plan.groups(arguments.seeds, beyond=beyond):
        if group.data in files or not _asked(group, arguments):
            continue
        why = "--quick" if arguments.quick else private.absent(group.model)
        private_ones = {name for name, _ in group.cells if name.startswith("dp ")}
        if why and private_ones:
            skipped.append(f"dp {group.model}: {why}")
        groups.append(group.without(without | (private_ones if why else set())))
    return [group for group in groups if group.cells], list(dict.fromkeys(skipped))


def _asked(group: plan.Group, arguments: argparse.Namespace) -> bool:
    if arguments.quick:
        return (group.kind, group.data, group.qi, group.model) in QUICK
    words = (group.kind, group.data, group.qi, group.model)
    return all(word in words for word in arguments.only)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, no peers")
    parser.add_argument("--beyond", action="store_true", help="what the paper hasn't, too")
    parser.add_argument("--only", nargs="*", default=[], help="words such as adult, 12, nn")
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--budget-minutes", type=float, default=240.0)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    started = time.time()
    most_rows = QUICK_ROWS if arguments.quick else None
    if arguments.quick:
        arguments.seeds = arguments.seeds[:1]
        arguments.out = arguments.out / "quick"
    settings: dict[str, object] = {"most_rows": most_rows, "epochs": [EPOCHS, LARGE_EPOCHS]}
    how = Run(
        file=arguments.out / "cells.jsonl",
        version=version_of(settings),
        cache=arguments.out / "cache",
        most_rows=most_rows,
        deadline=started + 60 * arguments.budget_minutes,
    )
    code = commit()  # as the version: what is changed while it runs doesn't measure
    groups, skipped = chosen(arguments)
    for line in skipped:
        say(f"SKIPPED {line}")
    if not groups:
        parser.error("nothing to measure is called all of --only's words, or its data aren't there")
    answered, begun = hour.peers_answered(how.cache), bool(how.store().lines)
    left = run(how, groups)
    for name in left:
        say(f"NOT DONE {name}")
    whole = not (begun or left or skipped or arguments.quick or arguments.only or arguments.beyond)
    if whole and set(arguments.seeds) >= set(SEEDS):
        hour.keep(how.store(), (time.time() - started) / 60, answered=answered)
    report(write_results(how, arguments.out, skipped, left, time.time() - started, code))


if __name__ == "__main__":
    main()

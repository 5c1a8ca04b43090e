"""Guided beside ai-privacy-toolkit on Adult, and on a million rows.

    python benchmarks/peers.py --only ai-privacy-toolkit   # once: its venv
    python benchmarks/speed/guided.py                      # about five minutes
    python benchmarks/speed/guided.py --quick              # under a minute, without the peer

Ours is timed from a frame in memory and the labels to the recoded frame in memory (fit and
transform), led by the label as the peer is. The peer gets the same ten columns and k = 10. It is
run once where a run takes longer than 20 s. Progress goes to stderr; the last line of stdout is one
JSON object of bars.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import rivals  # after the path

import workloads
from bars import Bar, report, say, seconds_of
from halfmask.anonymize import Anonymizer, Centroid, Guided
from halfmask.guarantees import KAnonymity
from peers import DEFAULT_INTO

K = 10
PEER = "ai-privacy-toolkit"
TIMES_FASTER = 200.0
MILLION = 1_000_000
MILLION_SECONDS = 3.0
QUICK_ROWS = 100_000


def seconds_for(rows: int | None) -> float:
    """Time our fit and transform of Adult, or of as many bootstrapped rows."""
    frame = workloads.adult() if rows is None else workloads.bootstrapped(rows)
    table, labels = frame.drop(workloads.LABEL), workloads.label_codes(frame)

    def run() -> object:
        anonymizer = Anonymizer(
            guarantees=[KAnonymity(k=K)],
            method=Guided(),
            quasi_identifiers=list(workloads.QUASI_IDENTIFIERS),
            recoding=Centroid(),
        )
        return anonymizer.fit_transform(table, labels)

    run()  # compiles, or loads what was compiled
    seconds, _ = seconds_of(run)
    say(f"{frame.height:>10,} rows guided, k={K}: {seconds:.4f} s")
    return seconds


def against_the_peer(ours: float, into: Path, *, quick: bool) -> Bar:
    name = f"adult k={K} guided fit and transform: times faster than {PEER}"
    theirs = None if quick else rivals.anonymize(PEER, workloads.adult(), k=K, into=into)
    if theirs is None:
        why = "--quick" if quick else "it has no venv, or failed"
        return Bar(name=name, value=None, goal=TIMES_FASTER, side="at least", why=why)
    said = f"{theirs.seconds:.1f} s and {theirs.peak_megabytes:.0f} MB against {ours:.4f} s"
    return Bar(name=name, value=theirs.seconds / ours, goal=TIMES_FASTER, side="at least", why=said)


def a_million(*, quick: bool) -> Bar:
    return Bar(
        name=f"{MILLION:,} rows k={K} guided fit and transform: seconds",
        value=None if quick else seconds_for(MILLION),
        goal=MILLION_SECONDS,
        side="at most",
        why=f"--quick: {QUICK_ROWS:,} rows took {seconds_for(QUICK_ROWS):.3f} s" if quick else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, without the peer")
    parser.add_argument("--peers", type=Path, default=DEFAULT_INTO, help="the peers' venvs")
    arguments = parser.parse_args()
    ours = seconds_for(None)
    bar = against_the_peer(ours, arguments.peers, quick=arguments.quick)
    report([bar, a_million(quick=arguments.quick)])


if __name__ == "__main__":
    main()

"""The first run on a machine compiles; the second doesn't. Both are whole commands.

A part of `anonymize.py`; not run by itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from command import Run, halfmask, policy

import workloads
from bars import Bar, say

MOST_SECONDS = 20.0
MOST_OF_FIRST = 0.5  # the second run may take at most this share of the first: the cache works
WORD = "compil"
METHODS = ("mondrian", "guided")


def bars() -> list[Bar]:
    """Protect Adult with both methods by an empty cache, then once more."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        workloads.adult().write_csv(folder / "adult.csv")
        environment = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        cold, warm = (
            [_protect(folder, method, f"{method}-{turn}", environment) for method in METHODS]
            for turn in ("cold", "warm")
        )
    first, second = (sum(run.seconds for run in runs) for runs in (cold, warm))
    say(f"first run {first:.1f} s, second {second:.1f} s (each: Mondrian, then Guided)")
    failed = any(run.exit_code for run in (*cold, *warm))
    why = "a command failed" if failed else ""
    announced = float(WORD in cold[0].stderr.lower() and WORD not in warm[0].stderr.lower())
    values = [None, None, None] if failed else [first - second, second / first, announced]
    return [
        Bar(
            name="compilation of the first run: seconds",
            value=values[0],
            goal=MOST_SECONDS,
            side="at most",
            why=why,
        ),
        Bar(
            name="second run over the first",
            value=values[1],
            goal=MOST_OF_FIRST,
            side="at most",
            why=why,
        ),
        Bar(
            name="compilation is announced on the first run alone",
            value=values[2],
            goal=1.0,
            side="at least",
            why=why,
        ),
    ]


def _protect(folder: Path, method: str, out: str, environment: dict[str, str]) -> Run:
    where = folder / f"{method}.toml"
    where.write_text(policy(method, sensitive=["occupation"]), encoding="utf-8")
    run = halfmask("protect", folder / "adult.csv", where, folder / out, environment=environment)
    if run.exit_code != 0:
        say(run.stderr)
    return run

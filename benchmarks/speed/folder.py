"""`halfmask protect` on a folder of Parquet files: from files to verified files, in 2 GB.

A part of `anonymize.py`; not run by itself.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from command import halfmask, policy

import workloads
from bars import Bar, say

MOST_SECONDS = 60.0
MOST_GIGABYTES = 2.0
CACHE = workloads.REPOSITORY / "build" / "workloads"


def bars(rows: int, *, method: str = "mondrian") -> list[Bar]:
    """Seconds and peak memory of the whole command, then of a `verify` on its own."""
    say(f"{rows:,} rows as a folder of Parquet: made unless it is there")
    data = workloads.parquet_folder(rows, CACHE / f"adult-{rows}")
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        folder = Path(temporary)
        (folder / "policy.toml").write_text(policy(method), encoding="utf-8")
        run = halfmask("protect", data, folder / "policy.toml", folder / "out")
        again = halfmask("verify", folder / "out") if run.exit_code == 0 else None
        shutil.rmtree(folder / "out", ignore_errors=True)
    name = f"protect {rows:,} rows of Parquet ({method})"
    if again is None or again.exit_code != 0:
        say(f"{name}: FAILED\n{run.stderr}")
        value, memory, why = None, None, "the command failed"
    else:
        say(
            f"{name}: {run.seconds:.1f} s, {run.peak_gigabytes:.2f} GB;  verify once more: "
            f"{again.seconds:.1f} s, {again.peak_gigabytes:.2f} GB"
        )
        value, memory, why = run.seconds, run.peak_gigabytes, ""
    return [
        Bar(name=f"{name}: seconds", value=value, goal=MOST_SECONDS, side="at most", why=why),
        Bar(name=f"{name}: peak GB", value=memory, goal=MOST_GIGABYTES, side="at most", why=why),
    ]

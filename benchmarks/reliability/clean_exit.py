"""Run short scripts again and again, and count those that don't end well.

    python benchmarks/reliability/clean_exit.py           # 200 runs of each; about half an hour
    python benchmarks/reliability/clean_exit.py --quick   # 3 runs of each; under a minute

Each script is a process of its own that reads a table of sixty rows and ends at once: each file
format, a read that is broken off, and `describe`, `protect`, `hash` and `Codec`. A thread that
outlives the interpreter aborts such a process (SIGABRT) now and then. A run fails if it exits with
anything but 0, or writes to stderr. The runs take turns: all see the machine quiet and busy.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

from bars import Bar, report, say  # after the path

READ = "from halfmask.data import open_table; assert open_table({name!r}).read().height == 60"
FILES = ["t.csv", "t.tsv", "t.csv.gz", "t16.csv", "t.parquet", "t.arrow", "t.arrows", "t.jsonl"]
JOBS = {
    "a read broken off": "import halfmask.data as d; next(d.open_table('big.csv').batches(10))",
    "describe": "import halfmask as hm; hm.describe('t.csv')",
    "protect": (
        "import halfmask as hm; from halfmask.data import open_table\n"
        "hm.protect('t.csv', hm.Policy.load('policy.toml'))"
    ),
    "hash": (
        "import halfmask as hm; from halfmask.data import open_table\n"
        "from halfmask.vault import Secret\n"
        "rows = open_table('t.csv').read()\n"
        "hm.KeyedHasher(secret=Secret.from_bytes(bytes(32)), bits=12).fit_transform(rows)"
    ),
    "Codec": (
        "import halfmask as hm; from halfmask.data import open_table\n"
        "hm.Codec(learner='trees').fit(open_table('t.csv').read())"
    ),
}
POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
sex = { role = "quasi_identifier", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 5
"""


def write_tables(folder: Path) -> None:
    """Write one table of sixty rows in each format, and a larger one."""
    rows = random.Random(1)  # noqa: S311 # made-up rows
    table = pl.DataFrame(
        {"age": [rows.randint(20, 69) for _ in range(60)], "sex": ["f", "m", "f"] * 20}
    )
    table.write_csv(folder / "t.csv")
    table.write_csv(folder / "t.tsv", separator="\t")
    (folder / "t16.csv").write_text(table.write_csv(), encoding="utf-16")
    subprocess.run(["gzip", "-k", folder / "t.csv"], check=True)
    table.write_parquet(folder / "t.parquet")
    table.write_ipc(folder / "t.arrow")
    table.write_ipc_stream(folder / "t.arrows")
    table.write_ndjson(folder / "t.jsonl")
    pl.concat([table] * 50_000).write_csv(folder / "big.csv")
    (folder / "policy.toml").write_text(POLICY)


def ends_well(name: str, script: str, folder: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=folder, capture_output=True, check=False
    )
    if done.returncode or done.stderr:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        say(f"{name}: exit {done.returncode}: {''.join(last)}")
    return not (done.returncode or done.stderr)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="3 runs of each")
    arguments.add_argument("--runs", type=int, default=200, help="runs of each script")
    chosen = arguments.parse_args()
    runs = 3 if chosen.quick else chosen.runs
    scripts = {f"reading {name}": READ.format(name=name) for name in FILES} | JOBS
    failed = dict.fromkeys(scripts, 0)
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(2) as pool:
        write_tables(Path(made))
        for turn in range(runs):
            ends = pool.map(lambda it: ends_well(*it, Path(made)), scripts.items())
            for name, well in zip(scripts, ends, strict=True):
                failed[name] += not well
            if turn % 10 == 9:
                say(f"{turn + 1} of {runs} runs of each, {sum(failed.values())} failed")
    report(
        [
            Bar(name=f"failed of {runs} runs: {name}", value=count, goal=0, side="at most")
            for name, count in failed.items()
        ]
    )


if __name__ == "__main__":
    main()

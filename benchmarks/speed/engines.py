"""The same release in threads, on two Dask workers and on Spark: seconds a row, and what grows.

    python benchmarks/speed/engines.py            # 1M and 10M rows; about ten minutes, 6 GB of disk
    python benchmarks/speed/engines.py --quick    # 100,000 and 400,000 rows, without Spark
    python benchmarks/speed/engines.py --rows 1000000 20000000

Each arm is the command `halfmask protect FOLDER POLICY OUT --engine ADDRESS` with k, l and t, from
Parquet files to verified files. The two workers of Dask run before the clock starts, as a cluster
does; Spark starts within it. Both cores are everybody's: local uses two threads, each cluster two
processes. `--key-file` is the same, so that all arms must write the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import polars as pl
from command import Run, halfmask, policy
from distributed import Client

import workloads
from bars import Bar, report, say
from halfmask.engines import connect

CACHE = workloads.REPOSITORY / "build" / "workloads"
MOST_TIMES_LOCAL = 1.3
MOST_TIMES_SMALL = 1.3
#: In millions: one worker merges the rows that classes are planned on, two samples at most.
MOST_PLANNED = 24
MOST_START_SECONDS = 60.0
WARMING_ROWS = 20_000
#: A rule of one cell, one of a whole column, and one that a key decides.
MASKS = {
    "age": 'role = "quasi_identifier"\nkind = "numeric"\nmask = { name = "round", base = 5 }',
    "hours-per-week": (
        'role = "sensitive"\nkind = "numeric"\nmask = { name = "tails", high_share = 0.02 }'
    ),
    "occupation": 'role = "insensitive"\nkind = "text"\nmask = { name = "token" }',
}
T_CLOSENESS = """[[guarantees]]
model = "t-closeness"
column = "income"
distance = "equal"
t = 0.4
"""


def main() -> None:
    """Run the arms of the largest table, and Dask alone on the smaller one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables, without Spark")
    parser.add_argument("--rows", nargs=2, type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--spark", action="store_true", help="with Spark, in a quick run too")
    given = parser.parse_args()
    small, large = (100_000, 400_000) if given.quick else given.rows
    masked = small if given.quick else large
    say(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=_made(CACHE)) as temporary:
        arms = _Arms(Path(temporary))
        with _dask(Path(temporary)) as address:
            for engine in ("local", address):  # loops are compiled once, and cached
                arms.run(engine, WARMING_ROWS)
            short, _ = arms.run(address, small)
            local, local_files = arms.run("local", large)
            dask, dask_files = arms.run(address, large)
            largest = _gigabytes_of_workers(address)
            masked_files = arms.run("local", masked, "masks")[1]
            dask_masked_files = arms.run(address, masked, "masks")[1]
        bars = [
            _ratio(f"Dask, {large:,} rows: seconds over local", dask, local, MOST_TIMES_LOCAL),
            _ratio(
                f"Dask: seconds a row, {large:,} rows over {small:,}",
                dask,
                short,
                MOST_TIMES_SMALL,
                rows=large / small,
            ),
            _same("Dask: the bytes of local", dask_files, local_files),
            _same("Dask: the bytes of local, masks alone", dask_masked_files, masked_files),
        ]
        if not given.quick:  # whose tables are smaller than one part
            most = _stated_gigabytes(large)
            bars.append(
                Bar(
                    name=f"Dask: memory of a worker at its peak, {large:,} rows, over the stated",
                    value=largest / most,
                    goal=1.0,
                    side="at most",
                    why=f"{largest:.2f} GB of {most:.2f}; docs/how-to/clusters.md has the formula",
                )
            )
        if given.spark or not given.quick:
            spark, spark_files = arms.run("spark://local[2]", large)
            started = _seconds_of_start()
            say(f"Spark alone: {started:.1f} s until two workers have answered")
            bars += [
                Bar(
                    name="Spark: seconds of a cold start",
                    value=started,
                    goal=MOST_START_SECONDS,
                    side="at most",
                ),
                _same("Spark: the bytes of local", spark_files, local_files),
                _same(
                    "Spark: the bytes of local, masks alone",
                    arms.run("spark://local[2]", masked, "masks")[1],
                    masked_files,
                ),
            ]
            say(f"Spark over local: {spark.seconds / local.seconds:.2f}, its start included")
    say(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    _extrapolate(small, short.seconds, large, dask.seconds)
    report(bars)


class _Arms:
    """Runs the command on one engine after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n = 0
        (folder / "key").write_bytes(bytes(range(32)))
        text = policy("mondrian", sensitive=[workloads.LABEL])
        head, method, tail = text.partition("[method]")
        (folder / "classes.toml").write_text(head + T_CLOSENESS + method + tail, encoding="utf-8")
        columns = (*workloads.QUASI_IDENTIFIERS, workloads.LABEL)
        plain = 'role = "insensitive"\nkind = "categorical"'
        lines = [f'[columns."{name}"]\n{MASKS.get(name, plain)}' for name in columns]
        text = "\n".join(["halfmask = 1", *lines, '[output]\nformat = "parquet"\n'])
        (folder / "masks.toml").write_text(text, encoding="utf-8")

    def run(self, address: str, rows: int, of: str = "classes") -> tuple[Run, list[str]]:
        """Return what a run took, and the hashes of its files."""
        data = workloads.parquet_folder(rows, CACHE / f"adult-{rows}")
        self._n += 1
        out = self._folder / f"out-{self._n}"
        words = ["protect", data, self._folder / f"{of}.toml", out, "--engine", address]
        run = halfmask(*words, "--key-file", self._folder / "key")
        if run.exit_code:
            say(run.stderr)
            raise SystemExit(1)
        files = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"]
        shutil.rmtree(out)
        say(
            f"{address.partition(':')[0]}, {of}, {rows:,} rows: {run.seconds:.1f} s, "
            f"{run.peak_gigabytes:.2f} GB in the process of the command"
        )
        return run, [each["sha256"] for each in files]


@contextmanager
def _dask(folder: Path) -> Iterator[str]:
    """Start a scheduler and two worker processes with a thread each."""
    file = folder / "scheduler.json"
    python = [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where = ["--scheduler-file", str(file), "--dashboard-address", ":0"]
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *where],
        cwd=folder,
        **quiet,
    )
    workers = ["--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder)]
    working = subprocess.Popen(
        [*python, "distributed.cli.dask_worker", *workers, *where], cwd=folder, **quiet
    )
    try:
        while not file.exists():
            time.sleep(0.2)
        with Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
            address = client.scheduler.address
        yield address.replace("tcp", "dask")
    finally:
        working.terminate()
        working.wait()
        scheduler.terminate()
        scheduler.wait()


def _gigabytes_of_workers(address: str) -> float:
    """Return the most that a worker has held since it started."""
    with Client(address.replace("dask", "tcp", 1), timeout=60) as client:
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    largest = max(peaks.values()) / 1e6
    say(f"a worker of Dask has held at most {largest:.2f} GB")
    return largest


def _stated_gigabytes(rows: int) -> float:
    """Return what `docs/how-to/clusters.md` says that a worker with one thread takes."""
    part = pl.read_parquet(next((CACHE / f"adult-{rows}").iterdir())).estimated_size() / 1e9
    planned = 0.013 * len(workloads.QUASI_IDENTIFIERS) * min(rows / 1e6, MOST_PLANNED)
    return 5 * part + planned + 0.3


def _seconds_of_start() -> float:
    """Return how long a session of Spark takes until both workers have imported halfmask."""
    start = time.perf_counter()
    with connect("spark://local[2]"):
        return time.perf_counter() - start


def _ratio(name: str, run: Run, other: Run, goal: float, rows: float = 1.0) -> Bar:
    value = run.seconds / rows / other.seconds
    return Bar(name=name, value=value, goal=goal, side="at most")


def _same(name: str, files: list[str], others: list[str]) -> Bar:
    return Bar(name=name, value=float(files == others), goal=1.0, side="at least")


def _extrapolate(small: int, short: float, large: int, long: float) -> None:
    """Show what larger tables would take on two workers, on the line through both."""
    slope = (long - short) / (large - small)
    if slope <= 0:
        say("on paper: nothing, for the smaller table took longer; the machine was busy")
        return
    for rows in (100_000_000, 1_000_000_000):
        minutes = (long + slope * (rows - large)) / 60
        say(f"on paper, {rows:,} rows on two workers: {minutes:.0f} min")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    main()

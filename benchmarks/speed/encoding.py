"""Files through a codec beside plain reading and writing of the same file, and their memory.

    python benchmarks/speed/encoding.py            # 10 million rows; a quarter of an hour, 4 GB
    python benchmarks/speed/encoding.py --quick    # 500,000 rows, no memory; about a minute

Two tables. "adult": Adult's ten quasi-identifiers and the label, bootstrapped and jittered, nine of
its eleven columns texts. "measures": six floats of 0 to 4 decimals, one with missing cells, two
integers, a date, a category, and a float to predict.

Plain is the faster of two: halfmask's own source and writer, and a loop of pyarrow's `iter_batches`
and `ParquetWriter` at its defaults, both with the batches that the codec has. Everything is timed
in turns, so that a minute in which the machine is slow falls on all; the fastest turn counts.
Decoding is held against plain reading and writing of the table at home, too, though it reads the
encoded file, which is larger. Polars' `sink_parquet`, which makes batches of its own on all cores,
is shown beside and isn't the bar.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import polars as pl
import pyarrow.parquet as pq
from command import LAUNCHER

import workloads
from bars import Bar, report, say
from halfmask.data import open_table, write_table
from halfmask.encode import Codec, decode_file, encode_file, fit_file

SHARE = 0.30
MOST_GROWTH = 1.25
MILLION = 1_000_000
QUICK_ROWS = 500_000
BATCH = 1 << 18
CACHE = workloads.REPOSITORY / "build" / "workloads"
ONCE = Path(__file__).resolve().parent / "encode_once.py"
TARGETS = {"adult": workloads.LABEL, "measures": "outcome"}
GROUPS = {"adult": "sex", "measures": "group"}
PROFILES: dict[str, dict[str, Any]] = {
    "trees": {"learner": "trees"},
    "trees, split": {"learner": "trees", "split": True},
    "distances": {"learner": "distances"},
    "linear": {"learner": "linear"},
    "linear, by group": {"learner": "linear", "by": True},
    "networks": {"learner": "networks"},
    "networks, strength 1": {"learner": "networks", "strength": 1.0},
}


def measures(n_rows: int) -> Iterator[pl.DataFrame]:
    """Rows of numbers, in batches of a million."""
    names = ["alpha", "beta", "gamma", "delta", "a rather long name of a group"]
    for number, start in enumerate(range(0, n_rows, MILLION)):
        rows = min(MILLION, n_rows - start)
        rng = np.random.default_rng([workloads.SEED, number])
        floats = {
            f"measure {i}": np.round(rng.normal(100 * i, 10, rows), digits)
            for i, digits in enumerate([0, 1, 2, 3, 4, 2])
        }
        gone = pl.Series(rng.random(rows) < 0.05)
        frame = pl.DataFrame(floats).with_columns(
            age=rng.integers(0, 100, rows),
            fee=rng.integers(0, 100_000, rows),
            day=pl.Series(rng.integers(10_000, 20_000, rows).astype(np.int32)).cast(pl.Date),
            group=pl.Series(names)[rng.integers(0, len(names), rows)],
            outcome=np.round(rng.normal(0, 1, rows), 3),
        )
        yield frame.with_columns(pl.when(~gone).then("measure 1").alias("measure 1"))


def made(name: str, rows: int) -> Path:
    """Write a table unless it is there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path: Path = CACHE / f"encoding-{name}-{rows}.parquet"
    if not path.exists():
        say(f"making {name}, {rows:,} rows")
        write_table(workloads.batches(rows) if name == "adult" else measures(rows), path)
    return path


def through_us(table: Path, out: Path) -> None:
    """Read and write with halfmask's source and writer."""
    write_table(open_table(table).batches(BATCH), out, format="parquet", overwrite=True)


def through_pyarrow(table: Path, out: Path) -> None:
    """Read and write with pyarrow."""
    file = pq.ParquetFile(table)
    with pq.ParquetWriter(out, file.schema_arrow) as writer:
        for batch in file.iter_batches(BATCH):
            writer.write_batch(batch)


def through_polars(table: Path, out: Path) -> None:
    """Read and write with polars' own engine."""
    pl.scan_parquet(table).sink_parquet(out)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def fitted(name: str, settings: dict[str, Any], table: Path) -> Codec:
    """Fit one profile to a table."""
    named = settings | ({"by": GROUPS[name]} if "by" in settings else {})
    codec = Codec(**named, precision="column")
    taken = seconds(lambda: fit_file(codec, table, target=TARGETS[name]))
    say(f"  fit {name} {settings}: {taken:.1f} s")
    return codec


def speeds(name: str, rows: int, turns: int, folder: Path) -> list[Bar]:
    """Encode and decode one table by every profile, beside plain reading and writing."""
    table = made(name, rows)
    codecs = {profile: fitted(name, settings, table) for profile, settings in PROFILES.items()}
    runs: dict[str, Callable[[], object]] = {
        "halfmask": lambda: through_us(table, folder / "plain"),
        "pyarrow": lambda: through_pyarrow(table, folder / "plain"),
        "polars": lambda: through_polars(table, folder / "plain"),
    }
    sent, back = folder / "sent.parquet", folder / "back.parquet"
    for profile, codec in codecs.items():
        runs[f"encode {profile}"] = partial(encode_file, codec, table, sent, overwrite=True)
        runs[f"decode {profile}"] = partial(decode_file, codec, sent, back, overwrite=True)
    taken: dict[str, list[float]] = {what: [] for what in runs}
    for turn in range(turns):
        for what, run in runs.items():
            taken[what].append(seconds(run))
            if what.startswith("decode") and not turn:
                checked(table, back, rows)
    best = {what: min(each) for what, each in taken.items()}
    plain = min(best["halfmask"], best["pyarrow"])
    for what in runs:
        # Every turn is shown: where they differ by much, the machine was busy.
        turned = ", ".join(f"{each:.2f}" for each in taken[what])
        share = plain / best[what]
        say(f"  {rows:,} rows {name} {what}: {share:.2f} of plain; seconds by turn {turned}")
    return [
        Bar(
            name=f"{rows:,} rows of {name}, {what}: share of plain read and write",
            value=plain / best[what],
            goal=SHARE,
            side="at least",
            why=f"{best[what]:.2f} s beside {plain:.2f} s, fastest of {turns} turns",
        )
        for what in runs
        if what.startswith(("encode", "decode"))
    ]


def checked(table: Path, back: Path, rows: int) -> None:
    """Raise unless the first and the last rows came back; tests look at all."""
    columns = sorted(pl.read_parquet_schema(table))
    for start in (0, rows - 1000):
        was, now = (
            pl.scan_parquet(path).select(columns).slice(start, 1000).collect()
            for path in (table, back)
        )
        floats = [name for name, dtype in was.schema.items() if dtype.is_float()]
        same = was.drop(floats).equals(now.drop(floats))
        near = all(
            np.allclose(was[name].to_numpy(), now[name].to_numpy(), atol=1e-9, equal_nan=True)
            for name in floats
        )
        if not (same and near):
            message = "the decoded rows are not those that were encoded"
            raise ValueError(message)


def peak(task: str, table: Path, plan: Path, out: Path) -> float:
    """Gigabytes that a process took at most."""
    command: list[str | Path] = [
        sys.executable,
        "-S",
        LAUNCHER,
        sys.executable,
        ONCE,
        task,
        table,
        plan,
        out,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    if said["exit_code"]:
        raise RuntimeError(done.stderr)
    return float(said["peak_gigabytes"])


def memory(name: str, rows: tuple[int, int], folder: Path) -> list[Bar]:
    """Peak memory of each step on a table and on one of ten times its rows."""
    found = []
    for profile in ("trees", "linear"):
        codec = fitted(name, PROFILES[profile], made(name, rows[0]))
        plan = folder / "plan"
        plan.write_bytes(codec.to_bytes())
        peaks: dict[str, list[float]] = {"fit": [], "encode": [], "decode": []}
        for n_rows in rows:
            sent = folder / "sent.parquet"
            peaks["fit"].append(peak("fit", made(name, n_rows), plan, sent))
            peaks["encode"].append(peak("encode", made(name, n_rows), plan, sent))
            peaks["decode"].append(peak("decode", sent, plan, folder / "back.parquet"))
        for task, (small, large) in peaks.items():
            say(f"  {name} {profile} {task}: {small:.2f} GB and {large:.2f} GB")
            found.append(
                Bar(
                    name=f"{rows[0]:,} to {rows[1]:,} rows of {name}, {task} {profile}: "
                    "growth of peak memory",
                    value=large / small,
                    goal=MOST_GROWTH,
                    side="at most",
                    why=f"{small:.2f} GB and {large:.2f} GB",
                )
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="500,000 rows, no memory")
    parser.add_argument("--rows", type=int, help="other than 10 million")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    rows = options.rows or (QUICK_ROWS if options.quick else 10 * MILLION)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        folder = Path(temporary)
        bars = [bar for name in TARGETS for bar in speeds(name, rows, options.turns, folder)]
        if not options.quick:
            for name in TARGETS:
                bars += memory(name, (rows // 10, rows), folder)
    report(bars)


if __name__ == "__main__":
    main()

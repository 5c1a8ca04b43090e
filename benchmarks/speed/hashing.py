"""Keyed hashing beside a bare SipHash loop in C, and of Parquet with 39 columns, with its reading.

    python benchmarks/speed/hashing.py            # 4 million rows; about three minutes, 2 GB
    python benchmarks/speed/hashing.py --quick    # 500,000 rows; under a minute

Texts: a column of texts of 1 to 12 bytes, or of 8, each another one, on one thread. "Bare" is
`siphash_baseline.c`, compiled here with -O3 for this machine: it writes 64-bit hashes into memory.
Ours is the whole of `HashPlan.rows`, from an Arrow column to checked `HashedRows` of 22 bits. Both
run in turns, and the fastest turn counts.

Records: 13 numbers, a tenth of them missing, and 26 categories of Zipf's law with as many distinct
values as Criteo's, in Parquet as polars writes it. Hashing includes reading the file and binning by
fitted quantiles, on all processors; what is made is dropped batch by batch. Writing hashed rows to
a file, and hashing of the same records from CSV, are shown and aren't bars.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all benchmarks share

import numpy as np  # after the path
import polars as pl
import pyarrow as pa

import workloads
from bars import Bar, report, say
from halfmask.hashing import FileHasher, HasherSettings, TableReading
from halfmask.hashing._plan import fit_plan
from halfmask.hashing._reading import open_readable
from halfmask.hashing._slots import HasherKeys
from halfmask.vault import Secret

SHARE = 0.70
RECORDS = 1_000_000
CACHE = workloads.REPOSITORY / "build" / "workloads"
SOURCE = Path(__file__).resolve().parent / "siphash_baseline.c"
SECRET = Secret.from_bytes(bytes(range(32)))
#: What is hashed at once, on one thread.
TEXTS = 1 << 17
# Distinct values of the categories of Criteo's week of clicks.
DISTINCT = (
    1460, 583, 10_131_227, 2_202_608, 305, 24, 12_517, 633, 3, 93_145, 5683, 8_351_593, 3194, 27,
    14_992, 5_461_306, 10, 5652, 2173, 4, 7_046_547, 18, 15, 286_181, 105, 142_572,
)  # fmt: skip
BATCH = 1 << 18


def records(rows: int) -> pl.DataFrame:
    """13 numbers and 26 categories."""
    rng = np.random.default_rng(workloads.SEED)
    columns: dict[str, pl.Series] = {}
    for i in range(13):
        number = pl.Series(np.floor(rng.lognormal(2, 2, rows)).astype(np.int64))
        gone = pl.Series(rng.random(rows) < 0.1)
        columns[f"number {i}"] = pl.select(pl.when(~gone).then(number)).to_series()
    for i, distinct in enumerate(DISTINCT):
        ranks = np.minimum(rng.zipf(1.3, rows) - 1, distinct - 1).astype(np.uint64)
        codes = (ranks + np.uint64(i << 32)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
        words, places = np.unique(codes, return_inverse=True)
        columns[f"category {i}"] = pl.Series([f"{word:08x}" for word in words.tolist()])[places]
    return pl.DataFrame(columns)


def made(rows: int) -> tuple[Path, Path]:
    """Write the records, as Parquet and as CSV, unless they are there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    parquet, csv = (CACHE / f"records-{rows}.{end}" for end in ("parquet", "csv"))
    if not (parquet.exists() and csv.exists()):
        say(f"making {rows:,} records")
        frame = records(rows)
        frame.write_parquet(parquet, row_group_size=BATCH)
        frame.write_csv(csv)
    return parquet, csv


def fastest(runs: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Return the seconds of the fastest turn of each, run in turns after a warm-up."""
    for run in runs.values():
        run()
    taken: dict[str, list[float]] = {what: [] for what in runs}
    for _ in range(turns):
        for what, run in runs.items():
            start = time.perf_counter()
            run()
            taken[what].append(time.perf_counter() - start)
    return {what: min(each) for what, each in taken.items()}


def bare(folder: Path) -> ctypes.CDLL | None:
    """Compile the loop in C for this machine."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "siphash.so"
    flags = ["-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, SOURCE], check=True)
    return ctypes.CDLL(str(library))


def texts(lengths: tuple[int, int], turns: int, folder: Path) -> Bar:
    """Hash short texts on one thread, beside the loop in C."""
    rng = np.random.default_rng(workloads.SEED)
    sizes = rng.integers(*lengths, TEXTS)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    data = rng.integers(97, 123, bounds[-1]).astype(np.uint8)
    column = pa.StringArray.from_buffers(TEXTS, pa.py_buffer(bounds), pa.py_buffer(data))
    batch = pa.record_batch({"a": column})
    plan = fit_plan([batch], settings=HasherSettings(), secret=SECRET)
    key0, key1 = HasherKeys(secret=SECRET, name="hasher").of("value", "a")
    hashes = np.empty(TEXTS, np.uint64)
    runs: dict[str, Callable[[], object]] = {
        "ours": lambda: plan.rows(batch),
    }
    library = bare(folder)
    if library is not None:
        words = [ctypes.c_uint64(int(key)) for key in (key0, key1)]
        places = [ctypes.c_void_p(it.ctypes.data) for it in (bounds, data, hashes)]
        runs["bare"] = lambda: library.hash_texts(*places[:2], *words, places[2], TEXTS)
    best = fastest(runs, turns)
    rates = {what: TEXTS / each / 1e6 for what, each in best.items()}
    shown = ", ".join(f"{what} {rate:.1f}" for what, rate in rates.items())
    say(f"  texts of {lengths[0]} to {lengths[1] - 1} bytes, millions/s on one thread: {shown}")
    if library is not None:
        runs["bare"]()
        expected = (hashes & np.uint64((1 << 22) - 1)).astype(np.uint32)
        if not np.array_equal(plan.rows(batch).indices[:, 0], expected):
            message = "ours and the bare loop don't hash alike"
            raise ValueError(message)
    return Bar(
        name=f"texts of {lengths[0]} to {lengths[1] - 1} bytes: share of the bare loop's speed",
        value=rates["ours"] / rates["bare"] if "bare" in rates else None,
        goal=SHARE,
        side="at least",
        why=f"millions/s: {shown}" if "bare" in rates else "no gcc on this machine",
    )


def files(rows: int, turns: int, folder: Path) -> Bar:
    """Hash the records from Parquet, reading included."""
    parquet, csv = made(rows)
    start = time.perf_counter()
    hasher = FileHasher.fit(parquet, settings=HasherSettings(), secret=SECRET)
    say(f"  fit to {rows:,} records: {time.perf_counter() - start:.1f} s")

    def read() -> None:
        source = open_readable(parquet, TableReading())
        for _ in source.batches(source.columns):
            pass

    def hashed(path: Path) -> None:
        if sum(len(batch) for batch in hasher.rows(path)) != rows:
            message = "rows were lost"
            raise ValueError(message)

    best = fastest(
        {
            "read Parquet": read,
            "hash Parquet": lambda: hashed(parquet),
            "hash Parquet to a file": lambda: hasher.write(
                parquet, folder / "out.arrows", overwrite=True
            ),
            "hash CSV": lambda: hashed(csv),
        },
        turns,
    )
    rates = {what: rows / each for what, each in best.items()}
    for what, rate in rates.items():
        say(f"  {what}: {rate / 1e6:.2f} million records/s")
    return Bar(
        name="records of 39 columns hashed from Parquet, per second, with reading",
        value=rates["hash Parquet"],
        goal=RECORDS,
        side="at least",
        why=f"fastest of {turns} turns of {rows:,} records; to a file "
        f"{rates['hash Parquet to a file'] / 1e6:.2f} million/s, from CSV "
        f"{rates['hash CSV'] / 1e6:.2f} million/s",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="500,000 rows")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        folder = Path(temporary)
        bars = [texts(lengths, 8 * options.turns, folder) for lengths in ((1, 13), (8, 9))]
        bars.append(files(500_000 if options.quick else 4_000_000, options.turns, folder))
    report(bars)


if __name__ == "__main__":
    main()

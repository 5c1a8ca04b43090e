"""Rank swapping and PRAM of 10 million rows, and plain copies of Parquet.

A part of `masking.py`; not run by itself. A file with one column is read, masked as a policy masks
it, and written; the plain arm reads and writes it. Seconds are those of the processor, all threads
together, so that other programs on the machine count less. The arms alternate, and the best of
each counts. The bar is the speed of the masked way as a share of that of the plain way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from bars import Bar, say
from halfmask.data import open_table
from halfmask.masks import Pram, RankSwapping, mask_table

#: Of the speed of plain reading and writing.
LEAST = 1 / 3
RUNS = 3
SEED = 20_261_125
JOBS = ["clerk", "cook", "driver", "farmer", "judge", "miner", "nurse", "pilot", "smith", "teacher"]


def columns(n: int) -> dict[str, pl.Series]:
    rng = np.random.default_rng(SEED)
    shares = np.arange(1, 11) / 55
    return {
        "whole numbers": pl.Series("x", rng.integers(0, 100_000, n)),
        "floats": pl.Series("x", rng.lognormal(10, 1, n)),
        "texts": pl.Series("x", JOBS, dtype=pl.String).gather(rng.choice(10, n, p=shares)),
    }


def masked(source: Path, target: Path) -> None:
    swapping = RankSwapping(columns=("x",), max_rank_distance=0.05)
    table = open_table(source)
    if table.dtypes["x"] == pl.String:
        found = mask_table(table, {"x": Pram(keep=0.8)}, key=bytes(32))
    else:
        found = mask_table(table, {}, table_masks=[swapping], key=bytes(32))
    found.read().write_parquet(target)


def plain(source: Path, target: Path) -> None:
    pl.read_parquet(source).write_parquet(target)


def processor_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def shares(*, quick: bool) -> list[Bar]:
    n, bars = (1_000_000 if quick else 10_000_000), []
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.parquet", Path(folder) / "target.parquet"
        for kind, column in columns(n).items():
            column.head(1000).to_frame().write_parquet(source)
            masked(source, target)  # compiles
            column.to_frame().write_parquet(source)
            pairs = [
                [processor_seconds(lambda run=run: run(source, target)) for run in (plain, masked)]
                for _ in range(RUNS)
            ]
            best = [min(each) for each in zip(*pairs, strict=True)]
            technique = "PRAM" if kind == "texts" else "rank swapping"
            say(f"{technique} of {n:,} {kind}: {best[1]:.2f} s, plain {best[0]:.2f} s")
            name = f"{technique} of {n:,} {kind}: share of the speed of plain Parquet"
            bars.append(Bar(name=name, value=best[0] / best[1], goal=LEAST, side="at least"))
    return bars


ARMS = {"swapping-and-pram": shares}

"""Clicks to learn from, made in the likeness of Criteo's: 13 numbers and 26 categories a record.

A part of the scripts; not run by itself.

Categories have as many values as Criteo's, and the frequency of the r-th is about 1 / r (Zipf's
law); they are written as 8 hexadecimal digits, and in a third of the columns some are missing.
Numbers are counts, many small and some large. Each value has an effect of its own on the chance of
a click, so that there is something to learn and something that can't be learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import workloads

if TYPE_CHECKING:
    from numpy.typing import NDArray

CACHE = workloads.REPOSITORY / "build" / "workloads"
LABEL = "click"
NUMBERS = 13
#: How many values the categories of the Kaggle challenge of 2014 have.
VALUES = (
    1460, 583, 1_000_000, 1_000_000, 305, 24, 12_517, 633, 3, 93_145, 5_683, 1_000_000, 3_194, 27,
    14_992, 1_000_000, 10, 5_652, 2_173, 4, 1_000_000, 18, 15, 286_181, 105, 142_572,
)  # fmt: skip
BLOCK = 250_000
MISSING = 0.2
BASE = -1.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """The same records in every form that anybody reads.

    Parameters
    ----------
    csv, parquet
        For us.
    vw
        For Vowpal Wabbit: the label and 39 features, ``n0_5`` or ``c3_68fd1e64``; a number is its
        logarithmic bin, so that all learn from the same features.
    rows
        How many.
    """

    csv: Path
    parquet: Path
    vw: Path
    rows: int


def clicks(rows: int, columns: int = NUMBERS + len(VALUES)) -> Clicks:
    """Write `rows` records of the first columns in all forms, unless they are there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found = Clicks(
        **{form: CACHE / f"clicks-{columns}-{rows}.{form}" for form in ("csv", "parquet", "vw")},
        rows=rows,
    )
    done = CACHE / f"clicks-{columns}-{rows}.complete"
    if not done.exists():
        _write(found, columns)
        done.touch()
    return found


def _write(found: Clicks, columns: int) -> None:
    parquet: pq.ParquetWriter | None = None
    with found.csv.open("wb") as csv, found.vw.open("wb") as vw:
        for number, frame in enumerate(blocks(found.rows, columns)):
            table = frame.to_arrow().cast(_narrow(frame))
            parquet = parquet or pq.ParquetWriter(found.parquet, table.schema)
            parquet.write_table(table)
            frame.write_csv(csv, include_header=number == 0)
            vw.write(as_vw(frame))
    if parquet is not None:
        parquet.close()


def _narrow(frame: pl.DataFrame) -> Any:  # noqa: ANN401 # pyarrow ships no types
    """Return the types that most tools write: texts of 32-bit offsets."""
    types = {pl.String: pa.string(), pl.Int64: pa.int64(), pl.Int8: pa.int8()}
    return pa.schema([(name, types[type(dtype)]) for name, dtype in frame.schema.items()])


def blocks(rows: int, columns: int) -> Iterator[pl.DataFrame]:
    """The records in frames; a longer table starts with the shorter ones."""
    for number, start in enumerate(range(0, rows, BLOCK)):
        rng = np.random.default_rng([workloads.SEED, number])
        yield _block(rng, columns).head(rows - start)


def _block(rng: np.random.Generator, columns: int) -> pl.DataFrame:
    score = np.full(BLOCK, BASE)
    made: dict[str, Any] = {}
    chances: NDArray[np.float64] = rng.random(BLOCK)
    for i in range(NUMBERS + len(VALUES)):
        gone = rng.random(BLOCK) < (MISSING if i % 3 == 0 else 0.0)
        if i < NUMBERS:
            numbers = np.floor(rng.lognormal(1 + 0.3 * i, 1.5, BLOCK)).astype(np.int64)
            effect = np.sin(np.log1p(numbers) + i) * 0.3
            made[f"n{i}"] = pl.Series(numbers).set(pl.Series(gone), None)
        else:
            name, values = f"c{i - NUMBERS}", VALUES[i - NUMBERS]
            ranks = np.floor(np.exp(rng.random(BLOCK) * np.log(values + 1))).astype(np.uint64)
            mixed = (ranks + np.uint64(i << 32)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            effect = ((mixed >> np.uint64(32)).astype(np.float64) / 2**32 - 0.5) * 0.8
            digits = pl.Series((mixed >> np.uint64(32)).astype(np.uint32))
            texts = _hexadecimal(digits)
            made[name] = texts.set(pl.Series(gone), None)
        if i < columns:
            score += np.where(gone, 0.0, effect)
        else:
            made.popitem()
    labels = (chances < 1 / (1 + np.exp(-score))).astype(np.int8)
    return pl.DataFrame({LABEL: labels} | made)


def _hexadecimal(numbers: pl.Series) -> pl.Series:
    unique = numbers.unique().sort()
    texts = pl.Series([f"{n:08x}" for n in unique.to_list()])
    return texts.gather(unique.search_sorted(numbers))


def as_vw(frame: pl.DataFrame) -> bytes:
    """The records as Vowpal Wabbit reads them."""
    parts = [pl.when(pl.col(LABEL) == 1).then(pl.lit("1 |f")).otherwise(pl.lit("-1 |f"))]
    for name, dtype in frame.schema.items():
        if name == LABEL:
            continue
        value = pl.col(name)
        if dtype == pl.Int64:
            # four bins for each power of two, as the hasher's
            value = ((value + 1).log(2) * 4).floor().cast(pl.Int64).cast(pl.String)
        parts.append(pl.lit(f"{name}_") + value.fill_null("none"))
    lines = frame.select(pl.concat_str(parts, separator=" "))
    return lines.write_csv(include_header=False, quote_style="never").encode()

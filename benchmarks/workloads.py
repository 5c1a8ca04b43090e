"""The tables that the benchmarks run on: made from Adult, the same at every call.

A part of the scripts; not run by itself.

Ten quasi-identifiers: the columns of Adult that say something of a person and something of their
own. `education-num` is left out (it is `education` written as a number) for `hours-per-week`;
`capital-gain`, `capital-loss` and `fnlwgt` are left out too. A missing cell stays the value `?`
that it is in the file, because not every peer knows another kind of missing. Larger tables are
rows of Adult drawn with replacement and jittered, so that they aren't 48,842 rows many times over.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPOSITORY = Path(__file__).resolve().parent.parent
ADULT_CSV = REPOSITORY / "examples" / "adult" / "adult.csv"
ARX_HIERARCHIES = REPOSITORY.parent / "shared" / "data" / "adult_hierarchies"

QUASI_IDENTIFIERS = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
)
NUMERIC = ("age", "hours-per-week")
LABEL = "income"
MISSING = "?"

BATCH_ROWS = 1_000_000
PACKED_WIDTH = 16  # bytes of a packed record: ten columns of one byte, padded
JITTER_STEP = 2  # a number moves by at most this much
JITTER_SHARE = 0.05  # this share of the categories is drawn anew from the column
SEED = 20_261_121


def adult() -> pl.DataFrame:
    """The 48,842 rows of Adult: ten quasi-identifiers and the label."""
    return pl.read_csv(ADULT_CSV, columns=[*QUASI_IDENTIFIERS, LABEL]).select(
        *QUASI_IDENTIFIERS, LABEL
    )


def label_codes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """The label as 0 and 1, as models and Guided take it."""
    return (frame[LABEL] == ">50K").cast(pl.Int64).to_numpy()


def batches(n_rows: int) -> Iterator[pl.DataFrame]:
    """`n_rows` bootstrapped, jittered rows of Adult in batches of a million.

    Every batch has a seed of its own, so a longer table starts with the shorter ones.
    """
    base = adult()
    for number, start in enumerate(range(0, n_rows, BATCH_ROWS)):
        rows = min(BATCH_ROWS, n_rows - start)
        yield _jittered(base, BATCH_ROWS, np.random.default_rng([SEED, number])).head(rows)


def bootstrapped(n_rows: int) -> pl.DataFrame:
    """`n_rows` bootstrapped, jittered rows of Adult as one frame in memory."""
    return pl.concat(list(batches(n_rows)), rechunk=True)


def parquet_folder(n_rows: int, where: Path) -> Path:
    """Write `n_rows` bootstrapped rows as a folder of Parquet files of a million rows each.

    A finished folder is left as it is; an unfinished one is made again.
    """
    finished = where.with_suffix(".complete")
    if finished.exists():
        return where
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for number, batch in enumerate(batches(n_rows)):
        batch.write_parquet(where / f"part-{number:05d}.parquet")
    finished.touch()
    return where


def packed(frame: pl.DataFrame) -> NDArray[np.uint8]:
    """The quasi-identifiers as records of 16 bytes, codes in the order of the values.

    Every column must have at most 256 distinct values.
    """
    records = np.zeros((frame.height, PACKED_WIDTH), dtype=np.uint8)
    for position, name in enumerate(QUASI_IDENTIFIERS):
        codes = frame[name].rank("dense").to_numpy() - 1
        records[:, position] = codes.astype(np.uint8, casting="unsafe")
        if int(codes.max()) > np.iinfo(np.uint8).max:
            message = "a column has more than 256 distinct values"
            raise ValueError(message)
    return records


def _jittered(base: pl.DataFrame, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    drawn = base[rng.integers(0, base.height, rows)]
    columns = []
    for name in QUASI_IDENTIFIERS:
        if name in NUMERIC:
            moved = drawn[name] + pl.Series(rng.integers(-JITTER_STEP, JITTER_STEP + 1, rows))
            known = base[name].to_numpy()
            columns.append(moved.clip(int(known.min()), int(known.max())).alias(name))
            continue
        other = base[name][rng.integers(0, base.height, rows)]
        anew = pl.Series(rng.random(rows) < JITTER_SHARE)
        columns.append(other.zip_with(anew, drawn[name]).alias(name))
    return pl.DataFrame([*columns, drawn[LABEL]])


def hierarchies(frame: pl.DataFrame, folder: Path = ARX_HIERARCHIES) -> dict[str, list[list[str]]]:
    """Generalization levels of each quasi-identifier, for peers that can't do without.

    `levels[0]` are the raw values, the last level is `*`. ARX's own files where `folder` has them
    (a value they lack, such as `?`, becomes a branch of its own); for the other columns intervals
    of 5, 10, 20 and 40 for a number, and nothing between the value and `*` for a category.
    """
    return {name: _levels(frame[name], folder) for name in QUASI_IDENTIFIERS}


def _levels(column: pl.Series, folder: Path) -> list[list[str]]:
    file = folder / f"adult_hierarchy_{column.name}.csv"
    values = [str(value) for value in column.unique().sort().to_list()]
    if file.exists():
        rows = {
            line.split(";")[0]: line.split(";")
            for line in file.read_text(encoding="utf-8").splitlines()
        }
        height = len(next(iter(rows.values())))
        chosen = [rows.get(value, [value] * (height - 1) + ["*"]) for value in values]
        return [[row[level] for row in chosen] for level in range(height)]
    if column.name in NUMERIC:
        widths = (5, 10, 20, 40)
        coarser = [[f"{int(v) // w * w}-" for v in values] for w in widths]
        return [values, *coarser, ["*"] * len(values)]
    return [values, ["*"] * len(values)]

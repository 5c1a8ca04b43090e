"""Adult and the Criteo sample as they are hashed: shuffled, their numbers in bins, with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import workloads

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
CRITEO = SHARED / "ctr" / "criteo_8k.csv.gz"
BINS = 20


def adult(seed: int) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Return Adult with its numbers in bins of about as many rows, and whose income is high."""
    table = workloads.adult().sample(fraction=1.0, shuffle=True, seed=seed)
    labels = table["income"].cast(pl.String).str.contains(">50K").to_numpy().astype(np.int32)
    return _binned(table.drop("income")), labels


def criteo(seed: int) -> tuple[pl.DataFrame, NDArray[np.int32]] | None:
    """Return the Criteo sample, and who clicked; None where it isn't there."""
    if not CRITEO.is_file():
        return None
    table = pl.read_csv(CRITEO).sample(fraction=1.0, shuffle=True, seed=seed)
    return _binned(table.drop("label", "split")), table["label"].to_numpy().astype(np.int32)


def _binned(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table as text, each number the bin of quantiles that it lies in."""
    columns = []
    for column in table.iter_columns():
        if not column.dtype.is_numeric():
            columns.append(column.cast(pl.String))
            continue
        values = column.cast(pl.Float64).to_numpy()
        inner = np.unique(np.nanquantile(values, np.arange(1, BINS) / BINS))
        number = np.searchsorted(inner, values, side="right")
        words = [None if np.isnan(v) else f"bin {n}" for v, n in zip(values, number, strict=True)]
        columns.append(pl.Series(column.name, words))
    return pl.DataFrame(columns)

"""How small the smallest class of an output is: written to a file, counted by the verifier.

`halfmask.verifier.tables` reads releases; an anonymized training set is no release (its other
attributes stay), so its quasi-identifiers alone are written as Parquet and given to the functions
with which the verifier groups a release's file. It shares no code with what makes classes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from halfmask.verifier.tables._counting import count_classes
from halfmask.verifier.tables.part import dictionaries

if TYPE_CHECKING:
    from ml_models.task import Anonymized, Rows, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The classes of one output, as a reader of the file finds them."""

    n: int
    smallest: int
    share_of_classes_below_k: float
    share_of_rows_below_k: float


def classes_of(done: Anonymized, task: Task) -> Classes:
    """Write the quasi-identifiers of an output, read them again and count.

    Where rows were written several times, a class is who has all of that in common.
    """
    written = [_quasi_identifiers(rows, task) for rows in (done.rows, *done.more)]
    table = pl.concat(
        [each.rename(lambda name, n=n: f"{name}, {n}") for n, each in enumerate(written)],
        how="horizontal",
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "quasi_identifiers.parquet"
        table.write_parquet(file)
        read = pl.scan_parquet(file)
        known = dictionaries(read, dict(read.collect_schema()))
        sizes = count_classes(read, list(known.values()), {}).sizes
    below = sizes < task.k
    return Classes(
        n=len(sizes),
        smallest=int(sizes.min()),
        share_of_classes_below_k=float(below.mean()),
        share_of_rows_below_k=float(sizes[below].sum() / sizes.sum()),
    )


def _quasi_identifiers(rows: Rows, task: Task) -> pl.DataFrame:
    if isinstance(rows, pl.DataFrame):
        return rows.select(task.quasi_identifiers)
    names = [f"column {number}" for number in task.columns]
    return pl.DataFrame(rows[:, task.columns], schema=names)

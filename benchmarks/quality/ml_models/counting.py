"""How small the smallest class of an output is: written to a file, counted by the verifier.

`halfmask.release.verifier` reads releases; an anonymized training set is no release (its other
attributes stay), so its quasi-identifiers alone are written as Parquet and given to the functions
with which the verifier groups a release's file. It shares no code with what makes classes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from halfmask.release.verifier._counting import count_classes
from halfmask.release.verifier._values import dictionaries

if TYPE_CHECKING:
    from ml_models.task import Rows, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The classes of one output, as a reader of the file finds them."""

    n: int
    smallest: int
    share_of_classes_below_k: float
    share_of_rows_below_k: float


def classes_of(rows: Rows, task: Task) -> Classes:
    """Write the quasi-identifiers of an output, read them again and count."""
    if isinstance(rows, pl.DataFrame):
        table = rows.select(task.quasi_identifiers)
    else:
        names = [f"column {number}" for number in task.columns]
        table = pl.DataFrame(rows[:, task.columns], schema=names)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "quasi_identifiers.parquet"
        table.write_parquet(file)
        written = pl.scan_parquet(file)
        known = dictionaries(written, dict(written.collect_schema()))
        sizes = count_classes(written, list(known.values()), {}).sizes
    below = sizes < task.k
    return Classes(
        n=len(sizes),
        smallest=int(sizes.min()),
        share_of_classes_below_k=float(below.mean()),
        share_of_rows_below_k=float(sizes[below].sum() / sizes.sum()),
    )

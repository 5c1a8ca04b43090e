"""What we do with a frame in memory: the call whose seconds are counted, and what came of it.

A part of `anonymize.py` and `guided.py`; not run by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

import loss
import workloads
from bars import RUNS, seconds_of
from halfmask.anonymize import Anonymizer, Guided, Mondrian, Ranges
from halfmask.guarantees import KAnonymity

if TYPE_CHECKING:
    from halfmask.guarantees import Guarantee

Method = Literal["mondrian", "guided"]
METHODS: tuple[Method, ...] = ("mondrian", "guided")
ROW = "__row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What we did with one table: median seconds, and the counts of the release."""

    seconds: float
    classes: int
    smallest_class: int
    rows_suppressed: int
    loss: float


def anonymizer(method: Method, guarantees: list[Guarantee]) -> Anonymizer:
    return Anonymizer(
        method=Mondrian() if method == "mondrian" else Guided(),
        guarantees=guarantees,
        quasi_identifiers=list(workloads.QUASI_IDENTIFIERS),
        recoding=Ranges(),
    )


def release(frame: pl.DataFrame, method: Method, guarantees: list[Guarantee]) -> pl.DataFrame:
    """From a frame in memory to a recoded frame in memory."""
    ours = anonymizer(method, guarantees)
    if method == "mondrian":
        released: pl.DataFrame = ours.fit_transform(frame)
    else:
        released = ours.fit_transform(frame, workloads.label_codes(frame))
    return released


def measured(frame: pl.DataFrame, method: Method, *, k: int, runs: int = RUNS) -> Ours:
    """Time a release `runs` times, kernels warm, and count what it is."""
    guarantees: list[Guarantee] = [KAnonymity(k=k)]
    seconds, _ = seconds_of(lambda: release(frame, method, guarantees), runs=runs)
    # Once more with row numbers, untimed: which rows became alike.
    numbered = frame.with_columns(pl.Series(ROW, np.arange(frame.height)))
    released = release(numbered, method, guarantees)
    names = list(workloads.QUASI_IDENTIFIERS)
    classes = released.select(pl.struct(names).rank("dense").alias("c"))["c"].to_numpy()
    sizes = np.bincount(classes)[1:]
    return Ours(
        seconds=seconds,
        classes=len(sizes),
        smallest_class=int(sizes.min()),
        rows_suppressed=frame.height - released.height,
        loss=loss.granularity_loss(
            frame,
            quasi_identifiers=names,
            rows=released[ROW].to_numpy(),
            classes=classes.astype(np.int64),
        ),
    )


def warm(k: int = 10) -> None:
    """Compile, or load from the cache, everything that is timed later."""
    frame = workloads.adult()
    for method in METHODS:
        release(frame, method, [KAnonymity(k=k)])

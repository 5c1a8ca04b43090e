"""The methods that are compared, by name. Add one with a function from Task to Anonymized."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask.anonymize import Anonymizer, Centroid, Guided, Hilbert, Mondrian, RPlusTree
from halfmask.guarantees import EntropyLDiversity, KAnonymity, TCloseness
from ml_models.paper import paper
from ml_models.representatives import represented
from ml_models.task import Anonymized, Task
from ml_models.toolkit import toolkit, toolkit_qi

if TYPE_CHECKING:
    from halfmask.anonymize import Method, Recoding
    from halfmask.guarantees import Guarantee

LABEL = "__label"


def guided(task: Task) -> Anonymized:
    """Ours: led by the raw model's probabilities; a class is written as its centroid."""
    return _centroids(task, [KAnonymity(k=task.k)])


def guided_record(task: Task) -> Anonymized:
    """Ours, led by the raw model's probabilities, with the paper's representative."""
    return _records(task, Guided(), task.probabilities)


def guided_l(task: Task) -> Anonymized:
    """Ours with entropy 1.2-diversity of the label on top: no class of (nearly) one label."""
    return _centroids(task, [KAnonymity(k=task.k), EntropyLDiversity(l=1.2, column=LABEL)])


def guided_t(task: Task) -> Anonymized:
    """Ours with 0.3-closeness of the label on top."""
    return _centroids(task, [KAnonymity(k=task.k), TCloseness(t=0.3, column=LABEL)])


def workload(task: Task) -> Anonymized:
    """LeFevre's workload-aware tree as the paper has it: led by the true labels."""
    return _records(task, Guided(), task.labels)


def mondrian(task: Task) -> Anonymized:
    """Median Mondrian with the paper's representative."""
    return _records(task, Mondrian(), None)


def hilbert(task: Task) -> Anonymized:
    """Ghinita's Hilbert curve with the paper's representative."""
    return _records(task, Hilbert(), None)


def rplus(task: Task) -> Anonymized:
    """Iwuchukwu's R+ tree with the paper's representative."""
    return _records(task, RPlusTree(), None)


#: Every method by its name.
METHODS: dict[str, Callable[[Task], Anonymized]] = {
    "guided": guided,
    "guided-record": guided_record,
    "toolkit": toolkit,
    "toolkit-qi": toolkit_qi,
    "workload-aware": workload,
    "mondrian": mondrian,
    "hilbert": hilbert,
    "r+ tree": rplus,
    "paper": paper,
    "guided+l": guided_l,
    "guided+t": guided_t,
}
#: The one of ours whose numbers the bars take.
OURS = "guided"
#: Whose outputs are ours, and must keep k.
OUR_METHODS = tuple(name for name in METHODS if name not in ("toolkit", "toolkit-qi", "paper"))
#: Only the full grid's main lines; these are measured where `plan.py` says so.
EXTRAS = ("guided+l", "guided+t")


def _centroids(task: Task, guarantees: list[Guarantee]) -> Anonymized:
    table = task.train.with_columns(pl.Series(LABEL, task.labels).cast(pl.String))
    fitted, rows = _fitted(
        table, task, Guided(), task.probabilities, recoding=Centroid(), guarantees=guarantees
    )

    def transform(other: pl.DataFrame) -> pl.DataFrame:
        unknown = pl.lit(None, dtype=pl.String).alias(LABEL)
        done: pl.DataFrame = fitted.transform(other.with_columns(unknown))
        # a row with a category that the training rows lack is in no class, and stays as it is
        placed = done[task.quasi_identifiers[0]].is_not_null()
        kept = [pl.when(placed).then(done[n]).otherwise(other[n]).alias(n) for n in other.columns]
        return other.select(kept)

    return Anonymized(rows=rows.drop(LABEL), transform=transform)


def _records(task: Task, method: Method, guide: Any) -> Anonymized:  # noqa: ANN401 # what fit takes
    fitted, _ = _fitted(
        task.train, task, method, guide, recoding=None, guarantees=[KAnonymity(k=task.k)]
    )
    labels = task.labels if guide is task.labels else task.predictions
    return Anonymized(rows=represented(task, np.asarray(fitted.cells_), labels))


def _fitted(
    table: pl.DataFrame,
    task: Task,
    method: Method,
    guide: Any,  # noqa: ANN401 # what fit takes
    *,
    recoding: Recoding | None,
    guarantees: list[Guarantee],
) -> tuple[Anonymizer, pl.DataFrame]:
    anonymizer = Anonymizer(
        guarantees=guarantees,
        method=method,
        quasi_identifiers=list(task.quasi_identifiers),
        recoding=recoding,
        unseen="suppress",
    )
    return anonymizer, anonymizer.fit_transform(table, guide)

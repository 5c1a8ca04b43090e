"""The methods that are compared, by name. Add one with a function from Task to Anonymized."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize import Anonymizer, Guided, Mondrian
from halfmask.guarantees import EntropyLDiversity, KAnonymity, TCloseness
from ml_models.paper import paper
from ml_models.representatives import represented
from ml_models.retrained import retrained
from ml_models.task import Anonymized, Task
from ml_models.toolkit import toolkit, toolkit_qi

if TYPE_CHECKING:
    from halfmask.anonymize import Method


def guided(task: Task) -> Anonymized:
    """Ours: out-of-fold split targets, and representatives chosen by cross-validation."""
    return retrained(task, [KAnonymity(k=task.k)])


def guided_centroid(task: Task) -> Anonymized:
    """Ours with one training only: guided by the raw model, a class is its centroid."""
    return retrained(
        task,
        [KAnonymity(k=task.k)],
        split_targets=task.probabilities,
        representative="centroid",
    )


def guided_record(task: Task) -> Anonymized:
    """Ours, led by the raw model's probabilities, with the paper's representative."""
    return _records(task, Guided(), task.probabilities)


def guided_l(task: Task) -> Anonymized:
    """Ours with entropy 1.2-diversity of the label on top: no class of (nearly) one label."""
    return retrained(task, [KAnonymity(k=task.k), EntropyLDiversity(l=1.2, column="label")])


def guided_t(task: Task) -> Anonymized:
    """Ours with 0.3-closeness of the label on top."""
    return retrained(task, [KAnonymity(k=task.k), TCloseness(t=0.3, column="label")])


def workload(task: Task) -> Anonymized:
    """LeFevre's workload-aware tree as the paper has it: led by the true labels."""
    return _records(task, Guided(), task.labels)


def mondrian(task: Task) -> Anonymized:
    """Median Mondrian with the paper's representative."""
    return _records(task, Mondrian(), None)


#: Every method by its name.
METHODS: dict[str, Callable[[Task], Anonymized]] = {
    "guided": guided,
    "guided-centroid": guided_centroid,
    "guided-record": guided_record,
    "toolkit": toolkit,
    "toolkit-qi": toolkit_qi,
    "workload-aware": workload,
    "mondrian": mondrian,
    "paper": paper,
    "guided+l": guided_l,
    "guided+t": guided_t,
}
#: The one of ours whose numbers the bars take.
OURS = "guided"
#: The same with one training only, where the other would take too long: large networks, shadows.
OURS_AT_ONCE = "guided-centroid"
#: Whose outputs are ours, and must keep k.
OUR_METHODS = tuple(name for name in METHODS if name not in ("toolkit", "toolkit-qi", "paper"))
#: Only the full grid's main lines; these are measured where `plan.py` says so.
EXTRAS = ("guided+l", "guided+t")


def _records(task: Task, method: Method, guide: Any) -> Anonymized:  # noqa: ANN401 # what fit takes
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=task.k)],
        method=method,
        quasi_identifiers=list(task.quasi_identifiers),
    )
    anonymizer.fit(task.train, guide)
    labels = task.labels if guide is task.labels else task.predictions
    return Anonymized(rows=represented(task, np.asarray(anonymizer.cells_), labels))

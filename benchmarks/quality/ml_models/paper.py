"""The paper's own procedure, to the letter: its tree is fitted on other rows than it anonymizes.

Section 4: 40 % of the rows train the model and are anonymized, *another* 40 % train the anonymizer
tree. `min_samples_leaf=k` then holds for that other 40 %, and nothing makes it hold for the rows
that are anonymized: how many of them end in classes below k is counted with every output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.tree import DecisionTreeClassifier

from ml_models.representatives import represented
from ml_models.task import Anonymized

if TYPE_CHECKING:
    from ml_models.task import Task


def paper(task: Task) -> Anonymized:
    """Grow the tree on the held-back rows and the model's labels, anonymize the training rows."""
    columns = task.columns
    held_back = task.encoder.encode(task.split.held_back)
    tree = DecisionTreeClassifier(min_samples_leaf=task.k, random_state=task.seed)
    tree.fit(held_back[:, columns], task.model.predict(held_back))
    leaves = tree.apply(task.encoded[:, columns])
    return Anonymized(rows=represented(task, leaves, task.predictions))

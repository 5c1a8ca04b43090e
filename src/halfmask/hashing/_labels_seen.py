"""The classes of a label, gathered while a hasher is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from halfmask._errors import SchemaError
from halfmask._validation import one_of
from halfmask.hashing._cells import kind_of
from halfmask.hashing._labelled_hasher import number_labels
from halfmask.hashing._labels import LabelCodes
from halfmask.hashing._tables import columns_of

if TYPE_CHECKING:
    from halfmask.vault import Secret

#: What the label is: classes or numbers.
LabelTask: TypeAlias = Literal["classification", "regression"]
_TASKS = ("classification", "regression")


class LabelsSeen:
    """The classes of a label, gathered batch by batch, unless it is a number."""

    def __init__(self, label: str | None, task: LabelTask | None) -> None:
        if task is not None:
            one_of(_TASKS, owner="FileHasher", task=task)
        self._label, self._task = label, task
        self._found: list[Any] = []

    def see(self, batch: Any) -> None:  # noqa: ANN401 # pyarrow ships no types
        """Look at a batch."""
        if self._label is None:
            return
        column = columns_of(batch.select([self._label]))[self._label]
        kind = kind_of(column.type, self._label)
        if self._task is None and kind == "integer":
            raise SchemaError(
                f"Column {self._label!r} is a label of whole numbers: classes, or numbers?",
                hint="Say the task: classification or regression.",
            )
        if self._task is None:
            self._task = "regression" if kind == "float" else "classification"
        if self._task == "regression":
            number_labels(column, self._label)
        else:
            self._found.append(column.unique())

    def codes(self, secret: Secret, name: str) -> LabelCodes | None:
        """Return the classes' codes; None of numbers."""
        if self._label is None or self._task == "regression":
            return None
        return LabelCodes.fit_batches(self._found, secret=secret, name=name)

"""Labels that go with hashed rows: seen while a hasher is fitted, and sent with batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from halfmask._errors import DataError, SchemaError
from halfmask._validation import one_of
from halfmask.hashing._cells import floats_to_send, kind_of, numbers_of
from halfmask.hashing._labels import LabelCodes
from halfmask.hashing._tables import columns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing._row_hasher import RowHasher
    from halfmask.hashing._rows import HashedRows
    from halfmask.vault import Secret


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LabelledHasher:
    """What hashes batches of a table, where its label is sent and where it isn't."""

    hasher: RowHasher
    label: str | None
    codes: LabelCodes | None

    def rows(self, batch: Any) -> HashedRows:  # noqa: ANN401 # pyarrow ships no types
        """Return the hashed rows of a batch, with their labels."""
        if self.label is None:
            return self.hasher.rows(batch)
        features = [name for name in batch.schema.names if name != self.label]
        column = columns_of(batch.select([self.label]))[self.label]
        if self.codes is None:
            labels: Any = number_labels(column, self.label)
            return self.hasher.rows(batch.select(features), labels=labels)
        return self.hasher.rows(
            batch.select(features), labels=self.codes.encode(column), classes=self.codes.classes
        )


def number_labels(column: Any, label: str) -> NDArray[np.float32]:  # noqa: ANN401 # pyarrow ships no types
    """Return labels that are numbers."""
    kind = kind_of(column.type, label)
    if kind not in {"integer", "float"}:
        raise SchemaError(f"Column {label!r} is to be predicted as a number, and isn't one.")
    numbers = numbers_of(column)
    if not np.isfinite(numbers).all():
        raise DataError("A label is missing or infinite.", hint="Leave out the rows without one.")
    return floats_to_send(numbers, label, measured=kind == "float")


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

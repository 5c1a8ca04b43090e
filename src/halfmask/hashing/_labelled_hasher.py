"""Batches into hashed rows with their labels, without the secret that keys follow from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, SchemaError
from halfmask.hashing._cells import floats_to_send, kind_of, numbers_of
from halfmask.hashing._tables import columns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing._labels import LabelCodes
    from halfmask.hashing._row_hasher import RowHasher
    from halfmask.hashing._rows import HashedRows


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

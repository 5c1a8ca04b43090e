"""Rows into hashed rows by the keys of their columns, without the secret that keys follow from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.engines import map_in_order
from halfmask.hashing._cells import kind_of, same_kind
from halfmask.hashing._placing import dense, flat, placed
from halfmask.hashing._rows import HashedRows
from halfmask.hashing._tables import arrow_of, columns_of, is_empty, with_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from halfmask.hashing._columns import Wired

#: Rows that are hashed together: what they take besides their result stays small.
_PIECE = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RowHasher:
    """What hashes rows: a plan without its secret, for a worker.

    Guarantees
    ----------
    Its keys hash any cell of these columns, as an attacker would who guesses cells. They tell
    nothing of the secret, of other columns or of hashers of other names.
    """

    bits: int
    signed: bool
    kinds: Mapping[str, str]
    wired: Wired

    def __repr__(self) -> str:
        return f"RowHasher({len(self.kinds)} columns, bits={self.bits})"

    def rows(
        self,
        frame: object,
        *,
        labels: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: int = 2,
    ) -> HashedRows:
        """Hash the rows of a frame; see `HashPlan.rows`."""
        table = self._checked(arrow_of(frame))
        starts = range(0, table.num_rows, _PIECE)
        if len(starts) > 1:
            pieces = (table.slice(start, _PIECE) for start in starts)
            found = HashedRows.concat(map_in_order(pieces, self._hashed))
        else:
            found = self._hashed(table)
        if labels is None and weights is None:
            return found
        return HashedRows(
            indices=found.indices,
            bits=found.bits,
            indptr=found.indptr,
            values=found.values,
            labels=None if labels is None else as_labels(labels),
            weights=None if weights is None else np.asarray(weights, np.float32),
            classes=classes,
        )

    def batches(self, frames: Iterable[object]) -> Iterator[HashedRows]:
        """Hash frames in order; see `HashPlan.batches`."""

        def hashed(frame: object) -> HashedRows:
            return self._hashed(self._checked(arrow_of(frame)))

        return map_in_order(frames, hashed)

    def _hashed(self, table: Any) -> HashedRows:  # noqa: ANN401 # pyarrow ships no types
        bits, signed = self.bits, self.signed
        columns = columns_of(table)
        values = None
        indices = None if signed else placed(self.wired.slots, columns, table.num_rows, bits=bits)
        if indices is None:
            coded = [slot.coded(columns) for slot in self.wired.slots]
            indices, values = dense(coded, table.num_rows, bits=bits, signed=signed)
        if not self.wired.bags:
            return HashedRows(indices=indices, values=values, bits=bits)
        bags = [bag.counted(columns) for bag in self.wired.bags]
        return HashedRows(bits=bits, **flat(indices, values, bags, bits=bits, signed=signed))

    def _checked(self, table: Any) -> Any:  # noqa: ANN401 # pyarrow ships no types
        """Return the table if it has the fitted columns, of the fitted kinds or without a value."""
        schema, known = table.schema, self.kinds
        absent = [name for name in known if name not in schema.names]
        if absent:
            raise ColumnNotFoundError.of(absent, schema.names, where="the table")
        more = [name for name in schema.names if name not in known]
        if more:
            listed = ", ".join(repr(name) for name in more[:5])
            raise SchemaError(
                f"The hasher doesn't know these columns of the table: {listed}.",
                hint="Leave them out, or fit a hasher to a table that has them.",
            )
        for name, dtype in zip(schema.names, schema.types, strict=True):
            kind = kind_of(dtype, name)
            if not _fits(kind, known[name]):
                if is_empty(table.column(name)):
                    table = with_column(table, name, pa.nulls(table.num_rows))
                    continue
                raise SchemaError(
                    f"Column {name!r} holds cells of kind {kind}; the hasher was fitted to "
                    f"{known[name]}.",
                    hint="Give the column the type that it had at the fit.",
                )
        return table


def _fits(kind: str, fitted: str) -> bool:
    if "list of " in kind and "list of " in fitted:
        return same_kind(kind.removeprefix("list of "), fitted.removeprefix("list of "))
    return same_kind(kind, fitted)


def as_labels(labels: ArrayLike) -> NDArray[np.int32] | NDArray[np.float32]:
    """Return labels to send: whole numbers as ``int32``, others as ``float32``."""
    array = np.asarray(labels)
    if array.dtype.kind in "iub":
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << 31:
            raise DataError("Codes of labels must be whole numbers from 0.")
        return array.astype(np.int32)
    if array.dtype.kind != "f":
        raise DataError(
            "Labels must be whole numbers from 0, or floats.",
            hint="LabelCodes turns labels of any type into codes.",
        )
    return array.astype(np.float32)

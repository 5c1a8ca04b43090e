"""The plan of a hasher: its columns and their keys; what turns rows into hashed rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    HalfmaskError,
    KeyMismatchError,
    SchemaError,
)
from halfmask.engines import map_in_order
from halfmask.hashing._assembly import dense, flat
from halfmask.hashing._cells import kind_of, same_kind
from halfmask.hashing._column import HashedColumn
from halfmask.hashing._placing import placed
from halfmask.hashing._rows import HashedRows
from halfmask.hashing._settings import HasherSettings
from halfmask.hashing._tables import arrow_of, columns_of, is_empty, with_column
from halfmask.hashing._wiring import Wired, wired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from halfmask.vault import Secret

__all__ = ["HASHER_VERSION", "HashPlan"]

#: Raised whenever the same secret and rows would give other indices.
HASHER_VERSION = 1
_FORMAT = "halfmask hasher"
#: Rows that are hashed together: what they take besides their result stays small.
_PIECE = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HashPlan:
    """What turns rows into hashed rows: a fitted hasher, without scikit-learn.

    Parameters
    ----------
    settings
        The settings of the hasher.
    columns
        The columns that it knows, each with its bins.
    secret
        What all keys follow from.

    Guarantees
    ----------
    The same secret, settings, columns and row give the same integers, on every machine and in
    every version of the same `HASHER_VERSION`, compiled or not, whatever the batches are, in
    whatever order the columns come, and whether a category comes as a text or in a dictionary.

    Edge cases
    ----------
    It holds the names of columns and the edges of bins: it stays at home.
    """

    settings: HasherSettings
    columns: tuple[HashedColumn, ...]
    secret: Secret
    _wired: Wired = field(init=False)

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("A hasher needs at least one column.")
        roles = {column.name: column.role for column in self.columns}
        self.settings.check_columns(roles)
        made = wired(self.columns, settings=self.settings, secret=self.secret)
        object.__setattr__(self, "_wired", made)

    def __repr__(self) -> str:
        return f"HashPlan({len(self.columns)} columns, bits={self.settings.bits})"

    @property
    def width(self) -> int | None:
        """How many features each row has; None where rows have texts or sets, and differ."""
        return None if self._wired.bags else len(self._wired.slots)

    def rows(
        self,
        frame: object,
        *,
        labels: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: int = 2,
    ) -> HashedRows:
        """Hash the rows of a frame.

        Parameters
        ----------
        frame
            A frame of polars, pandas or pyarrow, or an array, with the fitted columns.
        labels
            Codes of classes, or numbers; sent unchanged.
        weights
            How much each row counts.
        classes
            How many classes labels of whole numbers have.

        Raises
        ------
        ColumnNotFoundError, SchemaError
            If a column is missing, not known, or holds something else than at the fit.
        DataError
            If a number that is kept is infinite, or labels or weights aren't what may be sent.
        """
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
        """Hash frames in order, on all processors, with few of them in memory.

        Parameters
        ----------
        frames
            The frames to hash.
        """

        def hashed(frame: object) -> HashedRows:
            return self._hashed(self._checked(arrow_of(frame)))

        return map_in_order(frames, hashed)

    def _hashed(self, table: Any) -> HashedRows:  # noqa: ANN401 # pyarrow ships no types
        bits, signed = self.settings.bits, self.settings.signed
        columns = columns_of(table)
        values = None
        indices = None if signed else placed(self._wired.slots, columns, table.num_rows, bits=bits)
        if indices is None:
            coded = [slot.coded(columns) for slot in self._wired.slots]
            indices, values = dense(coded, table.num_rows, bits=bits, signed=signed)
        if not self._wired.bags:
            return HashedRows(indices=indices, values=values, bits=bits)
        bags = [bag.counted(columns) for bag in self._wired.bags]
        return HashedRows(bits=bits, **flat(indices, values, bags, bits=bits, signed=signed))

    def _checked(self, table: Any) -> Any:  # noqa: ANN401 # pyarrow ships no types
        """Return the table if it has the fitted columns, of the fitted kinds or without a value."""
        schema = table.schema
        known = {column.name: column.kind for column in self.columns}
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

    def to_dict(self) -> dict[str, Any]:
        """Return what it is made of but the secret, as JSON can hold it."""
        columns = [
            {
                "name": it.name,
                "kind": it.kind,
                "role": it.role,
                "edges": None if it.edges is None else it.edges.tolist(),
            }
            for it in self.columns
        ]
        return {
            "format": _FORMAT,
            "version": HASHER_VERSION,
            "secret": self.secret.id,
            "settings": self.settings.to_dict(),
            "columns": columns,
        }

    @classmethod
    def from_dict(cls, found: Any, *, secret: Secret) -> Self:  # noqa: ANN401 # what JSON held
        """Return the plan that a dictionary holds; see `from_bytes`.

        Parameters
        ----------
        found
            What `to_dict` returned.
        secret
            The secret of the hasher.
        """
        try:
            form = found["format"], found["version"], found["secret"]
        except (KeyError, TypeError):
            raise _unreadable() from None
        if form[:2] != (_FORMAT, HASHER_VERSION):
            raise DataError(
                f"The hasher is of another version; this halfmask reads {HASHER_VERSION}.",
                hint="Use the version of halfmask that wrote it.",
            )
        if form[2] != secret.id:
            raise KeyMismatchError("The hasher was fitted with another secret.")
        try:
            columns = tuple(
                HashedColumn(
                    name=str(it["name"]),
                    kind=str(it["kind"]),
                    role=it["role"],
                    edges=None if it["edges"] is None else np.array(it["edges"], np.float64),
                )
                for it in found["columns"]
            )
            settings = HasherSettings.from_dict(found["settings"])
            return cls(settings=settings, columns=columns, secret=secret)
        except (KeyError, TypeError, ValueError, HalfmaskError):
            raise _unreadable() from None

    def to_bytes(self) -> bytes:
        """Return the plan without its key: JSON, to be sealed in a vault.

        Guarantees
        ----------
        `from_bytes` gives, with the same secret, a plan that hashes as this one does. The bytes
        hold no key; they hold the names of columns and where bins begin.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, secret: Secret) -> Self:
        """Return the plan that bytes hold.

        Parameters
        ----------
        data
            What `to_bytes` returned.
        secret
            The secret of the hasher.

        Raises
        ------
        DataError
            If they hold none, or one of another version.
        KeyMismatchError
            If it was fitted with another secret.
        """
        try:
            found = json.loads(data)
        except (ValueError, TypeError):
            raise _unreadable() from None
        return cls.from_dict(found, secret=secret)


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


def _unreadable() -> DataError:
    return DataError(
        "The bytes hold no hasher, or a damaged one.", hint="Unseal what to_bytes() gave."
    )

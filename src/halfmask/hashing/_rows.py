"""Hashed rows: the integers, and what else a trainer gets of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

#: Indices have to fit the 32-bit integers of compressed sparse rows.
MAX_BITS = 31
#: The trainers' largest softmax; a mistyped number of classes shouldn't take all memory.
MAX_CLASSES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HashedRows:
    """Hashed features of rows: what a client sends and a trainer learns from.

    Parameters
    ----------
    indices
        ``uint32`` below ``2 ** bits``. Of shape ``(rows, width)`` where each row has the same
        number of features (at least 1), or flat where ``indptr`` says which belong to which row.
    bits
        1 to 31: a trainer has ``2 ** bits`` weights.
    indptr
        ``int64``: row ``r`` has the indices from ``indptr[r]`` up to ``indptr[r + 1]``.
    values
        ``float32`` for each index, finite. Without them, each is 1.
    labels
        What is to be predicted: ``int32`` codes below ``classes``, or finite ``float32`` numbers.
    weights
        How much each row counts: ``float32``, finite, not negative. Without them, each 1.
    classes
        How many classes labels of ``int32`` have, at least 2; of no meaning otherwise.

    Raises
    ------
    ParameterError
        If ``bits`` or ``classes`` is out of range.
    DataError
        If an array is of another type or shape, or holds what it may not.

    Guarantees
    ----------
    Whatever exists of this type is valid: nothing needs to be checked again. The arrays can't be
    written to, and are C-contiguous and aligned.

    Edge cases
    ----------
    There may be no rows. Rows of the flat layout may have no features. An index may be there
    twice in a row: its values then add up.

    Examples
    --------
    >>> import numpy as np
    >>> rows = HashedRows(indices=np.array([[3, 1], [0, 7]], dtype=np.uint32), bits=3)
    >>> rows
    HashedRows(rows=2, width=2, bits=3, values=False, labels='none', weights=False)
    >>> HashedRows.from_batch(rows.to_batch()).equals(rows)
    True
    """

    indices: NDArray[np.uint32]
    bits: int
    indptr: NDArray[np.int64] | None = None
    values: NDArray[np.float32] | None = None
    labels: NDArray[np.float32] | NDArray[np.int32] | None = None
    weights: NDArray[np.float32] | None = None
    classes: int = 2

    def __post_init__(self) -> None:
        integer_at_least(1, owner="HashedRows", bits=self.bits)
        integer_at_least(2, owner="HashedRows", classes=self.classes)
        if self.bits > MAX_BITS or self.classes > MAX_CLASSES:
            raise ParameterError(
                f"HashedRows has at most {MAX_BITS} bits and {MAX_CLASSES:,} classes. "
                f"Got {self.bits} and {self.classes}."
            )
        for name in ("indices", "indptr", "values", "labels", "weights"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, _read_only_view(array, name))
        self._check_features()
        self._check_labels()

    def _check_features(self) -> None:
        _demand(self.indices, "indices", np.uint32)
        if self.indptr is None:
            if self.indices.ndim != 2 or self.indices.shape[1] < 1:
                raise DataError(
                    "The indices of hashed rows must have two dimensions and at least one column.",
                    hint="Give indptr where rows have different numbers of features.",
                )
        else:
            _demand(self.indptr, "indptr", np.int64)
            _check_offsets(self.indptr, self.indices)
        if self.indices.size and int(self.indices.max()) >> self.bits:
            raise DataError(f"An index of hashed rows is not below 2 ** {self.bits}.")
        if self.values is not None:
            _demand(self.values, "values", np.float32)
            if self.values.shape != self.indices.shape:
                raise DataError("Hashed rows need as many values as indices.")
            _demand_finite(self.values, "values")

    def _check_labels(self) -> None:
        shape = (len(self),)
        if self.labels is not None:
            _demand(self.labels, "labels", np.int32, np.float32)
            if self.labels.shape != shape:
                raise DataError("Hashed rows need one label for each row.")
            if self.labels.dtype == np.float32:
                _demand_finite(self.labels, "labels")
            elif len(self) and (self.labels.min() < 0 or self.labels.max() >= self.classes):
                raise DataError(f"A label of hashed rows is not from 0 to {self.classes - 1}.")
        if self.weights is not None:
            _demand(self.weights, "weights", np.float32)
            if self.weights.shape != shape:
                raise DataError("Hashed rows need one weight for each row.")
            _demand_finite(self.weights, "weights")
            if len(self) and self.weights.min() < 0:
                raise DataError("A weight of hashed rows is negative.")

    def __len__(self) -> int:
        return len(self.indices) if self.indptr is None else len(self.indptr) - 1

    def __repr__(self) -> str:
        width = self.width if self.indptr is None else None
        return (
            f"HashedRows(rows={len(self)}, width={width}, bits={self.bits}, "
            f"values={self.values is not None}, labels={self.label_kind!r}, "
            f"weights={self.weights is not None})"
        )

    @property
    def width(self) -> int | None:
        """How many features each row has; None in the flat layout, where rows differ."""
        return int(self.indices.shape[1]) if self.indptr is None else None

    @property
    def label_kind(self) -> str:
        """``"none"``, ``"number"``, ``"binary"`` or ``"classes:N"``, as sent."""
        if self.labels is None:
            return "none"
        if self.labels.dtype == np.float32:
            return "number"
        return "binary" if self.classes == 2 else f"classes:{self.classes}"

    def flat(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32] | None]:
        """Return ``indptr``, ``indices`` and ``values`` in the flat layout, uncopied."""
        if self.indptr is not None:
            return self.indptr, self.indices, self.values
        bounds = np.arange(len(self) + 1, dtype=np.int64) * self.indices.shape[1]
        values = None if self.values is None else self.values.reshape(-1)
        return bounds, self.indices.reshape(-1), values

    def slice(self, start: int, stop: int) -> HashedRows:
        """Return the rows from ``start`` up to ``stop``, without copying features.

        Parameters
        ----------
        start, stop
            The first row, and the row after the last one.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        features, bounds = slice(start, stop), None
        if self.indptr is not None:
            bounds = self.indptr[start : stop + 1] - self.indptr[start]
            features = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return HashedRows(
            indices=self.indices[features],
            bits=self.bits,
            indptr=bounds,
            values=None if self.values is None else self.values[features],
            labels=None if self.labels is None else self.labels[start:stop],
            weights=None if self.weights is None else self.weights[start:stop],
            classes=self.classes,
        )

    @classmethod
    def concat(cls, parts: Iterable[HashedRows]) -> Self:
        """Return the rows of several parts as one, in order.

        Parameters
        ----------
        parts
            Rows of the same layout.

        Raises
        ------
        ParameterError
            If there is no part, or parts differ in bits, in the kind of labels, or in whether
            they have values or weights.

        Edge cases
        ----------
        Parts of different widths or layouts become one of the flat layout.
        """
        rows = list(parts)
        if not rows:
            raise ParameterError("HashedRows.concat needs at least one part.")
        first = rows[0]
        if any(part.form() != first.form() for part in rows):
            raise ParameterError(
                "Hashed rows of different bits, labels, values or weights can't be joined."
            )
        if first.width is not None and all(part.width == first.width for part in rows):
            found = _stack(rows, "indices", "values")
        else:
            found = _chain_features(rows)
        return cls(
            bits=first.bits, classes=first.classes, **found, **_stack(rows, "labels", "weights")
        )

    def form(self) -> tuple[object, ...]:
        """Return what rows have to have in common to be joined."""
        return self.bits, self.label_kind, self.values is None, self.weights is None

    def equals(self, other: HashedRows) -> bool:
        """Return whether both hold the same, in the same layout, bit by bit.

        Parameters
        ----------
        other
            The rows to compare with.
        """

        def same(one: NDArray[Any] | None, another: NDArray[Any] | None) -> bool:
            if one is None or another is None:
                return one is another
            return one.shape == another.shape and one.tobytes() == another.tobytes()

        return self.form() == other.form() and all(
            same(getattr(self, name), getattr(other, name))
            for name in ("indices", "indptr", "values", "labels", "weights")
        )

    def to_csr(self) -> Any:  # noqa: ANN401 - scipy ships no types
        """Return a ``scipy.sparse.csr_matrix`` of ``float32`` with ``2 ** bits`` columns.

        Indices that are there twice in a row are added up, and each row's indices are in order.
        """
        from scipy.sparse import csr_matrix  # noqa: PLC0415 # only this needs it

        bounds, indices, values = self.flat()
        data = np.ones(len(indices), np.float32) if values is None else values.copy()
        narrow = np.int32 if len(indices) < 1 << 31 else np.int64
        matrix = csr_matrix(
            (data, indices.astype(narrow), bounds.astype(narrow)), shape=(len(self), 1 << self.bits)
        )
        matrix.sum_duplicates()
        return matrix

    def to_batch(self) -> Any:  # noqa: ANN401 - pyarrow ships no types
        """Return a ``pyarrow.RecordBatch`` of the wire format, without a copy."""
        from halfmask.hashing._wire import batch_of  # noqa: PLC0415 # pyarrow takes 0.2 s

        arrays = {"i": self.indices, "v": self.values, "y": self.labels, "w": self.weights}
        return batch_of(arrays, self.indptr, bits=self.bits, labels=self.label_kind)

    @classmethod
    def from_batch(cls, batch: object) -> Self:
        """Return the rows of a ``pyarrow.RecordBatch`` of the wire format, uncopied.

        Parameters
        ----------
        batch
            The record batch.

        Raises
        ------
        DataError
            If it isn't of the wire format: other fields or types, a missing value, an index
            beyond the bits, an infinite value, a label that isn't of the kind that is declared.

        Guarantees
        ----------
        Offsets and lengths are checked before they are followed, so that untrusted bytes raise
        this error, or are rows.
        """
        from halfmask.hashing._wire import arrays_of  # noqa: PLC0415 # pyarrow takes 0.2 s

        found = arrays_of(batch)
        try:
            return cls(**found)
        except ParameterError as error:
            raise DataError(error.what) from None


def _stack(parts: Sequence[HashedRows], *names: str) -> dict[str, Any]:
    return {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in names
        if getattr(parts[0], name) is not None
    }


def _chain_features(parts: Sequence[HashedRows]) -> dict[str, Any]:
    """Return the features in the flat layout: each part's offsets go on where the last ended."""
    bounds, indices, values = zip(*(part.flat() for part in parts), strict=True)
    ends = np.cumsum([len(each) for each in indices])
    found: dict[str, Any] = {
        "indptr": np.concatenate(
            [bounds[0], *(b[1:] + end for b, end in zip(bounds[1:], ends[:-1], strict=True))]
        ),
        "indices": np.concatenate(indices),
    }
    if values[0] is not None:
        found["values"] = np.concatenate(values)
    return found


def _read_only_view(array: NDArray[Any], name: str) -> NDArray[Any]:
    if not isinstance(array, np.ndarray):
        raise DataError(f"The {name} of hashed rows must be a numpy array.")
    view = np.require(array, requirements=["C", "A"]).view()
    view.flags.writeable = False
    return view


def _demand(array: NDArray[Any], name: str, *types: type[np.generic]) -> None:
    if array.dtype not in types:
        wanted = " or ".join(np.dtype(each).name for each in types)
        raise DataError(f"The {name} of hashed rows must be {wanted}. Got {array.dtype.name}.")


def _demand_finite(array: NDArray[Any], name: str) -> None:
    if not np.isfinite(array).all():
        raise DataError(f"The {name} of hashed rows must be finite numbers.")


def _check_offsets(indptr: NDArray[np.int64], indices: NDArray[np.uint32]) -> None:
    if indptr.ndim != 1 or not len(indptr) or indices.ndim != 1:
        raise DataError("Flat hashed rows need one more offset than rows, and flat indices.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise DataError("The offsets of hashed rows must rise from 0 to the number of indices.")

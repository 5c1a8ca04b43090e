"""Rows into hashed rows by the keys of their columns, without the secret that keys follow from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.engines import map_in_order
from halfmask.hashing._cells import (
    arrow_of,
    columns_of,
    is_empty,
    kind_of,
    same_kind,
    views_of,
    with_column,
)
from halfmask.hashing._rows import HashedRows
from halfmask.hashing._slots import BinSlot, CategorySlot, LogSlot, RawSlot, read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.hashing._settings import Wired
    from halfmask.hashing._slots import BagCounts, Coded, Slot


#: Rows that are written slot by slot: so many stay in the cache.
_BLOCK = 8192
_SIGN = np.uint64(63)


def dense(
    coded: Sequence[Coded], n_rows: int, *, bits: int, signed: bool
) -> tuple[NDArray[np.uint32], NDArray[np.float32] | None]:
    """Return the indices, and values if there are any, of rows of as many features as slots."""
    mask = np.uint64((1 << bits) - 1)
    indices = _write_slots([_place_coded(it, mask) for it in coded], n_rows)
    if not signed and all(it.values is None for it in coded):
        return indices, None
    values = np.ones((n_rows, len(coded)), np.float32)
    for slot, it in enumerate(coded):
        if it.values is not None:
            values[:, slot] = it.values
        if signed:
            signs = _signs(it.hashes)
            values[:, slot] *= signs if it.codes is None else signs[it.codes]
    return indices, values


def flat(
    indices: NDArray[np.uint32],
    values: NDArray[np.float32] | None,
    bags: Sequence[BagCounts],
    *,
    bits: int,
    signed: bool,
) -> dict[str, Any]:
    """Return rows of the flat layout: the dense features of each row, then those of its bags."""
    n_rows, width = indices.shape
    sizes = width + sum((bag.counts for bag in bags), np.zeros(n_rows, np.int64))
    bounds = np.zeros(n_rows + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    found = np.empty(bounds[-1], np.uint32)
    weights = None if values is None and not signed else np.ones(bounds[-1], np.float32)
    starts = bounds[:-1].copy()
    places = starts[:, None] + np.arange(width)
    found[places] = indices
    if weights is not None and values is not None:
        weights[places] = values
    starts += width
    for bag in bags:
        # Where the first of a row's hashes goes, less how many went before it in the bag.
        shift = starts - (np.cumsum(bag.counts) - bag.counts)
        at = np.arange(len(bag.hashes)) + np.repeat(shift, bag.counts)
        found[at] = _indices(bag.hashes, np.uint64((1 << bits) - 1))
        if signed and weights is not None:
            weights[at] = _signs(bag.hashes)
        starts += bag.counts
    return {"indices": found, "indptr": bounds, "values": weights}


def _indices(hashes: NDArray[np.uint64], mask: np.uint64) -> NDArray[np.uint32]:
    return (hashes & mask).astype(np.uint32)


def _signs(hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return 1, or -1 where the upper bit is set: no index reaches it."""
    return (1.0 - 2.0 * (hashes >> _SIGN)).astype(np.float32)


#: Writes so many rows of a slot: called with the first row, their number, the slot and the indices.
_Place: TypeAlias = "Callable[[int, int, int, NDArray[np.uint32]], None]"


def place_slots(
    slots: Sequence[Slot], columns: Mapping[str, Any], n_rows: int, *, bits: int
) -> NDArray[np.uint32] | None:
    """Return the indices of rows; None where numbers are kept."""
    if not n_rows or any(isinstance(slot, RawSlot) for slot in slots):
        return None
    mask = np.uint64((1 << bits) - 1)
    return _write_slots([placer(slot, columns, mask) for slot in slots], n_rows)


def _write_slots(places: Sequence[_Place], n_rows: int) -> NDArray[np.uint32]:
    """Return the indices that slots write, a column each, block by block."""
    indices = np.empty((n_rows, len(places)), np.uint32)
    for first in range(0, n_rows, _BLOCK):
        rows = min(_BLOCK, n_rows - first)
        for number, place in enumerate(places):
            place(first, rows, number, indices)
    return indices


def placer(slot: Slot, columns: Mapping[str, Any], mask: np.uint64) -> _Place:
    """Return what writes some rows of one slot, into as many rows as the columns have.

    The mask has the bits of a hash that are an index.
    """
    if isinstance(slot, CategorySlot):
        array = columns[slot.column]
        views = views_of(array)
        if views is not None:
            return _place_views(slot, array, views, mask)
    elif isinstance(slot, BinSlot | LogSlot) and _is_number(columns[slot.column].type):
        return _place_numbers(slot, columns[slot.column], mask)
    return _place_coded(slot.coded(columns), mask)


def _place_views(
    slot: CategorySlot,
    array: Any,  # noqa: ANN401 # pyarrow ships no types
    views: NDArray[np.uint64],
    mask: np.uint64,
) -> _Place:
    from halfmask.kernels.hashing.placing import place_views  # noqa: PLC0415 # numba takes a second

    valid, missing = _valid(array), np.uint32(slot.missing & mask)

    def place(first: int, rows: int, number: int, indices: NDArray[np.uint32]) -> None:
        place_views(
            views, valid, array.offset, first, rows, *slot.key, missing, mask, number, indices
        )

    return place


def _place_numbers(slot: BinSlot | LogSlot, array: Any, mask: np.uint64) -> _Place:  # noqa: ANN401 # no types
    from halfmask.kernels.hashing.placing import place_binned, place_logged  # noqa: PLC0415 # numba

    whole = pa.types.is_integer(array.type)
    array = array.cast(pa.int64() if whole else pa.float64())
    numbers: Any = np.frombuffer(array.buffers()[1], np.int64 if whole else np.float64)
    numbers, valid = numbers[array.offset : array.offset + len(array)], _valid(array)
    table, bits = read_only((slot.table & mask).astype(np.uint32)), np.empty(1, np.uint64)

    def place(first: int, rows: int, number: int, indices: NDArray[np.uint32]) -> None:
        cells = (numbers, valid, array.offset, first, rows)
        if isinstance(slot, LogSlot):
            place_logged(*cells, slot.bits, table, number, indices, bits)
        else:
            place_binned(*cells, read_only(slot.edges), table, number, indices)

    return place


def _place_coded(found: Coded, mask: np.uint64) -> _Place:
    """Write by hashes, or by codes of them, that are in memory."""
    from halfmask.kernels.hashing import siphash  # noqa: PLC0415 # numba takes a second

    table = None if found.codes is None else _indices(found.hashes, mask)

    def place(first: int, rows: int, number: int, indices: NDArray[np.uint32]) -> None:
        some = slice(first, first + rows)
        if table is None or found.codes is None:
            siphash.place_hashes(found.hashes[some], mask, first, number, indices)
        else:
            siphash.place(table, found.codes[some], first, number, indices)

    return place


def _is_number(dtype: Any) -> bool:  # noqa: ANN401 # pyarrow ships no types
    types = pa.types
    if types.is_integer(dtype):
        return not types.is_uint64(dtype)
    return bool(types.is_float32(dtype) or types.is_float64(dtype))


def _valid(array: Any) -> NDArray[np.uint8]:  # noqa: ANN401 # pyarrow ships no types
    """Return Arrow's bits of which cells are there; none if all are."""
    bits = array.buffers()[0] if array.null_count else None
    return np.frombuffer(b"" if bits is None else bits, np.uint8)


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
        indices = (
            None if signed else place_slots(self.wired.slots, columns, table.num_rows, bits=bits)
        )
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

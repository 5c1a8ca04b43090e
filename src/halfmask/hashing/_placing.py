"""Slots and bags into rows: straight to indices where nothing but an index comes of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from halfmask.hashing._cells import views_of
from halfmask.hashing._slots import BinSlot, CategorySlot, LogSlot, RawSlot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.hashing._bags import BagCounts
    from halfmask.hashing._slots import Coded, Slot

#: Rows that are written slot by slot: so many stay in the cache.
_BLOCK = 8192
_SIGN = np.uint64(63)


def dense(
    coded: Sequence[Coded], n_rows: int, *, bits: int, signed: bool
) -> tuple[NDArray[np.uint32], NDArray[np.float32] | None]:
    """Return the indices, and values if there are any, of rows of as many features as slots."""
    from halfmask.kernels.hashing.siphash import place, place_hashes  # noqa: PLC0415 # numba takes a second

    indices = np.empty((n_rows, len(coded)), np.uint32)
    mask = np.uint64((1 << bits) - 1)
    tables = [None if it.codes is None else _indices(it.hashes, mask) for it in coded]
    for first in range(0, n_rows, _BLOCK):
        rows = slice(first, first + _BLOCK)
        for slot, (table, it) in enumerate(zip(tables, coded, strict=True)):
            if table is None or it.codes is None:
                place_hashes(it.hashes[rows], mask, first, slot, indices)
            else:
                place(table, it.codes[rows], first, slot, indices)
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


def placed(
    slots: Sequence[Slot], columns: Mapping[str, Any], n_rows: int, *, bits: int
) -> NDArray[np.uint32] | None:
    """Return the indices of rows; None where numbers are kept."""
    if not n_rows or any(isinstance(slot, RawSlot) for slot in slots):
        return None
    mask = np.uint64((1 << bits) - 1)
    places = [placer(slot, columns, mask) for slot in slots]
    indices = np.empty((n_rows, len(slots)), np.uint32)
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
    return _place_coded(slot, columns, mask)


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
    table, bits = _frozen((slot.table & mask).astype(np.uint32)), np.empty(1, np.uint64)

    def place(first: int, rows: int, number: int, indices: NDArray[np.uint32]) -> None:
        cells = (numbers, valid, array.offset, first, rows)
        if isinstance(slot, LogSlot):
            place_logged(*cells, slot.bits, table, number, indices, bits)
        else:
            place_binned(*cells, _frozen(slot.edges), table, number, indices)

    return place


def _place_coded(slot: Slot, columns: Mapping[str, Any], mask: np.uint64) -> _Place:
    """Write by hashes, or by codes of them, that are in memory."""
    from halfmask.kernels.hashing import siphash  # noqa: PLC0415 # numba takes a second

    found = slot.coded(columns)
    table = None if found.codes is None else (found.hashes & mask).astype(np.uint32)

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


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    # Arrow's own arrays can't be written to: without this, loops would be compiled for both.
    array = array.view()
    array.flags.writeable = False
    return array

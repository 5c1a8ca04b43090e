"""Scalars numbered by first appearance within their event, from token to token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.json_numbers import put_decimal
from halfmask.kernels.text.json_tokens import key_of, meta_of, same_bytes, shift_for
from halfmask.kernels.text.wide_loads import peek, poke

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["number_within"]

#: Of the kinds of `halfmask.events`: the first scalar but null, numbers without a point, the last.
_FALSE, _INTEGER, _STRING = 2, 4, 6
_NULL = 1


@njit_unchecked
def number_within(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    groups: NDArray[np.int64],
    seed: np.uint64,
    table: NDArray[np.int32],
    stamps: NDArray[np.int64],
    keys: NDArray[np.uint64],
    metas: NDArray[np.int64],
    slots: NDArray[np.int64],
    out: NDArray[np.uint8],
    became: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Write 1, 2, 3, ... by first appearance of a scalar within its group.

    Parameters
    ----------
    data, kinds, starts, stops, seed
        As of `json_tokens.number_distinct`. NULL stays.
    groups
        The group of each slot, from 0 on; the slots of a group are neighbours.
    table, stamps, keys, metas, slots
        Room; the table's length is a power of two above the size of any group, and so are the
        others'. Stamps are -1.
    out
        Written; as many bytes for each slot as the size of any group has digits, and one more.
    became, begins, ends
        Written: the kind of what was made, and where it stands.

    Returns
    -------
    int
        How many slots hold something else than a scalar.
    """
    mask, shift = len(table) - 1, shift_for(table)
    group, count, at, others = -1, 0, 0, 0
    for i in range(len(kinds)):
        kind = int(kinds[i])
        begins[i] = at
        if kind < _FALSE or kind > _STRING:
            became[i] = _NULL if kind == _NULL else 0
            others += kind > _STRING
            ends[i] = at
            continue
        if groups[i] != group:
            group, count = groups[i], 0
        start = starts[i]
        meta = meta_of(kind, stops[i] - start)
        length = meta >> 4
        key = key_of(data, start, meta, seed)
        place = np.int64((key * seed) >> shift)
        while peek(stamps, place) == group:
            if peek(keys, place) == key and peek(metas, place) == meta:
                other = starts[peek(slots, place)]
                if length <= 8 or same_bytes(data, other, data, start, length):
                    break
            place = (place + 1) & mask
        if peek(stamps, place) != group:
            count += 1
            poke(stamps, place, group)
            poke(keys, place, key)
            poke(metas, place, meta)
            poke(slots, place, i)
            poke(table, place, count)
        at = put_decimal(out, at, peek(table, place), 0)
        became[i] = _INTEGER
        ends[i] = at
    return others

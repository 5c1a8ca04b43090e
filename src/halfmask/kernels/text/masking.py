"""Texts with their middle masked, by the column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_no_nrt
from halfmask.kernels.text.wide_loads import AHEAD, fetch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["mask_texts"]


@njit_no_nrt
def _after(data: NDArray[np.uint8], at: int, stop: int, count: int) -> int:
    """Return where so many characters of UTF-8 end; -1 if there are fewer, or one is escaped."""
    while count > 0:
        if at >= stop or data[at] == 92:
            return -1
        at += 1
        while at < stop and data[at] & 0xC0 == 0x80:
            at += 1
        count -= 1
    return at


@njit_no_nrt
def _characters(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """Return how many characters of UTF-8 there are; -1 if one is escaped."""
    count = 0
    for i in range(at, stop):
        if data[i] == 92:
            return -1
        count += data[i] & 0xC0 != 0x80
    return count


@njit_no_nrt
def mask_texts(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    first: int,
    last: int,
    length: int,
    mark: NDArray[np.uint8],
    out: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    done: NDArray[np.bool_],
) -> None:
    """Write the first and last characters of texts, with marks between.

    Parameters
    ----------
    data, starts, stops
        Texts: UTF-8, with the escapes of JSON; where each begins and ends.
    wanted
        Which are masked.
    first, last
        How many characters are kept; a text that has no more is masked whole.
    length
        How many marks are written; below 0 one for each character that isn't kept.
    mark
        The bytes of a mark.
    out
        Written; there must be room for the bytes of all wanted texts and as many marks as there
        are characters, or `length`.
    begins, ends
        Written: where each masked text stands.
    done
        Written: false where nothing was, since the text has an escape.
    """
    at = 0
    for i in range(len(starts)):
        if i + AHEAD < len(starts):
            fetch(data, starts[i + AHEAD])
        begins[i] = ends[i] = at
        done[i] = False
        if not wanted[i]:
            continue
        count = _characters(data, starts[i], stops[i])
        if count < 0:
            continue
        hidden = count - first - last
        head = tail = starts[i]
        if hidden <= 0:
            hidden = count
            tail = stops[i]
        else:
            head = _after(data, starts[i], stops[i], first)
            tail = _after(data, head, stops[i], hidden)
        for j in range(starts[i], head):
            out[at] = data[j]
            at += 1
        for _ in range(length if length >= 0 else hidden):
            for byte in mark:
                out[at] = byte
                at += 1
        for j in range(tail, stops[i]):
            out[at] = data[j]
            at += 1
        ends[i] = at
        done[i] = True

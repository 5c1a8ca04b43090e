"""Draws under a key by the number of a row: the same in each pass over a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows that are drawn at once: their arrays stay in the processor's cache.
_BLOCK: Final = 1 << 16


def fractions(drawn: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn random 64-bit integers into numbers above 0 and below 1.

    Parameters
    ----------
    drawn
        Random 64-bit integers.

    Examples
    --------
    >>> fractions(np.array([0, 2**63, 2**64 - 1], np.uint64)).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    # 53 bits: what a float64 holds exactly. Half a step keeps them off 0.
    found = (drawn >> np.uint64(11)).astype(np.float64)
    found *= 2.0**-53
    found += 2.0**-54
    return found


def row_fractions(
    n: int, *, key: bytes, first_row: int = 0, stream: int = 0
) -> NDArray[np.float64]:
    """Return a number between 0 and 1 for each of ``n`` rows.

    Parameters
    ----------
    n
        How many rows, at least 0.
    key
        32 secret bytes of one column.
    first_row
        The number of the first of them in the table, from 0.
    stream
        Different streams of one key are independent.

    Notes
    -----
    **Guarantees.** A row's number depends on the key, the stream and the row's number alone, so
    that batches of any size see the same.

    Examples
    --------
    >>> whole = row_fractions(10, key=bytes(32))
    >>> bool((whole[3:] == row_fractions(7, key=bytes(32), first_row=3)).all())
    True
    """
    found = np.empty(n)
    for start in range(0, n, _BLOCK):
        height = min(_BLOCK, n - start)
        drawn = keyed_integers(height, key=key, stream=stream, first=first_row + start)
        found[start : start + height] = fractions(drawn)
    return found

"""Random draws for rows, each from the number of its row; and the laws of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

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


#: The name of a distribution of noise.
Law: TypeAlias = Literal["laplace", "gaussian", "uniform"]
#: All distributions of noise.
LAWS: Final[tuple[Law, ...]] = ("laplace", "gaussian", "uniform")
#: Scales away from the middle beyond which 53 random bits tell nothing apart.
_ROOM: Final = {"laplace": 40.0, "gaussian": 8.0}


def noise(
    u: NDArray[np.float64], *, law: Law, scale: float, most: float | None = None
) -> NDArray[np.float64]:
    """Return the noise at which the law's distribution function has the values ``u``.

    Parameters
    ----------
    u
        Numbers between 0 and 1, neither of them.
    law
        ``"laplace"`` or ``"gaussian"`` with the scale b or sigma; ``"uniform"`` from -scale to
        scale.
    scale
        Above 0.
    most
        Where given, the law is cut at ``-most`` and ``most``, and has no heaps there.

    Examples
    --------
    >>> noise(np.array([0.25, 0.5, 0.75]), law="uniform", scale=10.0).tolist()
    [-5.0, 0.0, 5.0]
    """
    if law == "uniform":
        return (2.0 * u - 1.0) * scale
    # From the middle outwards, so that both tails have the same digits.
    sign, away = np.where(u < 0.5, -1.0, 1.0), np.abs(2.0 * u - 1.0)
    room = _ROOM[law] if most is None else min(most / scale, _ROOM[law])
    if law == "laplace":
        return np.asarray(-sign * scale * np.log1p(-away * -np.expm1(-room)))
    from scipy.special import erf, erfinv  # noqa: PLC0415 # scipy comes with scikit-learn; 60 ms

    root = np.sqrt(2.0)
    return np.asarray(sign * scale * root * erfinv(away * erf(room / root)))

"""Numbers that follow from a key: uniform, normal, orders, matrices and names."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import numpy as np

from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

# 64 bits: two names of a table of 10,000 columns share a token once in 10**11 codecs.
_TOKEN_BYTES = 8


class KeyedStream:
    """Numbers drawn one after the other from the ChaCha20 keystream of one key.

    The same key gives the same integers on every machine. Floats that went through ``log``,
    ``cos`` or LAPACK may differ in their last bit, so plans store them and never derive them again.
    """

    __slots__ = ("_drawn", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._drawn = 0

    def uniform(self, n: int) -> NDArray[np.float64]:
        """Return ``n`` numbers of the open interval (0, 1), in steps of 2**-52."""
        self._drawn += 1
        integers = keyed_integers(n, key=self._key, stream=self._drawn) >> np.uint64(12)
        return (integers.astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, *shape: int) -> NDArray[np.float64]:
        """Return standard normal numbers (Box and Muller 1958)."""
        n = int(np.prod(shape))
        radius = np.sqrt(-2 * np.log(self.uniform(n)))
        normal: NDArray[np.float64] = radius * np.cos(2 * np.pi * self.uniform(n))
        return normal.reshape(shape)

    def order(self, n: int) -> NDArray[np.int64]:
        """Return a permutation of ``range(n)``."""
        return np.argsort(self.uniform(n), kind="stable").astype(np.int64)

    def orthogonal(self, size: int) -> NDArray[np.float64]:
        """Return a matrix that is uniform among the rotations and reflections.

        The QR decomposition of normal numbers with the signs of R's diagonal (Mezzadri 2007).
        """
        q, r = np.linalg.qr(self.normal(size, size))
        return np.ascontiguousarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def token(key: bytes, name: str) -> str:
    """Return the name that stands for ``name``: HMAC-SHA256, cut to 16 hexadecimal digits.

    Without the key a dictionary of all names of the world tells nothing of it.

    Examples
    --------
    >>> token(bytes(32), "age")
    'c...'
    """
    return "c" + hmac.new(key, name.encode(), hashlib.sha256).digest()[:_TOKEN_BYTES].hex()

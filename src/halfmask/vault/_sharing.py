"""A secret in n shares, any m of which make it again, and fewer of which tell nothing of it.

Adi Shamir, "How to share a secret", Communications of the ACM 22 (1979): each byte is the value at
0 of a polynomial of degree m - 1 over GF(256), whose other coefficients are uniformly random; a
share is its values at one other point. The field is that of AES (FIPS 197): bytes are polynomials
over GF(2), modulo x^8 + x^4 + x^3 + x + 1.

Products are computed without tables or branches that depend on a secret byte.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

MAX_SHARES = 255
_MODULUS = 0x11B


def times(a: int, b: int) -> int:
    """Return the product of two elements of GF(256).

    Examples
    --------
    >>> hex(times(0x57, 0x83))  # the example of FIPS 197, section 4.2
    '0xc1'
    """
    product = 0
    for bit in range(8):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(14, 7, -1):
        product ^= (_MODULUS << bit - 8) * (product >> bit & 1)
    return product


def inverse(a: int) -> int:
    """Return the inverse of an element that isn't 0: its 254th power.

    Examples
    --------
    >>> times(0x53, inverse(0x53))
    1
    """
    power = a
    for _ in range(6):
        power = times(times(power, power), a)
    return times(power, power)


def share(secret: bytes, *, parts: int, needed: int) -> list[bytes]:
    """Return the shares at the points 1, 2, ..., parts."""
    coefficients = [secret, *(os.urandom(len(secret)) for _ in range(needed - 1))]
    return [_value_at(point, coefficients) for point in range(1, parts + 1)]


def combine(shares: Mapping[int, bytes], *, at: int = 0) -> bytes:
    """Return the value at a point of the polynomial through these shares, by Lagrange."""
    points = list(shares)
    found = bytes(len(shares[points[0]]))
    for point in points:
        weight = 1
        for other in points:
            if other != point:
                weight = times(weight, times(at ^ other, inverse(point ^ other)))
        weighted = bytes(times(byte, weight) for byte in shares[point])
        found = _sum(found, weighted)
    return found


def _value_at(point: int, coefficients: Sequence[bytes]) -> bytes:
    value = bytes(len(coefficients[0]))
    for coefficient in reversed(coefficients):
        value = _sum(bytes(times(byte, point) for byte in value), coefficient)
    return value


def _sum(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))

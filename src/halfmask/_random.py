"""Randomness that carries a promise: from the operating system, or from a key.

Experiments take a ``random_state``; what a promise rests on (the order in which rows leave) takes a
key. Without one, a fresh key is drawn from the operating system and forgotten.
"""

from __future__ import annotations

import hashlib
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_BYTES = 32
_INTEGERS_OF_BLOCK = 8  # a block of ChaCha20 has 64 bytes


class SecretBytes(bytes):
    """Bytes whose printed form shows none of them, as of a key that is a parameter.

    Examples
    --------
    >>> SecretBytes(b"ab"), SecretBytes(b"ab") == b"ab"
    (SecretBytes(n=2), True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"SecretBytes(n={len(self)})"

    __str__ = __repr__


class _NoSecret:
    """What stands for a key of a wrong type: it may be a key all the same, so it isn't kept."""

    def __init__(self, given: object) -> None:
        self.given = type(given).__name__

    def __repr__(self) -> str:
        return f"<a {self.given}>"


def secret_parameter(name: str, kind: type) -> property:
    """Return a key as an estimator's parameter: scikit-learn prints them, and logs keep that."""

    def get(estimator: object) -> Any:  # noqa: ANN401 # checked where it is used
        return vars(estimator)[name]

    def put(estimator: object, given: object) -> None:
        # scikit-learn's checks ask for the objects that they gave: these, and what a clone has.
        is_known = given is None or isinstance(given, kind | SecretBytes | _NoSecret)
        if not (is_known or (isinstance(given, float) and math.isinf(given))):
            given = SecretBytes(given) if isinstance(given, bytes) else _NoSecret(given)
        vars(estimator)[name] = given

    return property(get, put, doc="The key that was given; printed parameters don't show it.")


def fresh_key() -> bytes:
    """Return 32 bytes from the operating system."""
    return os.urandom(KEY_BYTES)


def type_of_key(key: object) -> str:
    """Return the name of the type that was given for a key."""
    if isinstance(key, _NoSecret):
        return key.given
    return "bytes" if isinstance(key, bytes) else type(key).__name__


def check_key(key: object) -> None:
    """Raise unless a key is 32 bytes."""
    if not isinstance(key, bytes):
        raise ParameterError(f"The key must be bytes. Got a {type_of_key(key)}.")
    if len(key) != KEY_BYTES:
        raise ParameterError(f"The key must have {KEY_BYTES} bytes. Got {len(key)}.")


def key_or_fresh(key: bytes | None) -> bytes:
    """Return a key that was given, or one from the operating system."""
    if key is None:
        return fresh_key()
    check_key(key)
    return key


def derived_key(key: bytes, purpose: str) -> bytes:
    """Return a key for one purpose, which tells nothing of the given one or of other purposes."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=KEY_BYTES).digest()


def keyed_integers(n: int, *, key: bytes, stream: int = 0, first: int = 0) -> NDArray[np.uint64]:
    """Return ``n`` unpredictable 64-bit integers, the same for the same key and stream.

    Notes
    -----
    The keystream of ChaCha20 (RFC 8439), the stream number as its nonce.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: PLC0415 # 30 ms

    check_key(key)
    block, skipped = divmod(first, _INTEGERS_OF_BLOCK)
    nonce = block.to_bytes(8, "little") + stream.to_bytes(8, "little")
    encryptor = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()
    drawn = np.frombuffer(encryptor.update(bytes(8 * (skipped + n))), dtype=np.uint64)
    return drawn[skipped:]


def keyed_order(n: int, *, key: bytes, stream: int = 0) -> NDArray[np.int64]:
    """Return a permutation of ``range(n)`` that nobody without the key can predict.

    Examples
    --------
    >>> sorted(keyed_order(4, key=bytes(32)).tolist())
    [0, 1, 2, 3]
    """
    integers = keyed_integers(n, key=key, stream=stream)
    # Sorting integers whose last bits are their places is ten times faster than sorting places.
    # It is the order by all bits unless two agree in all the others.
    places = np.uint64((1 << max(0, n - 1).bit_length()) - 1)
    ordered = np.sort((integers & ~places) | np.arange(n, dtype=np.uint64))
    drawn = ordered & ~places
    if (drawn[1:] == drawn[:-1]).any():
        return np.argsort(integers, kind="stable").astype(np.int64)
    return (ordered & places).astype(np.int64)

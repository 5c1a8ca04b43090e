"""Sealed bytes: unreadable without the key, and unalterable with another.

A sealed file is, one after the other::

    16   halfmask-seal/1 and a line end       what it is, and its version
    32   salt                                 random; a key of its own for each file
    32   commitment                           to the key and to the context
     n   ciphertext                           ChaCha20-Poly1305
    16   tag
    32   SHA-256 of all before                tells damage from a wrong key

The key of the cipher and the commitment are the two parts of one HKDF over key, salt and context.
An AEAD alone doesn't commit: two keys can be made to open one file, each to a text of its own
(Albertini et al., "How to Abuse and Fix Authenticated Encryption Without Key Commitment", USENIX
Security 2022). Here a second key, or a second context, would need a collision of SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError

MAGIC = b"halfmask-seal/1\n"
_FAMILY = re.compile(rb"halfmask-seal/\d+\n")
_INFO = b"halfmask/envelope/1"
_SALT = _COMMITMENT = _DIGEST = 32
_TAG = 16
#: Every key is used once, so that the nonce may be the same.
_NONCE = bytes(12)
_HEAD = len(MAGIC) + _SALT + _COMMITMENT
OVERHEAD = _HEAD + _TAG + _DIGEST
#: More isn't a key, a plan or a mapping; the cipher takes no more than twice as much at once.
MAX_BYTES = 2**30


def seal(data: bytes, *, key: bytes, context: bytes) -> bytes:
    """Return the sealed form of ``data``.

    Notes
    -----
    **Guarantees.** Without the key nobody learns anything of the data but their length, and nobody
    makes another file that opens. One file opens under one key and one context.
    """
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 # 30 ms
        ChaCha20Poly1305,
    )

    if len(data) > MAX_BYTES:
        raise ParameterError(f"At most {MAX_BYTES:,} bytes can be sealed. Got {len(data):,}.")
    salt = os.urandom(_SALT)
    cipher_key, commitment = _keys(key, salt, context)
    head = MAGIC + salt + commitment
    body = head + ChaCha20Poly1305(cipher_key).encrypt(_NONCE, data, head)
    return body + hashlib.sha256(body).digest()


def open_sealed(sealed: bytes, *, key: bytes, context: bytes) -> bytes:
    """Return what was sealed under the same key and context.

    Notes
    -----
    **Guarantees.** Nothing of the data is returned unless all of it is unaltered.
    """
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 # 30 ms
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 # the same
        ChaCha20Poly1305,
    )

    _check_form(sealed)
    body = sealed[:-_DIGEST]
    head, ciphertext = body[:_HEAD], body[_HEAD:]
    salt, commitment = head[len(MAGIC) : -_COMMITMENT], head[-_COMMITMENT:]
    cipher_key, expected = _keys(key, salt, context)
    if not hmac.compare_digest(commitment, expected):
        raise KeyMismatchError(
            "The sealed bytes don't open: they are of another key, or belong to something else.",
            hint="Open it with the lock and for the context that it was sealed with.",
        )
    try:
        return ChaCha20Poly1305(cipher_key).decrypt(_NONCE, ciphertext, head)
    except InvalidTag:
        raise _altered() from None


def _check_form(sealed: bytes) -> None:
    if not sealed.startswith(MAGIC) and _FAMILY.match(sealed):
        raise VaultError(
            "What is sealed was sealed by another version of halfmask, or was altered.",
            hint="Open it with the version that sealed it.",
        )
    if not sealed.startswith(MAGIC) or len(sealed) < OVERHEAD:
        raise _altered()
    if not hmac.compare_digest(hashlib.sha256(sealed[:-_DIGEST]).digest(), sealed[-_DIGEST:]):
        raise _altered()


def _keys(key: bytes, salt: bytes, context: bytes) -> tuple[bytes, bytes]:
    if len(key) != KEY_BYTES:
        raise ParameterError(f"A key has {KEY_BYTES} bytes. Got {len(key)}.")
    both = hkdf(key, salt=salt, info=framed(_INFO, context), length=KEY_BYTES + _COMMITMENT)
    return both[:KEY_BYTES], both[KEY_BYTES:]


def _altered() -> IntegrityError:
    return IntegrityError(
        "What is sealed was altered or cut off: it is not what was written.",
        hint="Take the copy that was made after it was last written.",
    )


KEY_BYTES = 32


def hkdf(material: bytes, *, info: bytes, length: int = KEY_BYTES, salt: bytes = b"") -> bytes:
    """Derive ``length`` bytes from uniformly random material: HKDF with SHA-256 (RFC 5869)."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 # 30 ms
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 # the same

    return HKDF(algorithm=SHA256(), length=length, salt=salt or None, info=info).derive(material)


def framed(*words: bytes) -> bytes:
    """Join words so that they can be joined in one way only: each has its length before it.

    Examples
    --------
    >>> framed(b"ab", b"c") == framed(b"a", b"bc")
    False
    """
    return b"".join(len(word).to_bytes(8, "big") + word for word in words)


def utf8(text: str, what: str) -> bytes:
    """Return the UTF-8 form of a text, or say that it has none without repeating it."""
    try:
        return text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise ParameterError(f"{what} must be text with a UTF-8 form.") from None

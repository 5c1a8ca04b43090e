"""Deriving keys from keys, and binding words into what they are for."""

from __future__ import annotations

from halfmask._errors import ParameterError

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

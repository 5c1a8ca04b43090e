"""A line below a short text that tells damage from a wrong key.

A checksum is no seal: an attacker who alters a file writes a new one. It finds a bad disk, a slip
in an editor and a torn copy, before a key is tried.
"""

from __future__ import annotations

import hashlib

from halfmask._errors import IntegrityError


def with_checksum(body: bytes) -> bytes:
    r"""Return the text with its checksum in a last line.

    Examples
    --------
    >>> checked(with_checksum(b"some words\n"), what="The note")
    b'some words\n'
    """
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def checked(text: bytes, *, what: str) -> bytes:
    """Return the text without its checksum, which must be right."""
    body = text[: -2 * hashlib.sha256().digest_size - 1]
    if with_checksum(body) != text:
        raise IntegrityError(
            f"{what} was altered or cut off: its checksum is wrong.",
            hint="Take the copy that was made after it was last written.",
        )
    return body

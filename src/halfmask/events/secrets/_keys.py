"""The keys of a release of events: one for each purpose and domain, independent of each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from halfmask.vault import Secret

#: The first and the last eight bytes of a SipHash key, as little-endian numbers.
Words: TypeAlias = tuple[np.uint64, np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKeys:
    """The keys that follow from a secret for one release.

    Examples
    --------
    >>> from halfmask.vault import Secret
    >>> secret = Secret.from_bytes(bytes(32))
    >>> one, other = (EventKeys(secret=secret, release=word) for word in ("a", "b"))
    >>> one.of("token", "id") == other.of("token", "id")
    False
    """

    secret: Secret
    release: str

    def of(self, purpose: str, domain: str, *, length: int = 32) -> bytes:
        """Return the key of a purpose, such as ``"token"``, and what it is for."""
        column = json.dumps([self.release, domain], ensure_ascii=False, separators=(",", ":"))
        return self.secret.key(f"events/{purpose}", column=column, length=length)

    def words(self, purpose: str, domain: str) -> Words:
        """Return a key as the two words that SipHash takes."""
        first, last = np.frombuffer(self.of(purpose, domain, length=16), "<u8").astype(np.uint64)
        return first, last

"""The keys of a release of events, one for each purpose and domain, and draws under them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.events.block._levels import ordinals
from halfmask.events.block._values import Kind
from halfmask.events.block._words import identity, person_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._level import Level
    from halfmask.events.block._values import Values
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


_MOST_KNOWN = 1 << 18


def event_draws(level: Level, *, first_event: int, key: Words) -> NDArray[np.uint64]:
    """Return 64 bits for each slot, by its event's number in the stream and its own within."""
    from halfmask.kernels.hashing.siphash import hash_words  # noqa: PLC0415 # numba is slow to import

    words = np.empty((level.slots, 2), np.uint64)
    words[:, 0] = level.event + first_event
    words[:, 1] = ordinals(level)
    drawn = np.empty(level.slots, np.uint64)
    hash_words(words, *key, drawn)
    return drawn


class EntityDraws:
    """64 bits for each entity, always the same under one key."""

    __slots__ = ("_key", "_known")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[tuple[Kind, bytes], int] = {}

    def of(self, entities: Values) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the bits of each slot's entity, and whether it has one."""
        codes, tokens = entities.distinct()
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        drawn = np.array([self._one(token) for token in tokens] + [0], np.uint64)
        named = np.array([person_word(*token) is not None for token in tokens] + [False], np.bool_)
        return drawn[codes], named[codes]

    def _one(self, token: tuple[Kind, bytes]) -> int:
        known = self._known.get(token)
        if known is None:
            data = bytes([Kind.STRING]) + identity(*token)
            digest = hashlib.blake2b(data, key=self._key, digest_size=8).digest()
            known = self._known[token] = int.from_bytes(digest, "little")
        return known


def steps(drawn: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Return whole numbers from 0 to below a count, each as likely up to count / 2**64."""
    return (drawn % np.uint64(count)).astype(np.int64)

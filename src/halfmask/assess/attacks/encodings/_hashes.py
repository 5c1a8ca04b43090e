"""Ways to turn a name into another one that need no key: what a dictionary is tried with."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.assess.attacks._murmur3 import murmur3
from halfmask.assess.attacks._several import several

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_256")


def salts_given(salts: object, *, owner: str) -> tuple[bytes, ...]:
    """Return salts as a tuple."""
    found = several(salts, parameter="salts", owner=owner, of="salts", or_none=True)
    if not all(isinstance(salt, bytes) for salt in found):
        raise ParameterError(
            f"Each of the 'salts' of {owner} must be bytes.", hint="Write b'pepper', not 'pepper'."
        )
    return found


def unkeyed(name: str, *, salts: tuple[bytes, ...], seeds: int) -> Iterator[str]:
    """Return what a name becomes by every way that is tried, in lower case.

    The name itself, digests in hexadecimal and base64, with each salt before and behind, CRC-32,
    and MurmurHash3 with each seed, as unsigned, signed and hexadecimal numbers.
    """
    for spelt in dict.fromkeys((name, name.lower(), name.upper(), name.strip())):
        yield spelt.lower()
        data = spelt.encode()
        for salted in dict.fromkeys((data, *(s + data for s in salts), *(data + s for s in salts))):
            for digest in _DIGESTS:
                digested = hashlib.new(digest, salted, usedforsecurity=False).digest()
                yield digested.hex()
                yield base64.b64encode(digested).decode().rstrip("=").lower()
            crc = zlib.crc32(salted)
            yield from (f"{crc:08x}", str(crc))
        for number in murmur3([data], np.arange(seeds, dtype=np.uint32)).tolist() if seeds else ():
            signed = number - (1 << 32) if number >> 31 else number
            yield from (f"{number:08x}", str(number), str(signed))

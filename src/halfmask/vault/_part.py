"""The parts that a root key is split into, as people keep them: one line of text each."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.vault._header import VaultHeader


_FORM = re.compile(
    r"halfmask-part/1 vault:([0-9a-f]{16}) split:([0-9a-f]{16}) "
    r"part:([1-9]\d{0,2})/([1-9]\d{0,2}) needed:([1-9]\d{0,2}) ([0-9a-f]{64}) ([0-9a-f]{16})"
)

_OTHER_VERSION = re.compile(r"halfmask-part/(?!1 )\d+ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """One part of a root key."""

    vault: str
    split: str
    number: int
    parts: int
    needed: int
    share: bytes = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the line, with a checksum at its end."""
        line = (
            f"halfmask-part/1 vault:{self.vault} split:{self.split} "
            f"part:{self.number}/{self.parts} needed:{self.needed} {self.share.hex()}"
        )
        return f"{line} {_checksum(line)}\n".encode()

    @classmethod
    def from_bytes(cls, line: bytes, *, given: int) -> Self:
        """Read a line; blanks around it don't matter."""
        if not isinstance(line, bytes):
            raise ParameterError(
                f"Part number {given} of those given must be bytes. Got {type(line).__name__}.",
                hint="Read its file as bytes.",
            )
        words = " ".join(line.decode("ascii", "replace").split())
        found = _FORM.fullmatch(words)
        if found is None and _OTHER_VERSION.match(words):
            raise VaultError(
                f"Part number {given} of those given is of another version of halfmask."
            )
        if found is None:
            raise IntegrityError(f"Part number {given} of those given is no part, or was altered.")
        vault, split, number, parts, needed, shared, checksum = found.groups()
        if checksum != _checksum(words.rpartition(" ")[0]):
            raise IntegrityError(
                f"Part number {given} of those given was altered: its checksum is wrong.",
                hint="Type it again, or leave it out if there are enough others.",
            )
        return cls(
            vault=vault,
            split=split,
            number=int(number),
            parts=int(parts),
            needed=int(needed),
            share=bytes.fromhex(shared),
        )


def split_key(key: bytes, *, vault: str, parts: int, needed: int) -> list[KeyPart]:
    """Split a key into parts."""
    integer_at_least(2, owner="Vault.split", needed=needed)
    integer_at_least(needed, owner="Vault.split", parts=parts)
    if parts > MAX_SHARES:
        raise ParameterError(f"A key has at most {MAX_SHARES} parts. Got {parts}.")
    split = os.urandom(8).hex()
    return [
        KeyPart(vault=vault, split=split, number=number, parts=parts, needed=needed, share=each)
        for number, each in enumerate(share(key, parts=parts, needed=needed), start=1)
    ]


def join_parts(lines: Sequence[bytes], *, header: VaultHeader) -> bytes:
    """Return the root key of a vault from enough of its parts."""
    found = [KeyPart.from_bytes(line, given=place) for place, line in enumerate(lines, start=1)]
    different = {part.number: part for part in found}
    for part in found:
        _check_fits(part, found[0], header=header)
        if different[part.number] != part:
            raise IntegrityError(f"There are two different parts {part.number}.")
    if not found or len(different) < found[0].needed:
        wanted = f" of {found[0].needed}" if found else ""
        raise VaultError(
            f"There are too few parts: {len(different)}{wanted}, which tell nothing of the key.",
            hint="A part that is given twice counts once.",
        )
    numbers = sorted(different)
    used = {number: different[number].share for number in numbers[: found[0].needed]}
    for number in numbers[found[0].needed :]:
        if combine(used, at=number) != different[number].share:
            raise IntegrityError(
                f"The parts don't agree: one of {numbers} isn't what was handed out.",
                hint="Leave one out after the other until the rest makes the key.",
            )
    key = combine(used)
    header.check_root(key)
    return key


def _check_fits(part: KeyPart, first: KeyPart, *, header: VaultHeader) -> None:
    if part.vault != header.pointer.vault:
        raise KeyMismatchError(f"Part {part.number} of {part.parts} is of another vault.")
    if part.split != first.split or (part.parts, part.needed) != (first.parts, first.needed):
        raise KeyMismatchError(
            f"Part {part.number} of {part.parts} is of another splitting than the first one given.",
            hint="Take parts that were split at the same time.",
        )


def _checksum(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:16]


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

"""A secret of 32 bytes, and the keys that are derived from it."""

from __future__ import annotations

import hmac
import os
from typing import NoReturn, Self

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.vault._envelope import framed, hkdf, utf8

SECRET_BYTES = 32
#: HKDF with SHA-256 gives no more than 255 blocks of 32 bytes.
LONGEST_KEY = 255 * 32
_DERIVE = b"halfmask/secret/1/key"
_COMMIT = b"halfmask/secret/1/id"


class Secret:
    """32 secret bytes from which a key is derived for every purpose and column.

    Make one by `Secret.fresh`, by `Secret.from_bytes`, or take it from a vault by its name.

    Parameters
    ----------
    material
        32 bytes, uniformly random.

    Notes
    -----
    **Guarantees.** Keys of different purposes, columns or lengths are independent: an attacker who
    learns some of them learns nothing of the others, nor of the secret. The same words give the
    same key, on every machine and in every version that writes the same derivation number. Neither
    ``repr`` nor any error shows a byte of it, and it can't be pickled.

    **Edge cases.** Purpose and column are length-prefixed, so that ``"ab", "c"`` and ``"a", "bc"``
    differ. Texts aren't normalized: the composed and the decomposed form of a letter are two
    columns. Python can't wipe memory: the bytes live until the process ends, maybe longer.

    Sources: HKDF with SHA-256 (RFC 5869).

    Examples
    --------
    >>> secret = Secret.from_bytes(bytes(32))
    >>> secret.key("order") == secret.key("order")
    True
    >>> secret.key("order", column="age") == secret.key("order", column="town")
    False
    >>> secret
    Secret(id='2468e589')
    """

    __slots__ = ("_bytes", "_id")

    def __init__(self, material: bytes) -> None:
        if type(material) is not bytes or len(material) != SECRET_BYTES:
            raise ParameterError(
                f"A secret has {SECRET_BYTES} bytes. Got another length or type.",
                hint="Secret.fresh() makes one.",
            )
        self._bytes = material
        self._id = hkdf(material, info=_COMMIT, length=4).hex()

    @classmethod
    def fresh(cls) -> Self:
        """Return a new secret from the operating system's random bytes.

        Examples
        --------
        >>> Secret.fresh() == Secret.fresh()
        False
        """
        return cls(os.urandom(SECRET_BYTES))

    @classmethod
    def from_bytes(cls, material: bytes) -> Self:
        """Return the secret of these 32 bytes, which should be uniformly random.

        Parameters
        ----------
        material
            32 bytes, uniformly random.
        """
        return cls(material)

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that identify the secret and reveal nothing of it.

        Two secrets share an id by chance once in four billion: it is a name, not a proof.
        """
        return self._id

    def key(self, purpose: str, *, column: str = "", length: int = 32) -> bytes:
        """Derive the key of a purpose and a column.

        Parameters
        ----------
        purpose
            What the key is for, such as ``"names"``. Not empty.
        column
            The column that it is for; empty for a key of the whole table.
        length
            How many bytes, 1 to 8,160. Keys of different lengths are independent, too.

        Raises
        ------
        ParameterError
            If the purpose is empty, a word isn't text that has a UTF-8 form, or the length is
            out of range.

        Examples
        --------
        >>> len(Secret.fresh().key("matrix", column="age", length=64))
        64
        """
        integer_at_least(1, owner="Secret.key", length=length)
        if length > LONGEST_KEY:
            raise ParameterError(f"A key has at most {LONGEST_KEY} bytes. Got {length}.")
        if not purpose:
            raise ParameterError("A key needs a purpose.", hint="Name what it is for.")
        words = framed(
            _DERIVE, utf8(purpose, "The purpose of a key"), utf8(column, "The column of a key")
        )
        info = words + int(length).to_bytes(8, "big")
        return hkdf(self._bytes, info=info, length=int(length))

    def __eq__(self, other: object) -> bool:
        """Compare in constant time."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._bytes, other._bytes)

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self._id!r})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A secret can't be pickled: it belongs in a vault.")

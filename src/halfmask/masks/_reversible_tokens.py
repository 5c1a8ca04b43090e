"""Reversible tokens: encrypted values, which the holder of the key decrypts."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl

from halfmask._errors import DataError
from halfmask.masks._mask import MaskTraits
from halfmask.masks._token import put_in_place, text_of
from halfmask.masks._value_counts import check_single
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from halfmask.masks._value_counts import ValueCounts

_KEY_BYTES: Final = 64
#: Values are padded to steps of so many bytes.
_STEP: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReversibleTokens(Pseudonym):
    """Write a token that the holder of the key can reverse (AES-SIV).

    Parameters
    ----------
    domain, scope
        Where a value has the same token; see `Pseudonym`. To reverse a column after its release,
        its scope must be ``"vault"``, or its key must be kept.

    Notes
    -----
    **Guarantees.** Equal values have equal tokens under one key and domain. Without the key, a
    token reveals only that and the length of its value in steps of 16 bytes. A changed token is an
    error and never another value.

    **Edge cases.** A value's text decides, as of `KeyedTokens`: the number 1 comes back as the text
    ``"1"``. Tokens have 52 letters and digits (base 32) for values of up to 15
    bytes.

    Sources: AES-SIV (RFC 5297) with a key of 512 bits; padded as in ISO/IEC 7816-4.

    Examples
    --------
    >>> plan = ReversibleTokens().fit("name", pl.String(), None, bytes(32))
    >>> tokens = plan.apply(pl.Series("name", ["Ann", None]), 0)
    >>> len(tokens[0]), plan.reverse(tokens).to_list()
    (52, ['Ann', None])
    """

    name: ClassVar[str] = "reversible-token"
    coarsens: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(keeps_equality=True)
    is_matchable: ClassVar[bool] = False
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("equality-leaking", "length-leaking", "nulls-visible")

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return String; see `Mask`."""
        check_single(column, dtype, mask=self.name)
        return pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Sealed:
        """Return the plan, which holds the key; see `Mask`."""
        self.written(column, dtype)
        made = hashlib.blake2b(key=key, digest_size=_KEY_BYTES, person=b"halfmask/siv")
        return _Sealed(made.digest())


@dataclass(frozen=True, slots=True)
class _Sealed:
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 # 30 ms

        encrypt = AESSIV(self.key).encrypt
        texts = text_of(column)
        values = texts.drop_nulls().unique(maintain_order=True)
        sealed = [_word(encrypt(_padded(it.encode()), None)) for it in values.to_list()]
        return put_in_place(pl.Series(sealed, dtype=pl.String), of=values, cells=texts)

    def reverse(self, column: pl.Series) -> pl.Series:
        """Return the original values, as texts, of released ones."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 # 30 ms
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 # the same

        decrypt = AESSIV(self.key).decrypt
        values = column.drop_nulls().unique(maintain_order=True)
        opened, wrong = [], 0
        for token in values.to_list():
            try:
                padded = decrypt(_bytes(token), None)
                opened.append(padded.rstrip(b"\0")[:-1].decode())
            except (InvalidTag, ValueError):
                wrong += 1
        if wrong:
            raise DataError(
                f"Column {column.name!r} has {wrong} different values that aren't tokens of this "
                "key and domain.",
                hint="Take the policy, and the vault or key, of the release.",
            )
        return put_in_place(pl.Series(opened, dtype=pl.String), of=values, cells=column)


def _padded(value: bytes) -> bytes:
    marked = value + b"\x80"
    return marked.ljust(-(-len(marked) // _STEP) * _STEP, b"\0")


def _word(sealed: bytes) -> str:
    # Lower case alone: some databases compare texts without case. No sign in front, either.
    return base64.b32encode(sealed).rstrip(b"=").decode().lower()


def _bytes(token: str) -> bytes:
    found = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    # Another spelling of the same bytes is no token that was written.
    if _word(found) != token:
        raise ValueError(len(token))
    return found

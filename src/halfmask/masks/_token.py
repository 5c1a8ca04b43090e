"""Tokens: a keyed pseudonym in the place of each value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from halfmask._errors import SchemaError
from halfmask.data import as_text
from halfmask.masks._mask import MaskTraits, counted_claim
from halfmask.masks._numbers import EXACT
from halfmask.masks._value_counts import check_single
from halfmask.masks.integer_permutation import PermutedIntegers, integer_bits
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedTokens(Pseudonym):
    """Write a keyed pseudonym: hexadecimal digits (BLAKE2b), or an integer.

    Parameters
    ----------
    digits
        How many, 16 to 64. Of 32, two among a billion values share one with a chance of 1e-21.
    integers
        Whether integers get integers of the same width and sign, by a keyed permutation.
    domain, scope
        Where a value has the same token; see `Pseudonym`.

    Notes
    -----
    **Guarantees.** Equal values have equal tokens under one key and domain. Without the key a token
    reveals nothing about its value (BLAKE2 as a pseudo-random function, RFC 7693).

    **Edge cases.** A value's text decides: 1, 1.0 and ``"1"`` have one token, and so do times that
    are equal to the microsecond; a date and its midnight don't. Who
    holds the key can try values. How often a value occurs is seen. Other keys, as each release
    without one has, give other tokens. With `integers`, the width decides too: the same number as
    Int32 and as Int64 has two tokens. A token can be an integer of the column, rarely its own. Of
    few values, as in 8 bits, known tokens narrow down others.

    Sources: BLAKE2b, RFC 7693; integers by FF1, NIST SP 800-38G, and up to 16 bits by the prefix
    cipher of Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains".

    Examples
    --------
    >>> plan = KeyedTokens(digits=16).fit("name", pl.String(), None, bytes(32))
    >>> plan.apply(pl.Series("name", ["Ann", "Bob", "Ann"]), 0).n_unique()
    2
    """

    name: ClassVar[str] = "token"
    coarsens: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(keeps_equality=True)
    is_matchable: ClassVar[bool] = False
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("equality-leaking", "nulls-visible")

    digits: int = field(default=32, metadata={"ge": 16, "le": 2 * _DIGEST_BYTES})
    integers: bool = False

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that all cells are tokens; see `ClaimingMask`."""
        if self.integers:  # any integer is a token
            return []
        return [counted_claim("token-format", columns, digits=self.digits)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return String, or the type of integers that stay integers; see `Mask`."""
        check_single(column, dtype, mask=self.name)
        if not self.integers:
            return pl.String()
        if integer_bits(dtype) is None:
            raise SchemaError(
                f"Column {column!r} has the mask {self.name!r} with 'integers', which is for "
                f"integers of up to 64 bits. Got the type {dtype.base_type()}.",
                hint="Leave 'integers' out: then any value gets a text.",
            )
        return dtype

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Tokens | PermutedIntegers:
        """Return the plan, which holds the key; see `Mask`."""
        self.written(column, dtype)
        if self.integers:
            return PermutedIntegers.of(dtype, key)
        return _Tokens(self.digits, key)


@dataclass(frozen=True, slots=True)
class _Tokens:
    digits: int
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        texts = text_of(column)
        different = texts.drop_nulls().unique(maintain_order=True)
        tokens = [
            hashlib.blake2b(text.encode(), key=self.key, digest_size=_DIGEST_BYTES).hexdigest()
            for text in different
        ]
        made = pl.Series([it[: self.digits] for it in tokens], dtype=pl.String)
        return put_in_place(made, of=different, cells=texts)


def put_in_place(made: pl.Series, *, of: pl.Series, cells: pl.Series) -> pl.Series:
    """Return what is made of each different value, in the order of cells, where cells have it."""
    if len(of) == len(cells):
        return made.alias(cells.name)
    return cells.replace_strict(of, made, default=None, return_dtype=made.dtype)


def text_of(column: pl.Series) -> pl.Series:
    """Return texts that are the same for a value, however its table was read."""
    if column.dtype.is_float():
        whole = (column.round() == column) & (column.abs() < EXACT)
        integers = column.set(~whole, None).cast(pl.Int64).cast(pl.String)
        return integers.zip_with(whole.fill_null(value=True), column.cast(pl.String))
    if isinstance(column.dtype, pl.Decimal):
        texts = column.cast(pl.String)
        short = texts.str.strip_chars_end("0").str.strip_chars_end(".")
        return short.zip_with(texts.str.contains(".", literal=True).fill_null(value=True), texts)
    if isinstance(column.dtype, pl.Datetime):
        texts = column.dt.cast_time_unit("us").cast(pl.String)
        if column.dtype.time_unit != "ns":
            return texts
        return texts.zip_with(
            (column.to_physical() % 1000 == 0).fill_null(value=True), column.cast(pl.String)
        )
    return as_text(column)

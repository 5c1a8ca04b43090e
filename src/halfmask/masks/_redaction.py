"""Redaction: a fixed text in place of each cell, or a sign in place of each character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask.data import as_text
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction(CheckedMask):
    """Write one text for all cells, or one sign for each character.

    Parameters
    ----------
    text
        What is written for each cell. It may be empty.
    sign
        In its place: one character that is written for each character of a text.

    Raises
    ------
    ParameterError
        If not exactly one of them is given, or the sign isn't one character.

    Notes
    -----
    **Guarantees.** With a text, all cells are equal. With a sign, only the length of a text stays.

    **Edge cases.** Missing cells stay missing. Characters are Unicode code points, blanks and line
    ends are replaced too. To drop a column from the release, give it the role ``"identifier"``.

    Examples
    --------
    >>> plan = Redaction(sign="*").fit("name", pl.String(), None, bytes(32))
    >>> plan.apply(pl.Series("name", ["Ann", "Bo", None]), 0).to_list()
    ['***', '**', None]
    """

    name: ClassVar[str] = "redact"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False

    text: str | None = None
    sign: str | None = None

    def _check_together(self) -> None:
        if (self.text is None) == (self.sign is None):
            raise ParameterError("The mask 'redact' has either a 'text' or a 'sign'.")
        if self.sign is not None and len(self.sign) != 1:
            raise ParameterError(
                f"The 'sign' of the mask 'redact' must be one character. Got {len(self.sign)}."
            )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        return ("nulls-visible",) if self.sign is None else ("length-leaking", "nulls-visible")

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that all cells have one text; see `ClaimingMask`."""
        if self.text is None:
            return []
        if not self.text:  # a manifest has no empty parameter
            return [counted_claim("one-value", columns)]
        return [counted_claim("one-value", columns, text=self.text)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return String; see `Mask`."""
        if self.sign is not None and not isinstance(dtype, pl.String | pl.Enum | pl.Categorical):
            raise SchemaError(
                f"Column {column!r} has the mask 'redact' with a sign, which is for texts. "
                f"Got the type {dtype.base_type().__name__}.",
                hint="Choose a 'text' instead.",
            )
        return pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Redacted:
        """Return the plan, which needs nothing of the column; see `Mask`."""
        self.written(column, dtype)
        return _Redacted(self)


@dataclass(frozen=True, slots=True)
class _Redacted:
    mask: Redaction

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        if self.mask.sign is not None:
            sign = self.mask.sign.replace("$", "$$")  # a dollar would name a group
            return as_text(column).str.replace_all("(?s).", sign)
        there = pl.col("there")
        frame = column.is_not_null().alias("there").to_frame()
        found = frame.select(pl.when(there).then(pl.lit(self.mask.text, dtype=pl.String)))
        return found.to_series().alias(column.name)

"""Reversal: released pseudonyms turned back into values, by the holder of the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._random import check_key, fresh_key
from halfmask.masks.pseudonym import keyed_by_column, pseudonym_of, scoped_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.data import Reader, Source
    from halfmask.masks._mask import Mask

#: Of `halfmask.data`'s writer of CSV files, which puts one apostrophe before such texts.
_GUARDED: Final = r"^'('*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 # the wide forms are meant


@runtime_checkable
class ReversiblePlan(Protocol):
    """A fitted mask whose holder can turn released values back."""

    def reverse(self, column: pl.Series) -> pl.Series:
        """Return the original values of a released column."""


def is_reversible(mask: Mask) -> bool:
    """Return whether the holder of a mask's key can turn released values back.

    Parameters
    ----------
    mask
        Any mask of one column.

    Examples
    --------
    >>> from halfmask.masks import KeyedTokens, ReversibleTokens
    >>> is_reversible(ReversibleTokens()), is_reversible(KeyedTokens())
    (True, False)
    """
    return mask.name in {"format-preserving", "reversible-token"}


def reverse_masks(
    source: Source,
    masks: Mapping[str, Mask],
    *,
    key: bytes | None = None,
    vault_key: bytes | None = None,
    table: str = "",
) -> Source:
    """Return a released table with the original values of reversible masks.

    Parameters
    ----------
    source
        The released table.
    masks
        The masks of its columns, as of `mask_table`. Columns of other masks stay as released.
    key, vault_key, table
        As of `mask_table`, for the release. Masks with the scope ``"vault"`` don't need `key`.

    Raises
    ------
    ColumnNotFoundError
        If the table lacks a column of a reversible mask.
    SchemaError
        If a released column isn't text.
    ParameterError
        If no mask is reversible, or the key that one needs isn't given.
    DataError
        When the table is read: if a value isn't a pseudonym of this key and domain.

    Notes
    -----
    **Guarantees.** A released value comes back as its original text. Tokens of another key are an
    error. Format-preserving values of another key are an error only with check digits: without
    them, each value is the pseudonym of some value.

    Examples
    --------
    >>> from halfmask.data import open_table
    >>> from halfmask.masks import ReversibleTokens, mask_table
    >>> people = open_table(pl.DataFrame({"name": ["Ann", "Bob"]}))
    >>> masks = {"name": ReversibleTokens()}
    >>> released = mask_table(people, masks, key=bytes(32))
    >>> reverse_masks(released, masks, key=bytes(32)).read()["name"].to_list()
    ['Ann', 'Bob']
    """
    wanted = {name: mask for name, mask in masks.items() if is_reversible(mask)}
    if not wanted:
        raise ParameterError(
            "No mask of these columns can be reversed.",
            hint="Masks 'reversible-token' and 'format-preserving' can.",
        )
    absent = [name for name in wanted if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the released table")
    plans = {}
    for name, mask in wanted.items():
        if source.dtypes[name] != pl.String:
            raise SchemaError(
                f"Column {name!r} must be text to be reversed. "
                f"Got the type {source.dtypes[name].base_type().__name__}.",
                hint="Read the released column as text.",
            )
        plans[name] = _plan(name, mask, key=key, vault_key=vault_key, table=table)
    is_csv = source.format in {"csv", "tsv"}
    return source.through(lambda reader: _ReversedReader(reader, plans, is_csv=is_csv))


def _plan(
    column: str, mask: Mask, *, key: bytes | None, vault_key: bytes | None, table: str
) -> ReversiblePlan:
    if key is None and pseudonym_of(mask).scope != "vault":
        raise ParameterError(
            f"The mask of column {column!r} had the key of its release, and no key is given.",
            hint="Only the scope 'vault' keeps the key for later.",
        )
    if key is not None:
        check_key(key)
    base = scoped_key(
        mask, key=fresh_key() if key is None else key, vault_key=vault_key, table=table
    )
    own = keyed_by_column(mask, column, base).digest()
    plan = mask.fit(column, pl.String(), None, own)
    assert isinstance(plan, ReversiblePlan)  # noqa: S101 # those of is_reversible are
    return plan


class _ReversedReader:
    """A reader of original values in the place of released ones."""

    def __init__(
        self, reader: Reader, plans: Mapping[str, ReversiblePlan], *, is_csv: bool
    ) -> None:
        self._reader, self._plans, self._is_csv = reader, dict(plans), is_csv
        self.columns, self.dtypes = reader.columns, dict(reader.dtypes)
        self.n_rows, self.orders = reader.n_rows, dict(reader.orders)

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                self._plans[name].reverse(self._written(frame[name])).alias(name)
                for name in frame.columns
                if name in self._plans
            )

    def _written(self, cells: pl.Series) -> pl.Series:
        """Return cells without the apostrophe that a CSV file has before a formula's sign."""
        return cells.str.replace(_GUARDED, "$1") if self._is_csv else cells

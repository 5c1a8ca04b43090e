"""The table behind all masks of a policy: one reader around another, in the policy's order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._random import KEY_BYTES, check_key
from halfmask._validation import list_of, mapping_of
from halfmask.claims import WEAKNESSES
from halfmask.engines import LocalEngine, check_confidential
from halfmask.masks._mask import traits_of
from halfmask.masks._masked import masked_columns
from halfmask.masks._ordered_columns import (
    check_ordinal,
    known_orders,
    orders_for,
    with_texts,
    with_types,
)
from halfmask.masks._table_mask import ChangedReader, KeptReader, RowMask, TableMask
from halfmask.masks.pseudonym import Pseudonym, pseudonym_of, scoped_key

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from halfmask.data import Source
    from halfmask.engines import Engine
    from halfmask.masks._mask import Mask

#: Rows that are hashed at once: their hashes stay in the processor's cache.
_HASHED_ROWS: Final = 1 << 17
#: A mask of several columns, or of rows.
AnyTableMask: TypeAlias = TableMask | RowMask


def mask_table(
    source: Source,
    masks: Mapping[str, Mask],
    *,
    key: bytes,
    table_masks: Sequence[AnyTableMask] = (),
    vault_key: bytes | None = None,
    table: str = "",
) -> Source:
    """Return a table as its masks write it.

    Parameters
    ----------
    source
        The table.
    masks
        The mask of each column that has one of its own.
    key
        32 secret bytes. Each mask has a key of its own, derived from them.
    table_masks
        Masks of several columns and masks of rows. They follow the others, in this order.
    vault_key
        32 secret bytes of `pseudonym_key`, for masks with the scope ``"vault"``.
    table
        The table's name in a release of several, for masks with the scope ``"table"``.

    Returns
    -------
    Source
        The masked table. Each pass over it gives the same values, in batches of any size.

    Raises
    ------
    ColumnNotFoundError
        If the table lacks a column of a mask.
    SchemaError
        If a mask doesn't support the type of its column.
    DataError
        If a mask can't process a value of its column exactly, or no row would be kept.
    ParameterError
        If the key isn't 32 bytes, two masks change one column, a mask names a weakness that has no
        explanation, or a mask has the scope of a vault and there is no vault.

    Notes
    -----
    A mask that randomises, or that needs a column's values (`TailCoding` by share), costs one more
    pass over the table. A mask with `needs_rows` holds its columns in memory.

    **Guarantees.** Random draws depend on the key, the column's name and cells, and the mask's
    parameters. So two releases with the same key have independent noise if their rows or
    parameters differ. Tokens depend only on the key, the domain (the column's name without one) and
    the value.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.data import open_table
    >>> from halfmask.masks import Rounding
    >>> table = open_table(pl.DataFrame({"income": [1234, 5678]}))
    >>> mask_table(table, {"income": Rounding(base=100)}, key=bytes(32)).read()["income"].to_list()
    [1200, 5700]
    """
    found = MaskedTable.of(source, masks, table_masks, key=key, vault_key=vault_key, table=table)
    return found.masked


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTable:
    """A table behind its masks, and the same rows with raw cells."""

    masked: Source
    unmasked: Source
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    suppressed: Mapping[str, int] = field(default_factory=dict)
    ordinal: Container[str] | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        masks: Mapping[str, Mask],
        table_masks: Sequence[AnyTableMask],
        *,
        key: bytes,
        vault_key: bytes | None = None,
        table: str = "",
        engine: Engine | None = None,
        ordinal: Container[str] | None = None,
    ) -> MaskedTable:
        """Fit the masks and return the table; see `mask_table` for parameters and errors."""
        if not masks and not table_masks:
            return cls(masked=source, unmasked=source)
        check_key(key)
        check_claimed_once(masks, table_masks)
        for mask in (*masks.values(), *table_masks):
            _check_weaknesses(mask)
        engine = engine or LocalEngine()
        if any(pseudonym_of(mask).scope == "vault" for mask in (*masks.values(), *table_masks)):
            check_confidential(engine, what="keys of pseudonyms of a vault")
        masked = masked_columns(
            source,
            masks,
            key=key,
            vault_key=vault_key,
            table=table,
            engine=engine,
            ordinal=ordinal,
        )
        return cls(masked=masked, unmasked=source, ordinal=ordinal).followed_by(
            table_masks, key=key, vault_key=vault_key, table=table
        )

    def followed_by(
        self,
        table_masks: Sequence[AnyTableMask],
        *,
        key: bytes,
        vault_key: bytes | None = None,
        table: str = "",
    ) -> MaskedTable:
        """Return the table behind further masks, in this order."""
        found = self
        for mask in table_masks:
            own = scoped_key(mask, key=key, vault_key=vault_key, table=table)
            found = (
                found._changed(mask, own)
                if isinstance(mask, TableMask)
                else found._dropped(mask, own)
            )
        return found

    def _changed(self, mask: TableMask, key: bytes) -> MaskedTable:
        _check_columns(self.masked, (*mask.columns, *mask.reads))
        orders = orders_for(
            dict.fromkeys(mask.columns, mask), known_orders(self.masked, self.ordinal)
        )
        source = with_types(self.masked, orders)
        check_ordinal(mask, source.dtypes, self.ordinal)
        mask.written(source.dtypes)  # before a pass over the table
        wanted = _unique((*mask.columns, *mask.reads))
        table = _empty(source, wanted)
        if mask.needs_rows:
            table = self._rows_for(mask, wanted, source)
        plan = mask.fit(table, _key_of(mask, key, table))
        return replace(
            self,
            masked=with_texts(source.through(lambda reader: ChangedReader(reader, mask, plan))),
            counts={**self.counts, **getattr(plan, "counts", {})},
            suppressed={**self.suppressed, **getattr(plan, "suppressed", {})},
        )

    def _rows_for(self, mask: TableMask, wanted: Sequence[str], source: Source) -> pl.DataFrame:
        if not traits_of(mask).reads_raw:
            return source.read(columns=wanted)
        # Names are searched for in texts; another mask may have written pseudonyms for them.
        table = source.read(columns=_unique(mask.columns))
        return (
            table.hstack(self.unmasked.read(columns=_unique(mask.reads))) if mask.reads else table
        )

    def _dropped(self, mask: RowMask, key: bytes) -> MaskedTable:
        source = self.masked
        _check_columns(source, mask.reads)
        table = source.read(columns=_unique(mask.reads)) if mask.reads else None
        plan = mask.fit(table, source.n_rows, _key_of(mask, key, table))
        if not plan.n_rows:
            raise DataError(f"The mask {mask.name!r} keeps no row.", hint="Keep a larger share.")
        return replace(
            self,
            masked=source.through(lambda reader: KeptReader(reader, plan)),
            unmasked=self.unmasked.through(lambda reader: KeptReader(reader, plan)),
        )


def check_claimed_once(masks: Mapping[str, Mask], table_masks: Sequence[AnyTableMask]) -> None:
    """Raise if two masks change one column, or masks come in an order that can't be.

    A mask that suppresses cells may follow one that coarsens, and rows are dropped before it. Names
    that are searched for in texts are those of all rows. What says which rows belong to a person
    stays so.
    """
    mapping_of(
        "masks",
        lambda it: hasattr(it, "written") and not isinstance(it, type),
        owner="Masker or mask_table",
        hint='Write {"pay": Rounding(base=1000)}. Columns of an array are called x0, x1, ...',
        masks=masks,
    )
    list_of(
        "masks of several columns or of rows",
        lambda it: hasattr(it, "needs_rows") or hasattr(it, "reads"),
        owner="Masker or mask_table",
        hint="Masks of one column stand in masks, under its name.",
        table_masks=table_masks,
    )
    first: dict[str, Mask | TableMask] = dict(masks)
    grouped: TableMask | None = None
    dropping: RowMask | None = None
    for mask in table_masks:
        if not isinstance(mask, TableMask):
            dropping = mask
            _check_keyed(mask, first)
            _check_read(mask, first)
            if grouped is not None:
                raise ParameterError(
                    f"The mask {mask.name!r} drops rows after {grouped.name!r} has made groups "
                    "of them, which are then smaller.",
                    hint=f"Put {mask.name!r} before it.",
                )
            continue
        grouped = mask if mask.suppresses else grouped
        if dropping is not None and traits_of(mask).reads_raw and mask.reads:
            raise ParameterError(
                f"The mask {dropping.name!r} drops rows before {mask.name!r} has read the names "
                "in them, which other rows may mention.",
                hint=f"Put {mask.name!r} before it.",
            )
        _check_keyed(mask, first)
        if len(set(mask.columns)) < len(mask.columns):
            raise ParameterError(f"The mask {mask.name!r} lists a column twice.")
        for column in mask.columns:
            earlier = first.get(column)
            may_follow = mask.suppresses and not traits_of(mask).rewrites
            if earlier is not None and not (may_follow and earlier.coarsens):
                raise ParameterError(
                    f"The masks {earlier.name!r} and {mask.name!r} both change the column "
                    f"{column!r}.",
                    hint="Give each column one mask. Local suppression may follow a mask that "
                    "coarsens.",
                )
            first[column] = mask


def _check_read(mask: RowMask, first: Mapping[str, Mask | TableMask]) -> None:
    """Raise if an earlier mask changes what a mask of rows must read raw."""
    traits = traits_of(mask)
    for column in mask.reads if traits.reads_raw else ():
        earlier = first.get(column)
        if earlier is not None and column not in traits.keyed_by:
            raise ParameterError(
                f"The mask {mask.name!r} reads column {column!r}, which the mask {earlier.name!r} "
                "has changed before.",
                hint=f"Put {mask.name!r} before it. A mask of [columns] always comes first: mask a "
                "copy of the column instead, and give this one the role 'identifier'.",
            )


def _check_keyed(mask: TableMask | RowMask, first: Mapping[str, Mask | TableMask]) -> None:
    """Raise if an earlier mask makes one person of several, or several of one."""
    for column in traits_of(mask).keyed_by:
        earlier = first.get(column)
        if earlier is None:
            continue
        scopes = [pseudonym_of(it).scope for it in (mask, earlier)]
        if not traits_of(earlier).keeps_equality or scopes == ["vault", "release"]:
            raise ParameterError(
                f"The mask {mask.name!r} reads column {column!r} to tell which rows belong "
                f"together, and the mask {earlier.name!r} changes that.",
                hint="Leave the column without a mask, drop it as an identifier, or give it a "
                "token of the same scope.",
            )


def _check_weaknesses(mask: Mask | AnyTableMask) -> None:
    unknown = [word for word in mask.weaknesses if word not in WEAKNESSES]
    if unknown:
        raise ParameterError(
            f"The mask {mask.name!r} names the weakness {unknown[0]!r}, which nothing explains.",
            hint="Take a word of halfmask.claims.WEAKNESSES.",
        )


def _check_columns(source: Source, columns: Sequence[str]) -> None:
    absent = [name for name in columns if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")


def _key_of(mask: AnyTableMask, key: bytes, table: pl.DataFrame | None) -> bytes:
    """Return the mask's own key; draws of two releases differ if rows or parameters do."""
    made = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"halfmask/tmask")
    domain = pseudonym_of(mask).domain
    if domain is not None:
        # Those of one domain draw the same for the same person, in every table.
        made.update(f"{mask.name}\0{domain}".encode())
        return made.digest()
    made.update(repr(mask).encode())
    for column in table if table is not None else ():
        made.update(b"\0" + column.name.encode())
        if isinstance(mask, Pseudonym):  # whose draws are the same for a person in every release
            continue
        for part in column.to_frame().iter_slices(_HASHED_ROWS):
            made.update(part.to_series().hash().to_numpy().data)
    return made.digest()


def _empty(source: Source, columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: source.dtypes[name] for name in columns})


def _unique(columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(columns))

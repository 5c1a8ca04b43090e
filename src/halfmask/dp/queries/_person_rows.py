"""Rows of persons: of each at most so many in a group, and in at most so many groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halfmask.dp.ledger import BudgetTerms

_RANK: Final = "\0rank"
_SEEN: Final = "\0seen"
_ORDER: Final = "\0order"


def bounded_rows(
    batches: Iterable[pl.DataFrame], groups: Sequence[str], terms: BudgetTerms
) -> pl.DataFrame | None:
    """Return the rows that count: a sample of each person's, which no other person changes.

    A row is sampled by a hash of the person, of its number among the person's rows in its group,
    and of the ledger's key. Groups of a person are sampled by a hash of the person and the group.

    Guarantees
    ----------
    Adding or removing all rows of a person changes no other person's sample. At most the sampled
    rows and one batch are in memory.
    """
    unit = terms.unit
    person = str(unit.person)
    seeds = [int(terms.key[at : at + 16], 16) for at in (0, 16, 32)]
    by = [person, *groups]
    kept: pl.DataFrame | None = None
    seen: pl.DataFrame | None = None
    for batch in batches:
        ranked = _ranked(batch, by, seen)
        counts = ranked.group_by(by).agg((pl.col(_RANK).max() + 1).alias(_SEEN))
        seen = _merged(seen, counts, by)
        drawn = pl.col(person).hash(seeds[0]) ^ pl.col(_RANK).hash(seeds[1])
        ranked = ranked.with_columns(drawn.alias(_ORDER))
        together = ranked if kept is None else pl.concat([kept, ranked])
        kept = _first_of(together, by, unit.max_rows)
    if kept is None:
        return None
    if groups:
        chosen = kept.select(by).unique(maintain_order=True)
        drawn = pl.col(person).hash(seeds[0])
        for column in groups:
            # Rotated, so that the same value in two columns doesn't cancel out.
            drawn = drawn * 3 ^ pl.col(column).hash(seeds[2])
        chosen = _first_of(chosen.with_columns(drawn.alias(_ORDER)), [person], unit.max_groups)
        kept = kept.join(chosen.select(by), on=by, how="semi", nulls_equal=True)
    return kept.drop(_RANK, _ORDER)


def _ranked(batch: pl.DataFrame, by: list[str], seen: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows with their number among those of the same person and group, from 0."""
    rank = pl.int_range(pl.len(), dtype=pl.UInt64).over(by)
    if seen is None:
        return batch.with_columns(rank.alias(_RANK))
    before = pl.col(_SEEN).fill_null(0)
    return (
        batch.join(seen, on=by, how="left", nulls_equal=True, maintain_order="left")
        .with_columns((rank + before).alias(_RANK))
        .drop(_SEEN)
    )


def _merged(seen: pl.DataFrame | None, counts: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    if seen is None:
        return counts
    return pl.concat([seen, counts]).group_by(by).agg(pl.col(_SEEN).max())


def _first_of(rows: pl.DataFrame, by: list[str], most: int) -> pl.DataFrame:
    """Return the first rows of each group in the drawn order; equal ones in their own order."""
    return rows.filter(pl.col(_ORDER).rank("ordinal").over(by) <= most)

"""The copy compared with the source, after it is written and before it is committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import VerificationError
from halfmask.databases._copying import CopiedTable, RowDigest, text_hashes
from halfmask.databases._subset import dangling

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.databases._schema import ForeignKey, SourceDatabase, TargetDatabase


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCount:
    """What was counted of a table in the target.

    Attributes
    ----------
    name, n_rows
        The table, and its rows.
    n_masked, n_columns
        How many of its columns have masks, and how many it has.
    """

    name: str
    n_rows: int
    n_masked: int
    n_columns: int


def check_copy(
    source: SourceDatabase,
    target: TargetDatabase,
    copied: Sequence[CopiedTable],
    keys: Sequence[ForeignKey],
    lists: dict[str, str],
) -> list[TableCount]:
    """Read the target again, and raise unless it is what it must be."""
    counts = []
    for each in copied:
        wanted = lists.get(each.table.name) or source.named(each.table.name)
        rows = source.number(f"SELECT count(*) FROM {wanted}")
        counts.append(_check_table(target, each, rows))
    for key in keys:
        lost = target.number(dangling(target, key))
        if lost:
            raise VerificationError(
                f"The foreign key {key.name!r} of the table {key.table!r} leads nowhere in {lost} "
                "rows of the copy.",
                hint="The mask of its columns writes equal values unequally.",
            )
    return counts


def _check_table(target: TargetDatabase, each: CopiedTable, rows: int) -> TableCount:
    table = each.table
    found, unchanged = RowDigest(), RowDigest()
    for frame in target.frames(table):
        found.add(frame)
        unchanged.add(frame.drop(table.masked))
        for name, raw in each.raw.items():
            if _holds(raw, frame[name]):
                raise VerificationError(
                    f"The masked column {name!r} of the table {table.name!r} has a raw value.",
                    hint="This is a fault of the mask.",
                )
    if found.n_rows != rows:
        raise VerificationError(
            f"The table {table.name!r} has {found.n_rows} rows in the copy; the source has {rows}."
        )
    for name, seen, wanted in (
        ("columns without a mask", unchanged, each.unchanged),
        ("columns", found, each.written),
    ):
        if seen.sums != wanted.sums:
            raise VerificationError(
                f"The {name} of the table {table.name!r} have other cells than the source.",
                hint="The target database changes what is written, by a trigger or a collation.",
            )
    return TableCount(
        name=table.name,
        n_rows=rows,
        n_masked=len(table.masked),
        n_columns=len(table.columns),
    )


def _holds(raw: NDArray[np.uint64], cells: pl.Series) -> bool:
    """Return whether a cell has the text of a raw value."""
    if not raw.size:
        return False
    hashes = text_hashes(cells)
    places = np.minimum(np.searchsorted(raw, hashes), raw.size - 1)
    return bool((raw[places] == hashes).any())

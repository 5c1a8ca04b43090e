"""Each released person's class, released secret and own secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ColumnNotFoundError
from halfmask.assess.attacks._reading import common_type, spelt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess.attacks._targets import TableTarget


def secret_columns(target: TableTarget, *, more_than: int = 1) -> tuple[str, ...]:
    """Return the secrets with more than `more_than` values: the others disclose nothing."""
    named = target.secrets or tuple(
        dict.fromkeys(g.column for g in target.guarantees if g.column is not None)
    )
    return tuple(
        name
        for name in named
        if name in target.released.columns and target.original[name].n_unique() > more_than
    )


def lacking(target: TableTarget, *, more_than: int = 1) -> str:
    """Return the missing inputs of an attack on classes; empty if there are none."""
    if not target.quasi_identifiers:
        return "quasi-identifiers"
    if not secret_columns(target, more_than=more_than):
        return f"a secret with more than {more_than} values among the released columns"
    return target.missing_owners or ("" if target.released.height else "released rows")


def class_numbers(released: pl.DataFrame, quasi_identifiers: Sequence[str]) -> pl.Series:
    """Return for each row the number of its class: of the first row that is equal in all columns.

    Missing equals missing and NaN equals NaN. Columns that weren't released are ignored.
    """
    columns = [name for name in quasi_identifiers if name in released.columns]
    if not columns:
        return pl.repeat(0, released.height, dtype=pl.Int64, eager=True).alias("class")
    # Columns have any names: here their places name them.
    places = [str(place) for place in range(len(columns))]
    numbered = pl.DataFrame(
        [released[name].alias(place) for name, place in zip(columns, places, strict=True)]
    ).with_row_index("row")
    first = pl.col("row").min().over(places).cast(pl.Int64)
    return numbered.select(first.alias("class")).to_series()


def people(target: TableTarget, secret: str, *, dtype: pl.DataType | None = None) -> pl.DataFrame:
    """Return for each released row its class, its released secret and its owner's secret.

    Both secrets are spelt as hierarchies spell values of one type, so that a table that went
    through text is compared by what it means. Where ``dtype`` doesn't name it, it is the type of
    people's own secrets, or the one that `common_type` finds.
    """
    if secret not in target.released.columns:
        raise ColumnNotFoundError.of([secret], target.released.columns, where="the released table")
    truth = target.original[secret].gather(target.owner_of_row)
    seen = target.released[secret]
    dtype = common_type(seen.dtype, truth.dtype) if dtype is None else dtype
    return pl.DataFrame(
        [
            class_numbers(target.released, target.quasi_identifiers),
            spelt(seen, dtype).alias("seen"),
            spelt(truth, dtype).alias("truth"),
        ]
    )


def posteriors(of: pl.DataFrame) -> pl.DataFrame:
    """Return for each class and each value it has: its rows, their share, the share of all rows."""
    return (
        # In the rows' order: sums of shares depend on theirs.
        of.group_by("class", "seen", maintain_order=True)
        .agg(n=pl.len())
        .with_columns(
            size=pl.col("n").sum().over("class"),
            prior=pl.col("n").sum().over("seen") / pl.col("n").sum(),
        )
        .with_columns(share=pl.col("n") / pl.col("size"))
    )

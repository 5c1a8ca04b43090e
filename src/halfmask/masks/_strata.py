"""Strata: the rows that agree in some columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_apart(
    columns: tuple[str, ...], others: tuple[str, ...], *, mask: str, named: str
) -> None:
    """Raise unless a mask has columns, each once, and none of them among those that it reads."""
    if not columns:
        raise ParameterError(f"The mask {mask!r} has no columns.", hint="Name one at least.")
    for name, given in (("columns", columns), (named, others)):
        if len(set(given)) < len(given):
            raise ParameterError(f"The {name!r} of the mask {mask!r} name a column twice.")
    both = [name for name in columns if name in others]
    if both:
        raise ParameterError(
            f"The mask {mask!r} has the column {both[0]!r} both in 'columns' and in {named!r}."
        )


def strata_rows(table: pl.DataFrame, by: tuple[str, ...]) -> list[NDArray[np.uint32]]:
    """Return the rows of each stratum, in the order of their first rows.

    Examples
    --------
    >>> table = pl.DataFrame({"sex": ["f", "m", "f"]})
    >>> [rows.tolist() for rows in strata_rows(table, ("sex",))]
    [[0, 2], [1]]
    """
    rows = pl.int_range(table.height, dtype=pl.UInt32, eager=True).alias("row")
    if not by:
        return [rows.to_numpy()]
    parts = [pl.col(name).alias(str(i)) for i, name in enumerate(by)]
    found = table.select(*parts, rows).group_by(map(str, range(len(by))), maintain_order=True)
    return [each.to_numpy() for each in found.agg("row")["row"]]

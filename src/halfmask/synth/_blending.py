"""Hybrid rows: between an original row and the synthetic row that is nearest to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._validation import fraction
from halfmask.synth._column_codes import ColumnCodes, of_physical

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray


def blend_rows(
    original: pl.DataFrame,
    synthetic: pl.DataFrame,
    *,
    original_share: float,
    numbers: Collection[str],
    rng: np.random.Generator,
    min_leaf: int = 1,
) -> pl.DataFrame:
    """Return for each original row one on the way to the nearest synthetic row.

    Parameters
    ----------
    original, synthetic
        Two tables of the same columns.
    original_share
        How near the row is to the original one, in [0, 1]: 0 is the synthetic row, 1 the original.
    numbers
        The columns that are amounts or times; the others are categories.
    rng
        Where draws come from.
    min_leaf
        A cell that fewer original rows have isn't written as it is: the synthetic one is.

    Returns
    -------
    polars.DataFrame
        As many rows as `original`, in its order.

    Raises
    ------
    SchemaError
        If the tables don't have the same columns and types.

    Notes
    -----
    Numbers are the weighted mean of both rows. A category, and a number that one of both rows
    lacks, is that of the original row with a probability of `original_share`. Near are rows by
    Gower's distance over ranks. Dandekar, Domingo-Ferrer and Sebé, "LHS-based hybrid microdata vs
    rank swapping and microaggregation for numeric microdata protection" (2002).
    """
    fraction(owner="blend_rows", original_share=original_share)
    if original.schema != synthetic.schema:
        raise SchemaError("The original and the synthetic table don't have the same columns.")
    if not original.height or not synthetic.height:
        return original.clear() if not original.height else original
    both = pl.concat([original, synthetic])
    coded = [ColumnCodes.of(both[name], is_number=name in numbers) for name in original.columns]
    partner = synthetic[_nearest(coded, original.height)]
    return pl.DataFrame(
        [
            _blended(
                column,
                original[column.name],
                partner[column.name],
                pl.Series(_rare(column, codes[: original.height], min_leaf)),
                original_share,
                rng,
            )
            for column, codes in coded
        ]
    )


def _nearest(
    coded: Sequence[tuple[ColumnCodes, NDArray[np.int32]]], n_original: int
) -> NDArray[np.int64]:
    """Return the nearest synthetic row of each original row."""
    from halfmask.kernels.partition.mdav import nearest_points  # noqa: PLC0415 # compiles

    points = np.stack([_places(column)[codes] for column, codes in coded], axis=1)
    return nearest_points(points[n_original:], points[:n_original], capped=True)


def _places(column: ColumnCodes) -> NDArray[np.float64]:
    """Return ranks for amounts; codes for categories, which are 1 or more apart."""
    if not column.is_number:
        return np.arange(float(column.n_codes))
    ranks = column.ranks.copy()
    ranks[column.missing] = -1.0
    return ranks


def _rare(column: ColumnCodes, codes: NDArray[np.int32], min_leaf: int) -> NDArray[np.bool_]:
    """Return for each row whether fewer rows have its cell; a missing one is never rare."""
    counts = np.bincount(codes, minlength=column.n_codes)
    rare: NDArray[np.bool_] = (counts[codes] < min_leaf) & (codes != column.missing)
    return rare


def _blended(
    column: ColumnCodes,
    own: pl.Series,
    other: pl.Series,
    rare: pl.Series,
    share: float,
    rng: np.random.Generator,
) -> pl.Series:
    from_own = pl.Series(rng.random(len(own)) < share) & ~rare
    chosen = own.zip_with(from_own, other)
    if not column.is_number:
        return chosen
    near, far = own.to_physical(), other.to_physical()
    if near.dtype.is_float():
        mean = near * share + far * (1 - share)
        mean = mean if column.decimals is None else mean.round(column.decimals)
    else:
        # Steps are counted in whole numbers: floats would be off by one beyond 2**53.
        steps = (far.cast(pl.Int64) - near.cast(pl.Int64)) // column.step
        mean = near.cast(pl.Int64) + (steps * (1 - share)).round().cast(pl.Int64) * column.step
    mixed = of_physical(mean.cast(near.dtype), own.dtype)
    known = own.is_not_null() & other.is_not_null() & ~(rare & (mixed == own))
    return mixed.zip_with(known, chosen).alias(column.name)

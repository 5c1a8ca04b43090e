"""Hybrid rows from small groups: means, variances and correlations of each group stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask._validation import integer_at_least
from halfmask.synth._column_codes import ColumnCodes, Donors, Drawn, of_physical

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

#: Of more rows, blocks are made first, as for microaggregation.
BLOCK_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupHybrid:
    """Rows that were drawn group by group.

    Parameters
    ----------
    rows
        The rows, in the order of the originals' groups.
    sizes
        The rows of each group, (groups,).
    """

    rows: pl.DataFrame
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"GroupHybrid({self.rows.height} rows in {len(self.sizes)} groups)"


def rotate_groups(
    table: pl.DataFrame, *, k: int, numbers: Collection[str], rng: np.random.Generator
) -> GroupHybrid:
    """Group near rows, and draw as many from what a group has in common.

    Parameters
    ----------
    table
        The original rows.
    k
        The least rows of a group, 2 at least.
    numbers
        The columns that are amounts or times; the others are categories.
    rng
        Where draws come from.

    Raises
    ------
    GuaranteeNotMetError
        If there are fewer than k rows.
    SchemaError
        If most rows have a category that fewer than k rows have.

    Notes
    -----
    **Guarantees.** The rows of a group are drawn from a distribution that is the same whichever of
    its k or more people has which of its rows: from the group's means and covariances, and from how
    often each category occurs in it. Before numbers are rounded to the column's digits and turned
    back at its least and greatest number, every group keeps its means, variances and correlations
    of numbers.

    **Edge cases.** A group whose people all have one value reveals it, as k-anonymity does. Numbers
    that all of a group share stay. A category that fewer than k rows have isn't written: another of
    the group is. If most rows of a column have such a category, it is an error.

    Groups: MDAV. Their rows: the deviations from the group's mean, turned by a random orthogonal
    matrix that leaves the mean where it is; categories and missing cells are shuffled, column by
    column. Domingo-Ferrer and González-Nicolás, "Hybrid microdata using microaggregation" (2010);
    Ting, Fienberg and Trottini, "Random orthogonal matrix masking methodology for microdata
    release" (2008).
    """
    integer_at_least(2, owner="rotate_groups", k=k)
    if table.height < k:
        raise GuaranteeNotMetError(
            f"Groups of {k} rows can't be made of {table.height}.",
            hint="Ask for less, or give more rows.",
        )
    coded = [ColumnCodes.of(table[name], is_number=name in numbers) for name in table.columns]
    group = _groups(coded, table.height, k)
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ordered = table[order]
    amounts = [column for column, _ in coded if column.is_number]
    turned = _turned([ordered[it.name] for it in amounts], starts, sizes, rng)
    cells = {}
    for column, codes in coded:
        mixed = _mixed(column, codes[order], starts, sizes, rng, k=k)
        if column.is_number:
            written = _on_grid(column, turned[column.name])
            known = ordered[column.name].is_not_null().to_numpy().astype(np.int64)
            is_alone = np.repeat(np.add.reduceat(known, starts) == 1, sizes)
            written = _not_single(column, written, is_alone, rng, k=k)
            mixed = written.zip_with(mixed.is_not_null(), mixed)
        cells[column.name] = mixed
    return GroupHybrid(rows=pl.DataFrame(cells), sizes=sizes.astype(np.int64))


def _groups(
    coded: Sequence[tuple[ColumnCodes, NDArray[np.int32]]], n: int, k: int
) -> NDArray[np.int64]:
    from halfmask.kernels.partition.mdav import (  # noqa: PLC0415 # the compiler loads late
        MEAN,
        MISSING,
        MODE,
        PointColumns,
        mdav_groups,
    )

    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    places = []
    for column, codes in coded:
        table = np.arange(float(column.n_codes))
        if column.is_number:
            table = column.ranks.copy()
            table[column.missing] = MISSING
        places.append(table[codes])
    columns = PointColumns(
        capped=True,
        averages=np.array([MEAN if it.is_number else MODE for it, _ in coded], dtype=np.int64),
        codes=np.stack([codes for _, codes in coded], axis=1).astype(np.int32),
        levels=np.concatenate(
            [np.zeros(0), *(np.arange(float(it.n_codes)) for it, _ in coded if not it.is_number)]
        ),
        offsets=np.cumsum([0, *(0 if it.is_number else it.n_codes for it, _ in coded)]).astype(
            np.int64
        ),
    )
    points = np.ascontiguousarray(np.stack(places, axis=1))
    return mdav_groups(points, columns, k=k, block_rows=BLOCK_ROWS)


def _turned(
    columns: Sequence[pl.Series],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
) -> dict[str, NDArray[np.float64]]:
    """Return amounts, turned within each group; a missing one is the mean of its group before."""
    if not columns:
        return {}
    amounts = np.stack(
        [each.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy() for each in columns],
        axis=1,
    )
    for start, size in zip(starts, sizes, strict=True):
        rows = amounts[start : start + size]
        known = ~np.isnan(rows)
        counts = np.maximum(1, known.sum(axis=0))
        mean = np.where(known, rows, 0.0).sum(axis=0) / counts
        deviations = np.where(known, rows - mean, 0.0)
        amounts[start : start + size] = mean + _rotation(int(size), rng) @ deviations
    return {each.name: amounts[:, place] for place, each in enumerate(columns)}


def _rotation(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random orthogonal matrix that leaves the vector of ones where it is.

    Uniform among these: Gaussian numbers, whose distribution no rotation changes, are made
    orthogonal to the ones and to each other.
    """
    drawn = rng.standard_normal((size, size))
    drawn[:, 0] = 1.0
    basis, upper = np.linalg.qr(drawn)
    basis = basis * np.sign(np.diag(upper))
    other = rng.standard_normal((size, size))
    other[:, 0] = 1.0
    second, upper = np.linalg.qr(other)
    second = second * np.sign(np.diag(upper))
    rotation: NDArray[np.float64] = basis @ second.T
    return rotation


def _mixed(
    column: ColumnCodes,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    k: int,
) -> pl.Series:
    """Return cells shuffled within groups; of a rare category another one of its group."""
    order = _shuffled(starts, sizes, rng)
    mixed = codes[order]
    if not column.is_number:
        drawable = column.drawable(codes, min_leaf=k)
        group = np.repeat(np.arange(len(starts)), sizes)
        others = Donors.of(group, drawable, len(starts)).drawn(group, rng).codes
        mixed = np.where(drawable[order] < 0, others, mixed)
    none = np.zeros(column.n_codes, dtype=np.bool_)
    return column.cells(Drawn(codes=mixed, neighbour=mixed), rare=none, rng=rng)


def _not_single(
    column: ColumnCodes,
    written: pl.Series,
    is_alone: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    k: int,
) -> pl.Series:
    """Return numbers without a rare end of the column, and without the only number of a group."""
    if not len(column.values):
        return written
    rare, codes = column.rare(k), column.codes_of(written)
    is_end = (codes == 0) | (codes == column.missing - 1)
    same = written.eq_missing(column.values.gather(codes).cast(column.dtype)).to_numpy()
    single = pl.Series(rare[codes] & same & (is_end | is_alone))
    others = pl.Series([None] * len(codes), dtype=column.dtype)
    if column.has_room(k):
        others = column.cells(Drawn(codes=codes, neighbour=codes), rare=rare, rng=rng)
    return others.zip_with(single, written)


def _shuffled(
    starts: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the places of rows shuffled within their groups."""
    group = np.repeat(np.arange(len(starts)), sizes)
    return np.lexsort((rng.random(len(group)), group))


def _on_grid(column: ColumnCodes, amounts: NDArray[np.float64]) -> pl.Series:
    """Return amounts as the column writes them; those beyond its range are turned back into it.

    Cut off at its ends, they would show the least and the greatest number of the table.
    """
    physical = column.values.to_physical()
    if not len(physical):
        return pl.Series(column.name, [None] * len(amounts), dtype=column.dtype)
    if physical.dtype.is_float():
        points = physical.to_numpy()
        found = _turned_back(amounts, points[0], points[-1])
        found = found if column.decimals is None else np.round(found, column.decimals)
        written = pl.Series(np.clip(found, points[0], points[-1]))
    else:
        low, high = int(physical[0]), int(physical[-1])
        low += (int(physical[len(physical) // 2]) - low) % column.step  # a code is on no grid
        most = (high - low) // column.step
        steps = np.rint(_turned_back((amounts - low) / column.step, 0.0, float(most)))
        whole = np.clip(steps, 0, most).astype(np.int64) * column.step + low
        written = pl.Series(whole)
    return of_physical(written.cast(physical.dtype), column.values.dtype).cast(column.dtype)


def _turned_back(amounts: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Return amounts within a range: one beyond an end lies as far on the other side of it."""
    width = high - low
    beyond = (amounts < low) | (amounts > high)
    if not width or not beyond.any():
        return np.clip(amounts, low, high)
    way = np.abs(amounts[beyond] - low) % (2 * width)
    found = amounts.copy()
    found[beyond] = low + np.where(way > width, 2 * width - way, way)
    return found

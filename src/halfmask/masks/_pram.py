"""PRAM: some cells get a value drawn from the column's own frequencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks._row_draws import row_fractions
from halfmask.masks._technique import Technique

if TYPE_CHECKING:
    from halfmask.masks._value_counts import ValueCounts

__all__ = ["Pram"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram:
    """Keep each value with a probability; else draw by the column's frequencies.

    Parameters
    ----------
    keep
        The probability of keeping a cell's value, 0 <= keep < 1.

    Raises
    ------
    ParameterError
        If it isn't.

    Notes
    -----
    The post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998) with the
    invariant matrix ``keep * I + (1 - keep) * 1 p``, p the column's frequencies.

    **Guarantees.** Expected frequencies are those of the column. Any value could have been any
    other one of the column, unless ``keep`` and its frequency are near 1. Draws are unknown without
    the key.

    **Edge cases.** A drawn value may be the same again. Missing cells stay missing. Relations to
    other columns become weaker; impossible combinations occur. A value may be drawn that only rows
    have which are left out of the release.

    Examples
    --------
    >>> from halfmask.masks import ValueCounts
    >>> jobs = pl.Series("job", ["cook", "nurse", "cook", None])
    >>> plan = Pram(keep=0.5).fit("job", pl.String(), ValueCounts.of(jobs), bytes(32))
    >>> set(plan.apply(jobs, 0).drop_nulls()) <= {"cook", "nurse"}
    True
    """

    name: ClassVar[str] = "pram"
    coarsens: ClassVar[bool] = False
    about: ClassVar[Technique] = Technique(
        source="Gouweleeuw, Kooiman, Willenborg and de Wolf 1998",
        keeps="Expected frequencies of the column",
        oracle="transition frequencies by a chi-square test",
    )
    is_matchable: ClassVar[bool] = True  # with the probability that it is kept
    needs_counts: ClassVar[bool] = True
    weaknesses: ClassVar[tuple[str, ...]] = (
        "left-out-values",
        "mostly-true",
        "nulls-visible",
    )

    keep: float

    def __post_init__(self) -> None:
        if not 0 <= self.keep < 1:
            raise ParameterError(
                f"The 'keep' of the mask 'pram' must be at least 0 and below 1. Got {self.keep}."
            )

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return the column's own type; see `Mask`."""
        if dtype.is_nested():
            raise SchemaError(
                f"Column {column!r} has the mask 'pram', which is for single values. "
                f"Got the type {dtype}."
            )
        return dtype

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Drawn:
        """Return the plan, which holds values, frequencies and the key; see `Mask`."""
        self.written(column, dtype)
        if counts is None:
            raise ParameterError(
                "The mask 'pram' is fitted to the column's values; none are given."
            )
        return _Drawn(self.keep, counts, key)


@dataclass(frozen=True, slots=True)
class _Drawn:
    keep: float
    counts: ValueCounts
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        n = column.len()
        stays = row_fractions(n, key=self.key, first_row=first_row) < self.keep
        if not self.counts.cells:
            return column
        reached = self.counts.counts.cum_sum().to_numpy()
        place = row_fractions(n, key=self.key, first_row=first_row, stream=1) * self.counts.cells
        drawn = self.counts.values.gather(np.searchsorted(reached, place, side="right"))
        stays |= column.is_null().to_numpy()
        return column.zip_with(pl.Series(stays), drawn.alias(column.name))

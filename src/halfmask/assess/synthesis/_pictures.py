"""Original and synthetic columns side by side: distributions, and what columns say of each other.

A picture is released with the rows, so it follows the rules of
:mod:`halfmask.assess.utility._distributions`: no bar of few original rows, no category that the
release doesn't hold, rounded counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask.assess.utility import (
    ColumnExtents,
    Distribution,
    categorical_distribution,
    date_label,
    numeric_distribution,
)
from halfmask.assess.utility._table_changes import cramers_v
from halfmask.data.hierarchy.tree import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Floats
    from halfmask.assess.masking.pairs import ColumnPair

DAY: Final = 86_400
#: More columns can't be seen in one picture.
MOST_COLUMNS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Associations:
    """How much each two columns say of each other, in both tables.

    Parameters
    ----------
    columns
        Their names.
    original, released
        Cramér's V of each two columns in bins, in [0, 1]; 0 where a column has one value.
    """

    columns: tuple[str, ...]
    original: tuple[tuple[float, ...], ...]
    released: tuple[tuple[float, ...], ...]

    @property
    def sentence(self) -> str:
        """The picture in words."""
        gaps = {
            (i, j): abs(self.original[i][j] - self.released[i][j])
            for i, j in combinations(range(len(self.columns)), 2)
        }
        i, j = max(gaps, key=lambda pair: gaps[pair])
        return (
            f"Cramér's V of {len(gaps)} pairs of columns, in bins. On average it differs by "
            f"{sum(gaps.values()) / len(gaps):.3f}; most for {self.columns[i]} and "
            f"{self.columns[j]}: {self.original[i][j]:.2f} in the original, "
            f"{self.released[i][j]:.2f} in the released rows."
        )


def associations(
    binned: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], names: Sequence[str]
) -> Associations | None:
    """Measure how much each two columns say of each other in both tables.

    Parameters
    ----------
    binned
        For each column the bins of the original and the released rows.
    names
        Their names; of more than 30 columns the first 30 are compared.

    Returns
    -------
    Associations or None
        None where there are fewer than two columns.
    """
    n = min(len(names), MOST_COLUMNS)
    if n < 2:
        return None
    tables = np.eye(n)[None].repeat(2, axis=0)
    for i, j in combinations(range(n), 2):
        for side in (0, 1):
            found = cramers_v(binned[i][side].astype(float), binned[j][side].astype(float))
            tables[side, i, j] = tables[side, j, i] = np.nan_to_num(found)
    original, released = (tuple(map(tuple, table.tolist())) for table in tables)
    return Associations(columns=tuple(names[:n]), original=original, released=released)


def column_pictures(
    original: pl.DataFrame,
    released: pl.DataFrame,
    pairs: Sequence[ColumnPair],
    *,
    min_count: int,
    spans_both: bool = False,
) -> dict[str, Distribution]:
    """Picture each column in both tables; one that can't be pictured is left out.

    What only the original has is in no bar of its own, unless ``spans_both``: for its owner.
    """
    found = {}
    for pair in pairs:
        cells, drawn = original[pair.name], released[pair.name]
        is_amount = cells.dtype.is_numeric() or cells.dtype in (pl.Date, pl.Datetime)
        if pair.is_number and is_amount:
            picture = _amounts(cells, drawn, min_count, spans_both=spans_both)
        else:
            picture = _categories(cells, drawn, min_count, spans_both=spans_both)
        if picture is not None:
            found[pair.name] = picture
    return found


def _amounts(
    cells: pl.Series, drawn: pl.Series, min_count: int, *, spans_both: bool
) -> Distribution | None:
    numbers = (_numbers(each) for each in (cells, drawn))
    there = [each[np.isfinite(each)] for each in numbers]
    if not all(len(each) for each in there):
        return None
    low, high = (float(edge(np.concatenate(there))) for edge in (np.min, np.max))
    extents = ColumnExtents(
        low=there[1], high=there[1], domain_low=low, domain_high=high, categorical=False
    )
    sizes = np.ones(len(there[1]), dtype=np.int64)
    zone = getattr(cells.dtype, "time_zone", None)
    spread = math.inf if cells.dtype == pl.Date else high - low  # dates have no time of day
    label = date_label(spread, zone) if cells.dtype.is_temporal() else None
    return numeric_distribution(
        there[0], extents, sizes, min_count=min_count, label=label, spans_both=spans_both
    )


def _numbers(cells: pl.Series) -> Floats:
    """Return amounts, or days since 1970; NaN for missing."""
    if cells.dtype.is_temporal():
        cells = cells.dt.epoch("s") / DAY
    return cells.cast(pl.Float64).to_numpy()


def _categories(
    cells: pl.Series, drawn: pl.Series, min_count: int, *, spans_both: bool
) -> Distribution | None:
    before, after = (_counts(each) for each in (cells, drawn))
    may = before if spans_both else after
    return categorical_distribution(before, after, in_release=may, min_count=min_count)


def _counts(cells: pl.Series) -> dict[str, float]:
    """Return the rows of each category; missing is one."""
    texts = as_text(cells).fill_null("missing")
    values, counts = texts.value_counts()
    return dict(zip(values.to_list(), counts.cast(pl.Float64).to_list(), strict=True))

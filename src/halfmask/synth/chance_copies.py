"""Drawn rows that equal original rows, capped at as many as equal them by chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: Rows that more original rows equal are nobody's: they aren't capped.
MOST_EQUAL = 5
#: Rows differ by design where at most one of so many equals another.
REPEATED = 100
#: Moved rows equal others less often where the other cells change: so many times as many may.
EDGES = 1.25

#: A table is dense if so many rows of independent cells equal an original one.
MOST_DENSE = 0.75


@dataclass(frozen=True, kw_only=True, eq=False)
class ChanceCopies:
    """How many drawn rows may equal the original rows.

    A row of somebody else equals a row that r people have with the probability (r + 1) N(r + 1) / n
    where N(r) is how many different rows r people have. Good, "The population frequencies of
    species and the estimation of population parameters" (1953).

    That is 0 where rows differ by design, such as one for each day. Yet each day that is drawn is
    somebody's, and the few other cells are his about as often as those of the day before. So many
    of the drawn rows, with that cell moved to the next value, equal an original row by chance too.
    """

    originals: pl.DataFrame
    repeated: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"ChanceCopies({self.originals.height} rows)"

    @classmethod
    def of(cls, originals: pl.DataFrame) -> Self:
        """Count rows that equal others: those that equal 1, 2, ... 5 others, (5,)."""
        known = _comparable(originals)
        return cls(originals=known, repeated=of_few(_equal(known, known) - 1))

    def found(self, drawn: pl.DataFrame) -> NDArray[np.int64]:
        """Return how many original rows each drawn row equals."""
        return _equal(_comparable(drawn), self.originals)

    def capped(self, drawn: pl.DataFrame) -> pl.DataFrame:
        """Return the drawn rows, in order, but no more than by chance that equal few originals.

        Rows of one person are as many as chance at most. Of all rows of few people three standard
        errors more may be: where nearly all rows are such, no others can be drawn.
        """
        equal, n = self.found(drawn), drawn.height
        shares = self.shares
        most = np.floor(n * shares + [0.0, 3 * sqrt(n * shares[1] * (1 - shares[1]))])
        kinds = (equal == 1), (equal > 0) & (equal <= MOST_EQUAL)
        if any(kind.sum() > cap for kind, cap in zip(kinds, most, strict=True)):
            most = np.maximum(most, EDGES * self.moved(drawn))
        stays = np.ones(n, dtype=np.bool_)
        for kind, cap in zip(kinds, most, strict=True):
            stays[np.flatnonzero(kind & stays)[int(cap) :]] = False
        return drawn.filter(pl.Series(stays))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Chance to equal a row of one person, and of few, by Good's estimate, (2,)."""
        return np.array([self.repeated[0], self.repeated.sum()]) / self.originals.height

    def moved(self, drawn: pl.DataFrame) -> int:
        """Return how many rows equal one of few people if one cell were the next value.

        Of all columns by which rows differ by design that with the most.
        """
        rows = _comparable(drawn)
        found = (
            sum(of_few(_equal(it, common)).sum() for it in _moved(rows, name))
            for name, common in self._common.items()
        )
        return int(max(found, default=0)) // 2

    @cached_property
    def is_dense(self) -> bool:
        """Whether even of rows of independent cells three of four had to go.

        Then whatever is drawn is somebody's row. The answer depends on the originals alone.
        """
        n, people = self.originals.height, pl.len().over(self.originals.columns)
        cells = (pl.len().over(name) / n for name in self.originals.columns)
        each = reduce(mul, cells) / people
        equal = self.originals.select(
            one=pl.when(people == 1).then(each).otherwise(0.0).sum(),
            few=pl.when(people <= MOST_EQUAL).then(each).otherwise(0.0).sum(),
        ).row(0)
        return bool(((1 - np.array(equal)) < (1 - MOST_DENSE) * (1 - self.shares)).any())

    @cached_property
    def _common(self) -> dict[str, pl.DataFrame]:
        """For each column by which rows differ by design the originals that are compared.

        Their other cells are those of more than five people: else they tell of a person by
        themselves. Hardly one of them equals another, and numbers leave few gaps.
        """
        found = {}
        for name in self.originals.columns:
            others = pl.struct(pl.exclude(name)) if self.originals.width > 1 else pl.lit(0)
            is_common = (pl.len().over(others) > MOST_EQUAL) & pl.col(name).is_not_null()
            common = self.originals.filter(is_common)
            is_design = common.is_duplicated().sum() * REPEATED <= common.height
            if common.height and is_design and _is_filled(common[name]):
                found[name] = common
        return found


def of_few(equal: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows equal 1, 2, ... 5 others, (5,)."""
    return np.bincount(equal, minlength=MOST_EQUAL + 1)[1 : MOST_EQUAL + 1]


def _is_filled(cells: pl.Series) -> bool:
    """Return whether a number that is drawn is likely somebody's: few gaps are wider than others.

    So are categories, and what more than five people have each.
    """
    values = cells.unique().sort().to_physical()
    if not (cells.dtype.is_numeric() or cells.dtype.is_temporal()) or (
        len(values) * MOST_EQUAL < len(cells)
    ):
        return True
    gap = values.diff()[1:].sort()[len(values) // 20]
    return bool(2 * gap * (len(values) - 1) >= values[-1] - values[0])


def _moved(rows: pl.DataFrame, name: str) -> Iterator[pl.DataFrame]:
    """Yield the rows with the next and the previous of a column's values; its ends have one."""
    values = rows[name].drop_nulls().unique().sort()
    if len(values) < 2:
        return
    last = len(values) - 1
    known = rows.filter(pl.col(name).is_not_null())
    places = (known[name].rank("dense") - 1).cast(pl.Int64).to_numpy()
    for beside in (
        np.where(places < last, places + 1, last - 1),
        np.where(places > 0, places - 1, 1),
    ):
        yield known.with_columns(values.gather(beside))


def _comparable(table: pl.DataFrame) -> pl.DataFrame:
    """Return columns c0, c1, ... whose cells are equal, and in the order, of those in a file."""
    cells = []
    for place, (name, dtype) in enumerate(table.schema.items()):
        cell = table[name].alias(f"c{place}")
        if dtype.is_float():
            cell = cell.fill_nan(None)
        elif dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Duration):
            cell = cell.cast(pl.String)
        elif isinstance(dtype, pl.Datetime):
            cell = cell.dt.replace_time_zone(None)
        cells.append(cell)
    return pl.DataFrame(cells)


def _equal(rows: pl.DataFrame, known: pl.DataFrame) -> NDArray[np.int64]:
    """Return for each row how many known rows equal it; missing cells are equal."""
    counts = known.group_by(known.columns).agg(pl.len().alias("n"))
    found = rows.join(counts, on=known.columns, how="left", nulls_equal=True, maintain_order="left")
    return found["n"].fill_null(0).to_numpy().astype(np.int64)

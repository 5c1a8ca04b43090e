"""Sampling: a part of the rows is released, drawn under a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._random import keyed_order
from halfmask._validation import decimal, rows_of_share
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._row_draws import row_fractions
from halfmask.masks._strata import strata_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Streams of a mask's key: the order of the rows, and the draw that rounds sizes.
_ORDER: Final = 0
_SIZES: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleSampling(CheckedMask):
    """Keep a simple random sample of the rows, without replacement.

    Parameters
    ----------
    fraction
        The share of the rows to keep: above 0, below 1.
    n
        In its place: how many rows to keep.

    Raises
    ------
    ParameterError
        If both are given or none, or one can't be.

    Notes
    -----
    Simple random sampling without replacement as in Cochran (1977), chapter 2. The manifest states
    the parameters, and how many rows were read and kept.

    **Guarantees.** Exactly n rows are kept, or the share rounded to whole rows. Each set of so
    many rows has the same probability. The draw is unknown without the key.

    **Edge cases.** A row that is unique in the sample needn't be unique in the population: the
    attacker can't be sure of a match. An attacker who knows that a person is in the sample has no
    such doubt. A table with fewer than n rows is refused.

    Examples
    --------
    >>> plan = SimpleSampling(n=2).fit(None, 5, bytes(32))
    >>> plan.n_rows, int(plan.kept(0, 5).sum())
    (2, 2)
    """

    name: ClassVar[str] = "sampling"
    weaknesses: ClassVar[tuple[str, ...]] = ("known-in-sample",)

    fraction: float | None = field(default=None, metadata={"gt": 0, "lt": 1})
    n: int | None = field(default=None, metadata={"ge": 1})

    def _check_together(self) -> None:
        _check_one(self.name, fraction=self.fraction, n=self.n)

    @property
    def reads(self) -> tuple[str, ...]:
        """No columns."""
        return ()

    def fit(self, table: pl.DataFrame | None, n_rows: int, key: bytes) -> KeptRows:
        """Return the plan, which holds whether each row is kept; see `RowMask`."""
        if self.n is not None and self.n > n_rows:
            raise DataError(
                f"The mask {self.name!r} keeps {self.n} rows, and the table has {n_rows}.",
                hint="Choose a smaller n, or a fraction.",
            )
        size = (
            self.n if self.fraction is None else rows_of_share(self.fraction, n_rows, nearest=True)
        )
        kept = np.zeros(n_rows, dtype=np.bool_)
        kept[keyed_order(n_rows, key=key, stream=_ORDER)[:size]] = True
        return KeptRows(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedSampling(CheckedMask):
    """Keep a random sample of the rows of each stratum.

    Parameters
    ----------
    by
        The columns whose values make a stratum. A missing cell is a value of its own.
    fraction
        The share of the rows to keep in each stratum: above 0, below 1.
    n
        In its place: how many rows to keep in each stratum; all where there are fewer.

    Raises
    ------
    ParameterError
        If there are no columns, both are given or none, or one can't be.

    Notes
    -----
    Stratified sampling as in Cochran (1977), chapter 5. Sizes of strata are rounded together, as a
    systematic sample of cumulated shares (Cox 1987 rounds tables in the same spirit).

    **Guarantees.** With a fraction, the rows kept of each stratum, and of all, are its share
    rounded up or down. Each row is kept with exactly this probability. Within a stratum each set
    of so many rows has the same probability. The draw is unknown without the key.

    **Edge cases.** See `SimpleSampling` about uniqueness. With n, rows of small strata are kept
    more often than others, or always: a row of a stratum of at most n rows is certainly in the
    sample. A small stratum may lose all its rows with a fraction.

    Examples
    --------
    >>> table = pl.DataFrame({"sex": ["f", "m"] * 10})
    >>> plan = StratifiedSampling(by=("sex",), fraction=0.3).fit(table, 20, bytes(32))
    >>> table.filter(plan.kept(0, 20))["sex"].value_counts(sort=True)["count"].to_list()
    [3, 3]
    """

    name: ClassVar[str] = "stratified-sampling"

    by: tuple[str, ...]
    fraction: float | None = field(default=None, metadata={"gt": 0, "lt": 1})
    n: int | None = field(default=None, metadata={"ge": 1})

    def _check_together(self) -> None:
        if not self.by:
            raise ParameterError(
                f"The mask {self.name!r} has no columns in 'by'.",
                hint="Name the strata, or take the mask 'sampling'.",
            )
        _check_one(self.name, fraction=self.fraction, n=self.n)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the strata."""
        return self.by

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        return ("known-in-sample", *(() if self.n is None else ("small-strata-kept",)))

    def fit(self, table: pl.DataFrame | None, n_rows: int, key: bytes) -> KeptRows:
        """Return the plan, which holds whether each row is kept; see `RowMask`."""
        kept = np.zeros(n_rows, dtype=np.bool_)
        if table is None or not n_rows:
            return KeptRows(kept)
        place = np.empty(n_rows, dtype=np.int64)
        place[keyed_order(n_rows, key=key, stream=_ORDER)] = np.arange(n_rows)
        strata = strata_rows(table, self.by)
        sizes = np.array([len(rows) for rows in strata], dtype=np.int64)
        for rows, size in zip(strata, self._kept_of(sizes, key), strict=True):
            if size:
                kept[rows[np.argpartition(place[rows], size - 1)[:size]]] = True
        return KeptRows(kept)

    def _kept_of(self, sizes: NDArray[np.int64], key: bytes) -> NDArray[np.int64]:
        """Return how many rows to keep of each stratum."""
        if self.fraction is None:
            return np.minimum(sizes, self.n or 0)
        # The whole numbers that a random start and the cumulated shares pass.
        start = row_fractions(1, key=key, stream=_SIZES)[0]
        exact = [divmod(decimal(self.fraction) * int(rows), 1) for rows in np.cumsum(sizes)]
        passed = np.array([whole + (start + rest >= 1) for whole, rest in exact], dtype=np.int64)
        kept: NDArray[np.int64] = np.minimum(np.diff(passed, prepend=0), sizes)
        return kept


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptRows:
    """Whether each row of the table is kept."""

    rows: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())

    def kept(self, first_row: int, height: int) -> pl.Series:
        return pl.Series(self.rows[first_row : first_row + height], dtype=pl.Boolean)


def _check_one(name: str, *, fraction: float | None, n: int | None) -> None:
    """Raise unless one of the two is given and can be."""
    if (fraction is None) == (n is None):
        raise ParameterError(
            f"The mask {name!r} must have either 'fraction' or 'n'.",
            hint="Such as fraction = 0.1.",
        )

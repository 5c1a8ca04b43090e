"""PRAM: some cells get another value, by a matrix of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._row_draws import row_fractions
from halfmask.masks._strata import check_apart, strata_rows
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._transitions import (
    Keep,
    KeptOrDrawn,
    Matrix,
    Moved,
    check_keep,
    check_matrix,
    codes_of,
    redrawn,
)
from halfmask.masks._value_counts import check_single

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.masks._value_counts import ValueCounts

#: Rows that are written at once: their arrays stay in the processor's cache.
_BLOCK: Final = 1 << 17
_WEAKNESSES = ("left-out-values", "mostly-true", "nulls-visible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram(CheckedMask):
    """Write another value with the probabilities of a matrix (PRAM).

    Parameters
    ----------
    keep
        The probability of keeping a cell's value, below 1; or one for each value. All other cells
        get a value that is drawn by frequency.
    matrix
        In its place: for each value, the probability of each value that is written for it.
    invariant
        Whether a second stage follows the matrix, so that expected frequencies stay.

    Raises
    ------
    ParameterError
        If not exactly one of ``keep`` and ``matrix`` is given, a number is no probability, a row
        doesn't sum to 1, or nothing would change.

    Notes
    -----
    The post-randomisation method (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998). With ``keep``
    the matrix is ``diag(keep) + (1 - keep) w``, where w is proportional to ``p * (1 - keep)`` and
    p are the column's frequencies. It is invariant. With ``invariant`` the second stage is Bayes'
    rule: the probability of each original value given the value that the first stage wrote (the
    two-stage method of the same paper). A value is then kept with another probability than that
    of the matrix.

    **Guarantees.** With ``keep`` or ``invariant``, expected frequencies are those of the column.
    Each cell is drawn by its own random number, which is unknown without the key.

    **Edge cases.** A drawn value may be the same again. Missing cells stay missing. Relations to
    other columns become weaker; impossible combinations occur. A value may be drawn that only rows
    have which are left out of the release. A matrix that names too many or too few values is an
    error, and so is a later cell that the matrix has no row for. Numbers and dates are named as
    texts, such as ``"1"`` or ``"2020-01-31"``.

    Examples
    --------
    >>> from halfmask.masks import ValueCounts
    >>> jobs = pl.Series("job", ["cook", "nurse", "cook", None])
    >>> plan = Pram(keep=0.5).fit("job", pl.String(), ValueCounts.of(jobs), bytes(32))
    >>> set(plan.apply(jobs, 0).drop_nulls()) <= {"cook", "nurse"}
    True
    >>> matrix = {"cook": {"cook": 0.9, "nurse": 0.1}, "nurse": {"nurse": 1.0}}
    >>> plan = Pram(matrix=matrix).fit("job", pl.String(), ValueCounts.of(jobs), bytes(32))
    >>> plan.apply(jobs, 0)[1]
    'nurse'
    """

    name: ClassVar[str] = "pram"
    coarsens: ClassVar[bool] = False
    traits: ClassVar[MaskTraits] = MaskTraits(unstated=("keep", "matrix"))
    is_matchable: ClassVar[bool] = True  # with the probability that it is kept
    needs_counts: ClassVar[bool] = True
    weaknesses: ClassVar[tuple[str, ...]] = _WEAKNESSES

    keep: Keep | None = None
    matrix: Matrix | None = None
    invariant: bool = False

    def _check_together(self) -> None:
        if (self.keep is None) == (self.matrix is None):
            raise ParameterError("The mask 'pram' has either 'keep' or a 'matrix'.")
        if self.keep is not None:
            check_keep(self.keep, mask=self.name)
            if self.invariant:
                raise ParameterError(
                    "The mask 'pram' has 'invariant' without a 'matrix'.",
                    hint="Leave it out: with 'keep' the matrix is invariant.",
                )
        if self.matrix is not None:
            check_matrix(self.matrix, mask=self.name)

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return the column's own type; see `Mask`."""
        check_single(column, dtype, mask=self.name)
        return dtype

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Redrawn:
        """Return the plan, which holds values, frequencies and the key; see `Mask`."""
        self.written(column, dtype)
        if counts is None:
            raise ParameterError(
                "The mask 'pram' is fitted to the column's values; none are given."
            )
        found = self.transitions(column, counts.values, counts.counts.to_numpy())
        return _Redrawn(counts.values, found, key)

    def transitions(
        self, column: str, values: pl.Series, counts: NDArray[np.int64]
    ) -> KeptOrDrawn | Moved:
        """Return the probabilities for a column's values.

        Parameters
        ----------
        column
            Its name, for errors.
        values, counts
            Its different values, and how often each occurs.

        Raises
        ------
        DataError
            If ``keep`` or ``matrix`` names other values than those of the column.
        """
        if self.matrix is not None:
            return Moved.of(self.matrix, values, counts, invariant=self.invariant, of=column)
        return KeptOrDrawn.of(self.keep or 0.0, values, counts, of=column)


@dataclass(frozen=True, slots=True)
class _Redrawn:
    values: pl.Series = field(repr=False)
    transitions: KeptOrDrawn | Moved = field(repr=False)
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        if not len(self.values):
            return column
        parts = []
        for start in range(0, column.len(), _BLOCK):
            part = column.slice(start, _BLOCK)
            u = row_fractions(part.len(), key=self.key, first_row=first_row + start)
            parts.append(redrawn(part, self.values, self.transitions, u))
        return pl.concat(parts) if parts else column


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedPram(CheckedMask):
    """Write another value by a matrix of probabilities, in each stratum by itself.

    Parameters
    ----------
    columns
        Columns of single values.
    by
        The columns whose values make a stratum.
    keep, matrix, invariant
        As of `Pram`. Frequencies are those of the stratum.

    Raises
    ------
    ParameterError
        As of `Pram`; or if there are no strata, or a column is one of them.

    Notes
    -----
    As `Pram`, after the same paper; sdcMicro's ``pram`` calls the strata ``strata_variables``.

    **Guarantees.** With ``keep`` or ``invariant``, the expected frequencies of each stratum are
    those of before, and no value is written that the stratum doesn't have. Each column is drawn by
    itself.

    **Edge cases.** A stratum of one value is unchanged, and one of few rows nearly so. A missing
    cell of ``by`` is a value of its own. With a ``matrix`` that isn't invariant, a stratum can get
    values that only others had. A matrix names the values of the column, not of each stratum.

    Examples
    --------
    >>> people = pl.DataFrame({"town": ["A", "A", "B"], "job": ["cook", "nurse", "judge"]})
    >>> mask = StratifiedPram(columns=("job",), by=("town",), keep=0.5)
    >>> mask.fit(people, bytes(32)).apply(people, 0)["job"][2]
    'judge'
    """

    name: ClassVar[str] = "stratified-pram"
    coarsens: ClassVar[bool] = False
    traits: ClassVar[MaskTraits] = MaskTraits(unstated=("keep", "matrix"))
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = _WEAKNESSES

    columns: tuple[str, ...]
    by: tuple[str, ...]
    keep: Keep | None = None
    matrix: Matrix | None = None
    invariant: bool = False

    def _check_together(self) -> None:
        check_apart(self.columns, self.by, mask=self.name, named="by")
        if not self.by:
            raise ParameterError(
                f"The mask {self.name!r} has no strata.",
                hint="Name columns in 'by', or give each column the mask 'pram'.",
            )
        self._of_column()

    def _of_column(self) -> Pram:
        return Pram(keep=self.keep, matrix=self.matrix, invariant=self.invariant)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the strata."""
        return self.by

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns' own types; see `TableMask`."""
        mask = self._of_column()
        return {name: mask.written(name, dtypes[name]) for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the written columns; see `TableMask`."""
        self.written(table.schema)
        strata = strata_rows(table, self.by)
        found = []
        for stream, name in enumerate(self.columns):
            u = row_fractions(table.height, key=key, stream=stream)
            found.append(self._redrawn(table[name], strata, u))
        return HeldColumns(pl.DataFrame(found))

    def _redrawn(
        self, cells: pl.Series, strata: list[NDArray[np.uint32]], u: NDArray[np.float64]
    ) -> pl.Series:
        mask, values = self._of_column(), cells.drop_nulls().unique().sort()
        codes = codes_of(cells, values)
        places = np.zeros(len(codes), np.int64)
        for stratum in strata:
            rows = stratum[codes[stratum] >= 0]
            counts = np.bincount(codes[rows], minlength=len(values))
            if len(rows):
                found = mask.transitions(cells.name, values, counts)
                places[rows] = found.places(codes[rows], u[rows])
        if not len(values):
            return cells
        return values.gather(places).zip_with(cells.is_not_null(), cells).alias(cells.name)

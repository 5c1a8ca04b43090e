"""Data shuffling: values of a column change rows, as a model of its relations places them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import need
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._row_draws import noise, row_fractions
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._value_ranks import check_ordered, normal_scores, ranked_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: Rows that each coefficient needs, so that predictions don't repeat what they were fitted to.
_ROWS_OF_COEFFICIENT: Final = 10
#: Values of a column of names, each of which has a coefficient of its own.
_MOST_VALUES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DataShuffling(CheckedMask):
    """Shuffle values so that relations between columns stay.

    Parameters
    ----------
    columns
        Confidential columns: numbers, dates, times or ordered categories.
    given
        Columns that are released and related to them. Texts, categories and truth values get a
        coefficient for each value.

    Raises
    ------
    ParameterError
        If there are no columns, or one is in both lists.

    Notes
    -----
    Data shuffling (Muralidhar and Sarathy 2006). The confidential columns become normal scores,
    the normal quantiles of their ranks, and are regressed on those of ``given``. New scores are
    drawn from the normal distribution of the confidential columns given the others. Then the rows
    get the original values in the order of the new scores: the smallest value goes to the row with
    the smallest score. Where the paper converts rank correlations, we take correlations of normal
    scores, which always are a correlation matrix (Klaassen and Wellner 1997).

    **Guarantees.** The values of each column are exactly those of before. Given the columns
    ``given``, a row's new values depend on its old ones only through the coefficients.
    Draws are unknown without the key.

    **Edge cases.** Relations stay as far as a normal copula describes them: monotone ones roughly,
    others not. Missing cells stay missing; in ``given`` they have a coefficient of their own.
    Fewer than 10 rows for each coefficient are refused, and more than 100 values of texts. Without
    ``given``, only the relations between the confidential columns stay.

    Examples
    --------
    >>> people = pl.DataFrame({"age": range(40), "pay": [it * it for it in range(40)]})
    >>> mask = DataShuffling(columns=("pay",), given=("age",))
    >>> shuffled = mask.fit(people, bytes(32)).apply(people, 0)["pay"]
    >>> shuffled.sort().equals(people["pay"].sort())
    True
    """

    name: ClassVar[str] = "data-shuffling"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # roughly, as far as the other columns say it
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    traits: ClassVar[MaskTraits] = MaskTraits(takes_order=True)
    weaknesses: ClassVar[tuple[str, ...]] = ("left-out-values", "nulls-visible")

    columns: tuple[str, ...]
    given: tuple[str, ...] = ()

    def _check_together(self) -> None:
        check_apart(self.columns, self.given, mask=self.name, named="given")

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the shuffled ones are related to."""
        return self.given

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns' own types; see `TableMask`."""
        for name in self.columns:
            check_ordered(name, dtypes[name], mask=self.name)
        for name in self.given:
            if dtypes[name].is_nested():
                raise SchemaError(
                    f"Column {name!r} is in the 'given' of the mask {self.name!r}, which is for "
                    f"single values. Got the type {dtypes[name].base_type().__name__}."
                )
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the shuffled columns; see `TableMask`."""
        need("numba", "scipy")
        self.written(table.schema)
        regressors = np.column_stack(
            [np.ones(table.height), *(each for it in self.given for each in _regressors(table[it]))]
        )
        scores = np.column_stack([normal_scores(table[name]) for name in self.columns])
        self._check_rows(int(np.isfinite(scores).all(axis=1).sum()), regressors.shape[1])
        drawn = _drawn(scores, regressors, key)
        return HeldColumns(
            pl.DataFrame(
                [_reordered(table[name], drawn[:, j]) for j, name in enumerate(self.columns)]
            )
        )

    def _check_rows(self, complete: int, regressors: int) -> None:
        coefficients = regressors + len(self.columns)
        if complete < _ROWS_OF_COEFFICIENT * coefficients:
            raise DataError(
                f"The mask {self.name!r} has {coefficients} coefficients and {complete} rows "
                "without a missing cell. It needs 10 rows for each.",
                hint="Take fewer columns, or merge rare values of texts.",
            )


def _regressors(cells: pl.Series) -> list[NDArray[np.float64]]:
    """Return a column as regressors: its normal scores, or an indicator of each value but one."""
    if cells.dtype.is_numeric() or cells.dtype.is_temporal() or cells.dtype == pl.Enum:
        missing = cells.is_null().to_numpy().astype(np.float64)
        scores = np.nan_to_num(normal_scores(cells))
        return [scores, missing] if missing.any() else [scores]
    counted = cells.value_counts(sort=True)[cells.name]
    if len(counted) > _MOST_VALUES:
        raise DataError(
            f"Column {cells.name!r} is in the 'given' of the mask 'data-shuffling' and has "
            f"{len(counted)} different values. It may have {_MOST_VALUES}.",
            hint="Merge its values, or leave it out.",
        )
    return [cells.eq_missing(value).to_numpy().astype(np.float64) for value in counted[1:]]


def _drawn(
    scores: NDArray[np.float64], regressors: NDArray[np.float64], key: bytes
) -> NDArray[np.float64]:
    """Draw new scores from their normal distribution given the regressors."""
    n, width = scores.shape
    expected = np.empty_like(scores)
    for j in range(width):
        there = np.isfinite(scores[:, j])
        own = regressors[there]
        # Coefficients of least squares, also where regressors repeat one another.
        found = np.linalg.lstsq(own.T @ own, own.T @ scores[there, j], rcond=None)[0]
        expected[:, j] = regressors @ found
    rest = (scores - expected)[np.isfinite(scores).all(axis=1)]
    values, vectors = np.linalg.eigh(rest.T @ rest / len(rest))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = [
        noise(row_fractions(n, key=key, stream=j), law="gaussian", scale=1.0) for j in range(width)
    ]
    return np.asarray(expected + np.column_stack(normal) @ root.T)


def _reordered(cells: pl.Series, drawn: NDArray[np.float64]) -> pl.Series:
    """Return the values of a column in the order of numbers; missing cells stay."""
    rows = cells.is_not_null().arg_true().to_numpy()
    by_value, _ = ranked_rows(cells.gather(rows))
    source = np.arange(cells.len())
    source[rows[np.argsort(drawn[rows], kind="stable")]] = rows[by_value]
    return cells.gather(source)

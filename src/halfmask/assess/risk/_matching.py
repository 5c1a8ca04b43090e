"""Rows that equal or match: combinations of values, groups that look alike, and wildcards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._validation import each_name
from halfmask.data import to_polars
from halfmask.guarantees import class_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints


def given_table(table: object) -> pl.DataFrame:
    """Return a frame as polars; one of polars as it is, but for NaN, which is missing."""
    return (table if isinstance(table, pl.DataFrame) else to_polars(table)).fill_nan(None)


def asked_of_table(
    table: object,
    columns: Sequence[str],
    *others: str | None,
    owner: str,
    where: str = "the table",
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table as polars, and columns that it must have, each once; it has `others`, too."""
    frame, names = given_table(table), each_name(columns, owner=owner)
    asked = [*names, *(name for name in others if name is not None)]
    absent = [name for name in asked if name not in frame.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, frame.columns, where=where)
    return frame, names


class Combinations(NamedTuple):
    """The different combinations of values of some columns."""

    of_row: Ints
    first: Ints
    codes: Ints
    missing: Bools

    @classmethod
    def of(cls, table: pl.DataFrame, columns: Sequence[str]) -> Combinations:
        """Return the combinations of a table."""
        of_row, n = class_of_row(table, quasi_identifiers=columns)
        first = np.empty(n, dtype=np.int64)
        first[of_row[::-1]] = np.arange(table.height - 1, -1, -1)
        kept = table.select(columns)[first]
        codes = np.empty((len(columns), n), dtype=np.int64)
        missing = np.zeros((len(columns), n), dtype=np.bool_)
        for j, name in enumerate(columns):
            codes[j], _ = class_of_row(kept, quasi_identifiers=[name])
            missing[j] = kept[name].is_null().to_numpy()
        return cls(of_row, first, codes, missing)

    @property
    def n(self) -> int:
        """How many combinations there are."""
        return len(self.first)

    @property
    def wild(self) -> Ints:
        """The codes with -1 where a cell is missing."""
        return np.where(self.missing, -1, self.codes)

    def counts(self, rows: Ints) -> Ints:
        """Add up how many rows each row stands for, for each combination."""
        total = np.zeros(self.n, dtype=np.int64)
        np.add.at(total, self.of_row, rows)
        return total

    def sums(self, numbers: Floats) -> Floats:
        """Add up a number of each row for each combination."""
        total = np.bincount(self.of_row, weights=numbers, minlength=self.n)
        return total.astype(np.float64, copy=False)


def agreeing(asked: Ints, offered: Ints, sums: Sequence[Floats | Ints]) -> Floats:
    """Add up what is offered by the combinations that agree with each that asks."""
    from halfmask.kernels.uniques.agreeing import agreeing_sums  # noqa: PLC0415 # compiles

    # Columns with most values come first, so that groups get small at once.
    order = np.argsort(-offered.max(axis=1, initial=0), kind="stable")
    found = agreeing_sums(
        np.ascontiguousarray(asked[order], dtype=np.int32),
        np.ascontiguousarray(offered[order], dtype=np.int32),
        np.stack([np.asarray(each, dtype=np.float64) for each in sums], axis=1),
    )
    return np.ascontiguousarray(found.T)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alike:
    """Groups of rows with equal quasi-identifiers, and the rows they match.

    Parameters
    ----------
    rows
        The rows of each group, at least 1 (int64).
    sample
        How many rows of the table a row of the group looks like, itself included. Where missing is
        a value of its own that is ``rows``; where it is a wildcard it may be more.
    population
        The same in the population that the table was drawn from, or ``None``.
    population_rows
        How many people the population has, those who look like no row of the table included.

    Raises
    ------
    DataError
        If the population has fewer rows of a group than the table.
    """

    rows: Ints
    sample: Ints
    population: Ints | None = None
    population_rows: int | None = None

    def __post_init__(self) -> None:
        if self.rows.size == 0 or int(self.rows.min()) < 1:
            raise ParameterError("There are no rows to judge, or a class has none.")
        arrays = [self.sample] if self.population is None else [self.sample, self.population]
        if any(array.shape != self.rows.shape for array in arrays):
            raise ParameterError(
                f"There must be one size for each of the {self.rows.size} classes. "
                f"Got {', '.join(str(array.size) for array in arrays)}."
            )
        if self.population is not None and (self.population < self.sample).any():
            n = int((self.population < self.sample).sum())
            raise DataError(
                f"The population has fewer rows than the table in {n} classes.",
                hint="The population must contain the table's rows, recoded in the same way.",
            )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.rows.sum())

    @property
    def guess_in_population(self) -> float | None:
        """The chance of a right guess in the population, if its size is known."""
        return None if self.population_rows is None else 1.0 / self.population_rows

    def mean_chance(self, people: Ints) -> float:
        """Return the mean over rows of 1 over the people that a row matches.

        Parameters
        ----------
        people
            How many people the rows of each group match.
        """
        # Rows by people, not rows times a rounded chance: where both are one this adds up exactly.
        return float((self.rows / people).sum() / self.n_rows)

    def share_of_rows(self, groups: npt.NDArray[np.bool_]) -> float:
        """Return the share of the rows that are in some of the groups.

        Parameters
        ----------
        groups
            Whether each group counts.
        """
        return int(self.rows[groups].sum()) / self.n_rows


def matching_rows(frame: object, others: object, *, quasi_identifiers: Sequence[str]) -> Ints:
    """Count the rows of ``others`` that match each row; missing matches any value.

    Two rows match when in every quasi-identifier their values are equal or one of them is missing.
    These are the semantics of sdcMicro's ``freqCalc`` (M. Templ, A. Kowarik and B. Meindl,
    "Statistical disclosure control for micro-data using the R package sdcMicro", Journal of
    Statistical Software 67(4), 2015, section 3.1). Matching isn't transitive: a row with nothing
    but missing cells matches all, which don't match each other.

    Parameters
    ----------
    frame
        The rows to count for.
    others
        The rows to count; the same table, or the population.
    quasi_identifiers
        The columns to match by.

    Returns
    -------
    ndarray
        For each row of ``frame`` the number of rows of ``others`` (int64).

    Raises
    ------
    ColumnNotFoundError
        When one of the tables lacks a column.
    DataError
        When a column holds lists, structs or foreign objects, or its types differ.

    Notes
    -----
    **Guarantees.** Exact. The cost grows with the share of missing cells, not with the number of
    pairs of rows.

    **Edge cases.** NaN is a value, not missing. Without quasi-identifiers every row matches all.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, None, 30]})
    >>> matching_rows(frame, frame, quasi_identifiers=["sex", "age"]).tolist()
    [2, 2, 1]
    """
    both, n = _both(frame, others, quasi_identifiers, owner="matching_rows")
    if not quasi_identifiers:
        return np.full(n, both.height - n, dtype=np.int64)
    found = Combinations.of(both, quasi_identifiers)
    mine = found.of_row[:n]
    counts = np.bincount(found.of_row[n:], minlength=found.n)
    asked, place = np.unique(mine, return_inverse=True)
    offered = np.flatnonzero(counts)
    wild = found.wild
    sums = agreeing(wild[:, asked], wild[:, offered], [counts[offered]])
    return np.asarray(sums[0].astype(np.int64)[place])


def equal_rows(frame: object, others: object, *, quasi_identifiers: Sequence[str]) -> Ints:
    """Count the rows of ``others`` that equal each row; missing equals missing.

    Raises as :func:`matching_rows` does.

    Parameters
    ----------
    frame
        The rows to look for.
    others
        The rows to look in.
    quasi_identifiers
        The columns that are compared.
    """
    both, n = _both(frame, others, quasi_identifiers, owner="equal_rows")
    if not quasi_identifiers:
        return np.full(n, both.height - n, dtype=np.int64)
    of_row, n_classes = class_of_row(both, quasi_identifiers=quasi_identifiers)
    counts = np.bincount(of_row[n:], minlength=n_classes).astype(np.int64)
    return counts[of_row[:n]]


def _both(
    frame: object, others: object, columns: Sequence[str], *, owner: str
) -> tuple[pl.DataFrame, int]:
    """Return the rows of the one above those of the other, and how many the one has."""
    first, names = asked_of_table(frame, columns, owner=owner)
    second, _ = asked_of_table(others, columns, owner=owner, where="the population")
    differ = [name for name in names if _kind(first[name]) != _kind(second[name])]
    # A column of nothing but missing cells has no type to differ by.
    differ = [name for name in differ if pl.Null not in {first[name].dtype, second[name].dtype}]
    if differ:
        raise DataError(
            "These columns have other types in the population than in the table: "
            f"{', '.join(repr(name) for name in differ)}.",
            hint="Read both tables in the same way.",
        )
    text = cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    both = [table.select(names).with_columns(text) for table in (first, second)]
    if not names:  # a frame without columns has no rows
        both = [table.select(pl.int_range(pl.len())) for table in (first, second)]
    return pl.concat(both, how="vertical_relaxed"), first.height


def _kind(column: pl.Series) -> object:
    """Return what two columns must share for their values to be comparable."""
    if column.dtype.is_numeric():
        return "numeric"
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return column.dtype

"""SUDA2: scores of rows that are alone on few quasi-identifiers, and what each column adds."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, prod
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from halfmask._errors import ParameterError
from halfmask._facts import READINGS, Facts
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.assess._risk import percent, row_text
from halfmask.assess.risk._matching import asked_of_table
from halfmask.guarantees import class_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess._arrays import Floats
from halfmask.assess.risk._minimal_uniques import MinimalUniques, minimal_uniques

#: How a minimal unique counts in a score.
SudaFormula: TypeAlias = Literal["elliot", "ihsn"]

#: So many values of a column are listed, those with the largest shares.
LISTED_VALUES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueShare:
    """What one value of a column adds to the scores, without the value.

    Parameters
    ----------
    rows
        How many rows have the value.
    share
        Its share of what the column adds, in [0, 1].
    """

    rows: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShare(Facts):
    """What one column adds to the scores.

    Parameters
    ----------
    column
        The column.
    share
        The weight of the minimal uniques that hold the column, as a share of the weight of all.
        A minimal unique of several columns counts for each, so shares add up to more than 1.
    values
        The values with the largest shares, at most ten.
    """

    facts = ("column", "share", "values")

    column: str
    share: float
    values: tuple[ValueShare, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques of one reading of the missing cells.

    Parameters
    ----------
    rows, largest
        The rows that were judged, and the most columns of a set that was searched.
    unique
        The rows that are unique on all quasi-identifiers together.
    by_size, rows_by_size
        How many minimal uniques of each size there are, and how many rows have a smallest one of
        each size, from 1 column.
    columns
        What each column adds, the largest share first.
    score, smallest
        The SUDA score of each row, and the columns of its smallest minimal unique; 0 without one.
    dis, dis_score
        The estimated chance that a unique row that is linked to someone of the population is linked
        to the right person, and the DIS-SUDA scores; ``None`` without a sampling fraction.
    """

    rows: int
    largest: int
    unique: int
    by_size: tuple[int, ...]
    rows_by_size: tuple[int, ...]
    columns: tuple[ColumnShare, ...]
    score: Floats
    smallest: npt.NDArray[np.int64]
    dis_score: Floats | None
    dis: float | None

    @property
    def special(self) -> int:
        """The rows that have a minimal unique of a searched size."""
        return sum(self.rows_by_size)

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        most = "1 quasi-identifier" if self.largest == 1 else f"{self.largest} quasi-identifiers"
        if not self.special:
            return f"No row is unique on a set of up to {most}."
        size = next(i for i, n in enumerate(self.rows_by_size, start=1) if n)
        where = "1 quasi-identifier alone" if size == 1 else f"as few as {size} quasi-identifiers"
        are = "is" if self.special == 1 else "are"
        worst = self.columns[0]
        return (
            f"{row_text(self.special)} ({percent(self.special / self.rows)}) {are} unique on a set "
            f"of up to {most}, {self.rows_by_size[size - 1]:,} of them on {where}. The column "
            f"{worst.column} adds most: it is in sets with {percent(worst.share)} of the weight."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON; no scores of single rows."""
        return {
            "rows": self.rows,
            "largest": self.largest,
            "unique": self.unique,
            "special": self.special,
            "minimal_uniques_by_size": list(self.by_size),
            "rows_by_smallest_size": list(self.rows_by_size),
            "highest_score": float(self.score.max(initial=0.0)),
            "dis": self.dis,
            "highest_dis_score": (
                None if self.dis_score is None else float(self.dis_score.max(initial=0.0))
            ),
            "columns": [each.to_dict() for each in self.columns],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SudaRisk(Facts):
    """SUDA2 of a table, with its missing cells read in both ways.

    Parameters
    ----------
    as_value
        Where missing is a value of its own.
    as_wildcard
        Where a missing cell may be any value: it makes no row unique, and agrees with all values.
        ``None`` where no cell is missing.
    """

    facts = READINGS

    as_value: SpecialUniques
    as_wildcard: SpecialUniques | None

    @property
    def worse(self) -> SpecialUniques:
        """The reading with more unique rows and higher scores."""
        if self.as_wildcard is None:
            return self.as_value
        return max(
            self.as_value, self.as_wildcard, key=lambda it: (it.special, float(it.score.sum()))
        )


def suda(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    largest: int | None = None,
    sampling_fraction: float | None = None,
    formula: SudaFormula = "elliot",
) -> SudaRisk:
    """Score rows that few quasi-identifiers single out (SUDA2).

    A *minimal sample unique* of a row is a set of columns on which no other row agrees with it,
    while on each part of the set another row does. The smaller the sets of a row and the more it
    has, the higher is its score.

    Parameters
    ----------
    table
        The table, as it is or as it would be released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns that sets are made of.
    largest
        The most columns of a set; ``None`` searches all sizes.
    sampling_fraction
        The share of the population that the table holds, in (0, 1], for the DIS-SUDA scores.
        ``None`` computes none.
    formula
        With ``"elliot"`` a set of s of n columns weighs ``(n - s) (n - s - 1) ... (n - largest)``,
        as in the papers; with ``"ihsn"`` ``(2 ** (n - s) - 1) / comb(n, s)``.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are no rows or no columns, a parameter is out of range, or the search takes more
        than 2 GiB for its marks or its groups.

    Notes
    -----
    Sources: A. Manning, D. Haglin and J. Keane, "A recursive search algorithm for statistical
    disclosure assessment", Data Mining and Knowledge Discovery 16 (2008); M. Elliot et al., "SUDA:
    a program for detecting special uniques" (2005); C. Skinner and M. Elliot, "A measure of
    disclosure risk for microdata", JRSS B 64 (2002) for DIS. With all sizes searched the scores
    are those of sdcMicro's ``suda2``, with ``original_scores = TRUE`` and ``FALSE``.

    **Guarantees.** Exact: all sets up to ``largest`` columns are judged, on all rows.

    **Edge cases.** A row with an equal one has the score 0. Where ``largest`` leaves unique rows
    without a set, DIS is shared among the rows that have one. Without pairs of equal rows DIS is 1.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    >>> found = suda(people, quasi_identifiers=["a", "b", "c"]).worse
    >>> found.score.tolist(), [(each.column, each.share) for each in found.columns]
    ([2.0, 4.0, 2.0], [('a', 0.5), ('b', 0.375), ('c', 0.375)])
    """
    table, columns = asked_of_table(table, quasi_identifiers, owner="suda")
    if not columns or not table.height:
        raise ParameterError("SUDA takes a table with rows, and quasi-identifiers.")
    if largest is not None:
        integer_at_least(1, owner="suda", largest=largest)
    if sampling_fraction is not None:
        number_between(0, 1, owner="suda", low_open=True, sampling_fraction=sampling_fraction)
    one_of(("elliot", "ihsn"), owner="suda", formula=formula)
    most = len(columns) if largest is None else min(largest, len(columns))
    weights = _weights(len(columns), most, formula)

    def read(*, wildcards: bool) -> SpecialUniques:
        found = minimal_uniques(table, columns, weights=weights, wildcards=wildcards)
        return _read(found, table, columns, sampling_fraction)

    missing = any(table[name].null_count() for name in columns)
    return SudaRisk(
        as_value=read(wildcards=False), as_wildcard=read(wildcards=True) if missing else None
    )


def _weights(n_columns: int, largest: int, formula: SudaFormula) -> Floats:
    """Return the weight of a minimal unique of each size."""
    sizes = range(1, largest + 1)
    if formula == "ihsn":
        whole = factorial(n_columns)
        of_size = (factorial(s) * factorial(n_columns - s) / whole for s in sizes)
        return np.array(
            [(2.0 ** (n_columns - s) - 1) * b for s, b in zip(sizes, of_size, strict=True)]
        )
    last = min(largest, n_columns - 1)
    return np.array([float(prod(n_columns - i for i in range(s, last + 1))) for s in sizes])


def _read(
    found: MinimalUniques,
    table: pl.DataFrame,
    columns: Sequence[str],
    sampling_fraction: float | None,
) -> SpecialUniques:
    unique = int((found.agreeing == 1).sum())
    dis = None
    if sampling_fraction is not None:
        alone = unique * sampling_fraction
        paired = int((found.agreeing == 2).sum()) * (1 - sampling_fraction)
        dis = alone / (alone + paired) if alone else 0.0
    largest = len(found.by_size)
    return SpecialUniques(
        rows=table.height,
        largest=largest,
        unique=unique,
        by_size=found.by_size,
        rows_by_size=tuple(np.bincount(found.smallest, minlength=largest + 1)[1:].tolist()),
        columns=_shares(found, table, columns),
        score=found.score,
        smallest=found.smallest,
        dis_score=None if dis is None else _dis_scores(found.score, dis, len(columns)),
        dis=dis,
    )


def _shares(
    found: MinimalUniques, table: pl.DataFrame, columns: Sequence[str]
) -> tuple[ColumnShare, ...]:
    total = float(found.score.sum()) or 1.0
    shares = []
    for j, name in enumerate(columns):
        value, n_values = class_of_row(table, quasi_identifiers=[name])
        added = np.bincount(value, weights=found.parts[:, j], minlength=n_values)
        whole = float(added.sum())
        rows = np.bincount(value, minlength=n_values)
        first = [i for i in np.argsort(-added, kind="stable")[:LISTED_VALUES] if added[i] > 0]
        values = tuple(ValueShare(rows=int(rows[i]), share=float(added[i]) / whole) for i in first)
        shares.append(ColumnShare(column=name, share=whole / total, values=values))
    return tuple(sorted(shares, key=lambda it: -it.share))


def _dis_scores(score: Floats, dis: float, n_columns: int) -> Floats:
    """Share the chance of a right link among the rows, by their scores."""
    scored = score > 0
    if not dis or not scored.any():
        return np.zeros(len(score))
    # Scores are factorials: their powers are taken as logarithms.
    power = (1 + (8 - n_columns) / 20) * np.log(score[scored])
    lowest = float((-power).max())
    log_sum = lowest + np.log(np.exp(-power - lowest).sum())
    against = int(scored.sum()) * (1 / dis - 1) * np.exp(-power - log_sum)
    scores = np.zeros(len(score))
    scores[scored] = 1 / (1 + against)
    return scores

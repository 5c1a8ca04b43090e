"""Distinction and separation: how near each set of columns comes to a key."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least
from halfmask.assess._risk import listed, percent
from halfmask.assess.risk._matching import Combinations, asked_of_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess._arrays import Ints


#: So many sets are counted at most.
MAX_SETS = 200_000
#: So many sets of each size are written.
LISTED_SETS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSeparation(Facts):
    """How near one set of columns comes to a key.

    Parameters
    ----------
    columns, classes, unique
        The columns, how many combinations of their values the rows have, and how many rows are
        unique on them.
    distinction
        The combinations by the rows: the share of the rows that has to stay for the columns to be
        a key of what stays. 1 for a key.
    separation
        The share of all pairs of rows that differ on a column. 1 for a key.
    """

    columns: tuple[str, ...]
    classes: int
    unique: int
    distinction: float
    separation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationRisk:
    """All sets of up to so many quasi-identifiers, those nearest to a key first.

    Parameters
    ----------
    rows, largest
        The rows that were judged, and the most columns of a set.
    sets
        Every set, by distinction and then separation; of equals the smaller set first.
    """

    rows: int
    largest: int
    sets: tuple[SetSeparation, ...]

    @property
    def worst(self) -> SetSeparation:
        """The set that comes nearest to a key."""
        return self.sets[0]

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        worst = self.worst
        most = "1 column" if self.largest == 1 else f"up to {self.largest} columns"
        if worst.classes == self.rows:
            return f"The rows all differ on {listed(worst.columns)}: this is a key of the table."
        return (
            f"Of all sets of {most}, {listed(worst.columns)} comes nearest to a key: "
            f"{worst.classes:,} combinations of values for {self.rows:,} rows "
            f"({percent(worst.distinction)}), and {percent(worst.separation)} of all pairs of rows "
            f"differ."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON: the ten worst of each size."""
        shown = [
            each.to_dict()
            for size in range(1, self.largest + 1)
            for each in [it for it in self.sets if len(it.columns) == size][:LISTED_SETS]
        ]
        return {"rows": self.rows, "largest": self.largest, "n_sets": len(self.sets), "sets": shown}


def separation(
    table: object, *, quasi_identifiers: Sequence[str], largest: int = 3
) -> SeparationRisk:
    """Count the rows that each set of columns makes distinct, and the pairs apart.

    Parameters
    ----------
    table
        The table, as it is or as it would be released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns that sets are made of.
    largest
        The most columns of a set.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are fewer than two rows, no columns, or more than 200,000 sets.

    Notes
    -----
    Source: R. Motwani and Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers",
    SDM workshop 2008: a set is alpha-distinct if its distinction is at least alpha, and an
    alpha-separation quasi-identifier if its separation is.

    **Guarantees.** Exact: every set of up to ``largest`` columns, on all rows.

    **Edge cases.** Missing is a value of its own. That is the worse reading: as a wildcard it would
    agree with more rows, so fewer pairs would be separated; distinction isn't defined then.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 40, 30, 30]})
    >>> found = separation(people, quasi_identifiers=["sex", "age"])
    >>> [(each.columns, each.distinction, round(each.separation, 2)) for each in found.sets]
    [(('sex', 'age'), 0.75, 0.83), (('sex',), 0.5, 0.67), (('age',), 0.5, 0.5)]
    """
    table, names = asked_of_table(table, quasi_identifiers, owner="separation")
    return separation_of(table, np.ones(table.height, dtype=np.int64), names, largest=largest)


def separation_of(
    table: pl.DataFrame, rows: Ints, names: Sequence[str], *, largest: int
) -> SeparationRisk:
    """Return the same where each row of a table stands for so many rows."""
    from halfmask.kernels.uniques.separating import count_sets  # noqa: PLC0415 # compiles

    integer_at_least(1, owner="separation", largest=largest)
    n_rows = int(rows.sum())
    if not names or n_rows < 2:
        raise ParameterError("separation takes a table of two rows, and quasi-identifiers.")
    most = min(largest, len(names))
    n_sets = sum(comb(len(names), size) for size in range(1, most + 1))
    if n_sets > MAX_SETS:
        raise ParameterError(
            f"There are {n_sets:,} sets of up to {most} columns, of which at most {MAX_SETS:,} "
            "are counted.",
            hint="Choose a smaller largest, or fewer quasi-identifiers.",
        )
    met = Combinations.of(table, names)
    sets = np.empty((n_sets, most), dtype=np.int16)
    counts = np.empty((n_sets, 3), dtype=np.int64)
    count_sets(met.codes.astype(np.int32), met.counts(rows), most, sets, counts)
    pairs = comb(n_rows, 2)
    found = [
        SetSeparation(
            columns=tuple(names[j] for j in columns if j >= 0),
            classes=classes,
            unique=unique,
            distinction=classes / n_rows,
            separation=(pairs - equal) / pairs,
        )
        for columns, (classes, unique, equal) in zip(sets.tolist(), counts.tolist(), strict=True)
    ]
    found.sort(key=lambda it: (-it.classes, -it.separation, len(it.columns)))
    return SeparationRisk(rows=n_rows, largest=most, sets=tuple(found))

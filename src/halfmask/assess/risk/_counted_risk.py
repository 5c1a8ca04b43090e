"""counted_risk: the risks of a table that are counts of its classes, wherever the table lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask._facts import Facts
from halfmask._progress import Progress, silent
from halfmask._validation import each_name, number_between
from halfmask.assess.risk._matching import Combinations
from halfmask.assess.risk._population_uniqueness import PopulationUniqueness, uniqueness_of
from halfmask.assess.risk._reidentification import TableRisk, combinations_risk
from halfmask.assess.risk._separation import SeparationRisk, separation_of
from halfmask.data import open_table
from halfmask.engines import LocalEngine, fold_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.engines import Engine


#: How many rows a combination has; no column of a table may be called that.
_ROWS = "\0rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRisk(Facts):
    """The risks of a table that follow from the sizes of its classes.

    Parameters
    ----------
    quasi_identifiers
        The columns that an attacker knows of a person.
    counted
        Uniqueness, and the risks from prosecutor and marketer.
    separation
        Sets of quasi-identifiers by how near they come to a key; ``None`` for a table of one row.
    uniqueness
        The people who are expected to be unique in the population; ``None`` without a sampling
        fraction.
    """

    facts = ("quasi_identifiers", "counted", "population_uniqueness=uniqueness", "separation")

    quasi_identifiers: tuple[str, ...]
    counted: TableRisk
    separation: SeparationRisk | None
    uniqueness: PopulationUniqueness | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each risk, where missing cells are read in the worse way."""
        others = (self.uniqueness, self.separation)
        return (
            *self.counted.sentences,
            *(
                part.sentence + self.counted.read_otherwise(as_wildcard=False)
                for part in others
                if part is not None
            ),
        )


def counted_risk(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    sampling_fraction: float | None = None,
    largest: int = 3,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> CountedRisk:
    """Measure the risks that are counts of classes, of a table of any size.

    Parameters
    ----------
    table
        A frame, a file, a folder of files, or an opened :class:`~halfmask.data.Source`.
    quasi_identifiers
        The columns that an attacker knows of a person.
    sampling_fraction
        The share of the population that the table holds, in (0, 1].
    largest
        The most columns of a set whose separation is counted.
    engine
        Where rows are read and counted: in threads by default, or on a cluster.
    progress
        Called with what is being done and how far it is.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are no quasi-identifiers, there are too many sets of columns, or the fraction
        isn't in (0, 1].
    DataError
        When the table has no rows, or a worker can't read its part.

    See Also
    --------
    assess_risk : More risks, of a table in memory.

    Notes
    -----
    Sources: as of :func:`table_risk`, :func:`separation` and :func:`population_uniqueness`.

    **Guarantees.** Each number is that of :func:`assess_risk`, except the last bits of sums of
    fractions. It is the same on every engine. Nothing is sampled.

    **Edge cases.** This process holds the different combinations of the quasi-identifiers, not the
    rows. SUDA2, risks from weights or households, and log-linear models need the rows:
    :func:`assess_risk` has them.

    Examples
    --------
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, 30, 40]})
    >>> found = counted_risk(people, quasi_identifiers=["sex", "age"])
    >>> found.counted.worse.uniqueness.rows, found.separation.worst.columns
    (1, ('sex',))
    """
    names = each_name(quasi_identifiers, owner="counted_risk")
    if not names:
        raise ParameterError("There are no quasi-identifiers to assess.")
    if sampling_fraction is not None:
        number_between(
            0, 1, owner="counted_risk", low_open=True, sampling_fraction=sampling_fraction
        )
    source = open_table(table)
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    found = fold_table(
        engine or LocalEngine(),
        source,
        names,
        partial(_combinations, names),
        partial(_joined, names),
        progress=progress or silent,
    )
    found = found.sort(names)  # sums of fractions are the same to the last bit
    met, rows = Combinations.of(found, names), found[_ROWS].to_numpy()
    sizes, n_rows = met.counts(rows), int(rows.sum())
    uniqueness = None
    if sampling_fraction is not None:
        people = max(round(float(np.float64(n_rows) / sampling_fraction)), n_rows)
        uniqueness = uniqueness_of(sizes, people)
    return CountedRisk(
        quasi_identifiers=tuple(names),
        counted=combinations_risk(met, sizes),
        separation=None if n_rows < 2 else separation_of(found, rows, names, largest=largest),
        uniqueness=uniqueness,
    )


def _combinations(names: Sequence[str], number: int, batch: pl.DataFrame) -> pl.DataFrame:
    """Count the rows of each combination of a batch."""
    del number  # all batches are counted alike
    # Workers have pools of categories of their own.
    texts = [n for n in names if batch.schema[n] in (pl.Categorical, pl.Enum)]
    rows = batch.select(names).with_columns(pl.col(texts).cast(pl.String))
    return rows.group_by(names).len(_ROWS).with_columns(pl.col(_ROWS).cast(pl.Int64))


def _joined(names: Sequence[str], left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([left, right]).group_by(names).agg(pl.col(_ROWS).sum())

"""All counted risks of finding a person's row again: of a table, its classes, or linked rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._facts import READINGS, Facts
from halfmask._validation import each_name
from halfmask.assess._risk import percent, row_text
from halfmask.assess.risk._class_risks import (
    THRESHOLDS,
    ClassSizes,
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    SampleUniqueness,
    class_sizes,
    journalist_risk,
    marketer_risk,
    prosecutor_risk,
    sample_uniqueness,
)
from halfmask.assess.risk._matching import (
    Alike,
    Combinations,
    agreeing,
    equal_rows,
    given_table,
    matching_rows,
)
from halfmask.guarantees import Classes, class_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRows(Facts):
    """How many persons the classes of all their rows single out.

    Examples
    --------
    >>> LinkedRows(persons=100, in_several=20, unique=5).share_unique
    0.05
    """

    persons: int
    in_several: int
    unique: int

    @property
    def share_unique(self) -> float:
        """The share of the persons whose set of classes is no other person's."""
        return self.unique / self.persons

    @property
    def sentence(self) -> str:
        """The numbers in words, for a privacy officer."""
        return (
            "Classes count persons one row at a time. An attacker who knows several rows of a "
            "person and can link the released rows of one person, for example by columns that are "
            f"released unchanged, can do more: of {self.persons:,} persons, {self.in_several:,} "
            f"have rows in several classes, and {self.unique:,} ({percent(self.share_unique)}) "
            "are the only one with rows in their set of classes."
        )


def linked_rows(classes: Classes) -> LinkedRows | None:
    """Count the persons whose rows lie in a set of classes that is no other person's.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 1, 0, 0], 2, person_of_row=[7, 7, 8, 9])
    >>> linked_rows(classes)
    LinkedRows(persons=3, in_several=1, unique=1)
    """
    if classes.members is None:
        return None
    sets = classes.members.persons.sort("class").group_by("person").agg("class")
    alike = sets.group_by("class").len()
    return LinkedRows(
        persons=sets.height,
        in_several=sets.filter(pl.col("class").list.len() > 1).height,
        unique=alike.filter(pl.col("len") == 1).height,
    )


_VALUE, _WILDCARD = "a value of their own", "any value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reidentification(Facts):
    """The counted risks of one reading of the missing cells.

    Parameters
    ----------
    rows
        The rows that were judged.
    uniqueness, prosecutor, journalist, marketer
        The risks; that of a journalist only where a population is given.
    class_sizes
        The distribution that they are counted from.
    """

    rows: int
    uniqueness: SampleUniqueness
    prosecutor: ProsecutorRisk
    journalist: JournalistRisk | None
    marketer: MarketerRisk
    class_sizes: ClassSizes

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each risk."""
        parts = (self.uniqueness, self.prosecutor, self.journalist, self.marketer, self.class_sizes)
        return tuple(part.sentence for part in parts if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRisk(Facts):
    """The counted risks of a table, with its missing cells read in both ways.

    Parameters
    ----------
    as_value
        Where missing is a value of its own, that an attacker knows of a person like any other.
    as_wildcard
        Where a missing cell may be any value. ``None`` where no cell is missing, as both are the
        same then.
    """

    facts = READINGS

    as_value: Reidentification
    as_wildcard: Reidentification | None

    @property
    def worse(self) -> Reidentification:
        """The reading with the higher risk: the one that a gate must use."""
        if self.as_wildcard is None:
            return self.as_value
        return max(
            self.as_value,
            self.as_wildcard,
            key=lambda one: (one.prosecutor.highest.value, one.prosecutor.average.value),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each risk of the worse reading, and which reading it is."""
        return (*self._reading, *self.worse.sentences)

    def read_otherwise(self, *, as_wildcard: bool) -> str:
        """Return how a risk reads missing cells, if `worse` reads them in the other way.

        Parameters
        ----------
        as_wildcard
            Whether it reads them as any value.
        """
        if self.as_wildcard is None or as_wildcard == (self.worse is self.as_wildcard):
            return ""
        return f" Here, missing cells are read as {_WILDCARD if as_wildcard else _VALUE}."

    @property
    def _reading(self) -> tuple[str, ...]:
        """Say how missing cells are read, and what the other reading would say."""
        if self.as_wildcard is None:
            return ()
        read, other, less = _VALUE, _WILDCARD, self.as_wildcard
        if self.worse is self.as_wildcard:
            read, other, less = _WILDCARD, _VALUE, self.as_value
        sentence = (
            f"Missing cells are read as {read}, which gives the higher risk. Read as {other}, "
            f"{row_text(less.uniqueness.rows)} would be the only one with those quasi-identifiers, "
            f"and the average risk would be {percent(less.prosecutor.average.value)}."
        )
        return (sentence,)


def classes_risk(
    classes: Classes,
    *,
    population_sizes: npt.ArrayLike | None = None,
    population_rows: int | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> Reidentification:
    """Count the risks from class sizes alone, missing being a value of its own.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> risk = classes_risk(Classes.from_codes([0, 0, 0, 1], 2))
    >>> risk.prosecutor.highest.value, risk.prosecutor.average.value, risk.uniqueness.rows
    (1.0, 0.5, 1)
    >>> print(risk.marketer.sentence)
    Someone who links every row to a person on a list of everyone in the table with the same
    quasi-identifiers is expected to be right for 50 % of the rows.
    """
    in_population = (
        None if population_sizes is None else np.asarray(population_sizes, dtype=np.int64)
    )
    alike = Alike(
        rows=classes.sizes,
        sample=classes.sizes,
        population=in_population,
        population_rows=population_rows,
    )
    return _counted(alike, thresholds)


def table_risk(
    frame: object,
    *,
    quasi_identifiers: Sequence[str],
    population: object = None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> TableRisk:
    """Count the risks of a table, with missing cells as a value and as a wildcard.

    Parameters
    ----------
    frame
        The table, as it is or as it would be released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns that an attacker knows of a person.
    population
        The table that the rows were drawn from, all of them included, with the quasi-identifiers
        recoded in the same way.
    thresholds
        The thresholds of the prosecutor and the journalist, in [0, 1].

    Raises
    ------
    ColumnNotFoundError
        When one of the tables lacks a column.
    ParameterError
        When there are no rows.
    DataError
        When the population doesn't contain the table, or its columns have other types.

    Notes
    -----
    **Guarantees.** Counted over all rows, nothing sampled or estimated.

    **Edge cases.** A row without any quasi-identifier known looks, as a wildcard, like all rows,
    and all rows like it.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, None, 40]})
    >>> risk = table_risk(frame, quasi_identifiers=["sex", "age"])
    >>> risk.as_value.uniqueness.rows, risk.as_wildcard.uniqueness.rows
    (3, 1)
    """
    frame = given_table(frame)
    population = None if population is None else given_table(population)
    names = each_name(quasi_identifiers, owner="table_risk")
    of_row, n_classes = class_of_row(frame, quasi_identifiers=names)
    rows = np.bincount(of_row, minlength=n_classes).astype(np.int64)
    _, first = np.unique(of_row, return_index=True)
    tables = [frame] if population is None else [frame, population]

    def counted(*people: Ints) -> Reidentification:
        return _counted(
            Alike(
                rows=rows,
                sample=people[0],
                population=None if population is None else people[1],
                population_rows=None if population is None else population.height,
            ),
            thresholds,
        )

    equal = [equal_rows(frame, table, quasi_identifiers=names)[first] for table in tables[1:]]
    as_value = counted(rows, *equal)
    if not any(table[name].null_count() for table in tables for name in names):
        return TableRisk(as_value=as_value, as_wildcard=None)
    matched = [matching_rows(frame, table, quasi_identifiers=names)[first] for table in tables]
    return TableRisk(as_value=as_value, as_wildcard=counted(*matched))


def combinations_risk(met: Combinations, rows: Ints) -> TableRisk:
    """Count the risks of a table from the combinations of its quasi-identifiers."""
    as_value = _counted(Alike(rows=rows, sample=rows), THRESHOLDS)
    if not met.missing.any():
        return TableRisk(as_value=as_value, as_wildcard=None)
    matched = agreeing(met.wild, met.wild, [rows])[0].astype(np.int64)
    return TableRisk(
        as_value=as_value, as_wildcard=_counted(Alike(rows=rows, sample=matched), THRESHOLDS)
    )


def _counted(alike: Alike, thresholds: Sequence[float]) -> Reidentification:
    journalist = None
    if alike.population is not None:
        journalist = journalist_risk(alike, thresholds=thresholds)
    return Reidentification(
        rows=alike.n_rows,
        uniqueness=sample_uniqueness(alike),
        prosecutor=prosecutor_risk(alike, thresholds=thresholds),
        journalist=journalist,
        marketer=marketer_risk(alike),
        class_sizes=class_sizes(alike),
    )

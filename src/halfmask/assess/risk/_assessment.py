"""All measures of risk of one table, to choose what to protect, and the risk of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import each_name
from halfmask.assess._risk import percent
from halfmask.assess.risk._individual import IndividualRisk, individual_risk, sampling_weights
from halfmask.assess.risk._log_linear import LogLinearRisk, log_linear_risk
from halfmask.assess.risk._matching import equal_rows, given_table
from halfmask.assess.risk._population_uniqueness import PopulationUniqueness, population_uniqueness
from halfmask.assess.risk._reidentification import TableRisk, table_risk
from halfmask.assess.risk._separation import SeparationRisk, separation
from halfmask.assess.risk._suda import SudaRisk, suda

if TYPE_CHECKING:
    from collections.abc import Sequence


Reading = TypeVar("Reading")

#: Two estimates so many times apart are said to differ, if the higher one is of so many rows.
FAR_APART, LEAST_UNIQUES = 3.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskAssessment(Facts):
    """The risks of one table.

    Parameters
    ----------
    quasi_identifiers
        The columns that an attacker knows of a person.
    counted
        Uniqueness, and the risks from prosecutor, journalist and marketer.
    suda
        Rows that few quasi-identifiers single out.
    separation
        Sets of quasi-identifiers by how near they come to a key; ``None`` for a table of one row.
    individual
        The risk of each row in the population, and of its household; ``None`` where nothing is
        known of either.
    log_linear
        The unique rows that are expected to be linked; ``None`` where the table isn't a sample.
    uniqueness
        The people who are expected to be unique in the population; ``None`` as above.
    per_row
        The risk of each row, by its number from 1: see :func:`assess_risk`. It says who is at risk,
        so it must stay where the table is.
    """

    facts = (
        "quasi_identifiers", "warnings", "counted", "individual", "log_linear",
        "population_uniqueness=uniqueness", "suda", "separation",
    )  # fmt: skip

    quasi_identifiers: tuple[str, ...]
    counted: TableRisk
    suda: SudaRisk
    separation: SeparationRisk | None
    individual: IndividualRisk | None
    log_linear: LogLinearRisk | None
    uniqueness: PopulationUniqueness | None
    per_row: pl.DataFrame

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each risk, where missing cells are read in the worse way."""
        sentences, otherwise = list(self.counted.sentences), self.counted.read_otherwise
        for part in (self.individual, self.log_linear, self.uniqueness, self.suda, self.separation):
            if isinstance(part, IndividualRisk | SudaRisk):
                as_wildcard = part.worse is part.as_wildcard
                sentences.append(part.worse.sentence + otherwise(as_wildcard=as_wildcard))
            elif part is not None:
                sentences.append(part.sentence + otherwise(as_wildcard=False))
        return tuple(sentences)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes an estimate doubtful, in a sentence each."""
        return (*self._of_links, *self._of_uniques)

    @property
    def _of_uniques(self) -> tuple[str, ...]:
        """Compare the two estimates of rows that are unique in the population."""
        if self.log_linear is None or self.uniqueness is None:
            return ()
        model, chosen = self.log_linear.population_uniques, self.uniqueness.chosen
        # A unique person is in the table as often as anybody is.
        drawn = chosen.share * self.uniqueness.rows
        low, high = sorted((model, drawn))
        if high < max(FAR_APART * low, LEAST_UNIQUES):
            return ()
        warning = (
            "Two estimates of the rows that are unique in the population differ much: "
            f"{model:,.1f} by the log-linear model, and {drawn:,.1f} by the sizes of classes "
            f"({percent(chosen.share)} of the people). Neither is known to be right: use the "
            "higher number."
        )
        return (warning,)

    @property
    def _of_links(self) -> tuple[str, ...]:
        """Compare the right links that are expected of all rows with those of unique ones."""
        if self.individual is None or self.log_linear is None:
            return ()
        expected, links = self.individual.worse.expected, self.log_linear.correct_links
        if links <= expected:
            return ()
        warning = (
            f"The individual risks add up to {expected:,.1f} right links, fewer than the "
            f"{links:,.1f} that the log-linear model expects of the unique rows alone. Individual "
            "risk is too low where few rows agree: use the higher number."
        )
        return (warning,)


def assess_risk(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    weights: str | None = None,
    sampling_fraction: float | None = None,
    population: object = None,
    household: str | None = None,
    largest: int = 3,
    max_global_risk: float | None = None,
) -> RiskAssessment:
    """Measure the risk of a table in all ways that fit what is known of it.

    Parameters
    ----------
    table
        The table, as it is or as it would be released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns that an attacker knows of a person.
    weights
        The column of sampling weights: how many people of the population a row stands for.
    sampling_fraction
        In place of weights, the share of the population that the table holds, in (0, 1].
    population
        In place of both, the population itself, with the table's rows among its own.
    household
        The column that says which rows are of one household.
    largest
        The most columns of a set that is searched for unique rows.
    max_global_risk
        The mean risk that is accepted, in (0, 1), to compute a threshold for single rows.

    Returns
    -------
    RiskAssessment
        Its ``per_row`` has the columns ``row``; ``prosecutor``; ``journalist`` with a population,
        or ``individual`` with weights, a fraction or households; ``household``; ``suda_score``;
        ``dis_suda_score`` with weights or a fraction; and ``smallest_unique_set``, 0 for none. Of
        both readings of missing cells each number is the higher risk.

    Raises
    ------
    ColumnNotFoundError
        When a table lacks a column.
    ParameterError
        When there are no rows, parameters contradict each other, or the search for unique rows
        takes too much memory.
    DataError
        When the population doesn't contain the table, or a weight or household is missing.

    Notes
    -----
    Sources: as of :func:`table_risk`, :func:`individual_risk`, :func:`log_linear_risk`,
    :func:`population_uniqueness`, :func:`suda` and :func:`separation`.

    **Guarantees.** Nothing is sampled. What is estimated is estimated by weights or a fraction.

    **Edge cases.** Without weights, a fraction or a population, risks are those in the table.

    Examples
    --------
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, 30, 40]})
    >>> found = assess_risk(people, quasi_identifiers=["sex", "age"], sampling_fraction=0.1)
    >>> found.per_row.select("row", "prosecutor", "smallest_unique_set").rows()
    [(1, 0.5, 0), (2, 0.5, 0), (3, 1.0, 1)]
    """
    table = given_table(table)
    population = None if population is None else given_table(population)
    names = each_name(quasi_identifiers, owner="assess_risk")
    if not names:
        raise ParameterError("There are no quasi-identifiers to assess.")
    counted = table_risk(table, quasi_identifiers=names, population=population)
    fraction = None
    if weights is not None or sampling_fraction is not None:
        each = sampling_weights(table, weights=weights, sampling_fraction=sampling_fraction)
        fraction = min(table.height / float(each.sum()), 1.0)
    individual = model = uniqueness = None
    if any(it is not None for it in (fraction, population, household)):
        individual = individual_risk(
            table,
            quasi_identifiers=names,
            weights=weights,
            sampling_fraction=sampling_fraction,
            population=population,
            household=household,
            max_global_risk=max_global_risk,
        )
    if fraction is not None:
        model = log_linear_risk(
            table, quasi_identifiers=names, weights=weights, sampling_fraction=sampling_fraction
        )
        uniqueness = population_uniqueness(
            table, quasi_identifiers=names, weights=weights, sampling_fraction=sampling_fraction
        )
    unique = suda(table, quasi_identifiers=names, largest=largest, sampling_fraction=fraction)
    apart = None
    if table.height > 1:
        apart = separation(table, quasi_identifiers=names, largest=largest)
    return RiskAssessment(
        quasi_identifiers=tuple(names),
        counted=counted,
        suda=unique,
        separation=apart,
        individual=individual,
        log_linear=model,
        uniqueness=uniqueness,
        per_row=_per_row(table, names, individual, unique),
    )


def _per_row(
    table: pl.DataFrame, names: Sequence[str], individual: IndividualRisk | None, unique: SudaRisk
) -> pl.DataFrame:
    """Return the risk of each row: of both readings of missing cells, the higher one."""
    columns: dict[str, npt.NDArray[np.generic]] = {
        "row": np.arange(1, table.height + 1),
        # A missing cell as a value equals fewer cells than one that may be any value.
        "prosecutor": 1 / equal_rows(table, table, quasi_identifiers=names),
    }
    if individual is not None:
        estimates = _read(individual.as_value, individual.as_wildcard)
        name = "journalist" if individual.as_value.basis == "population" else "individual"
        columns[name] = np.max([each.risk for each in estimates], axis=0)
        homes = [each.household_risk for each in estimates if each.household_risk is not None]
        if homes:
            columns["household"] = np.max(homes, axis=0)
    searched = _read(unique.as_value, unique.as_wildcard)
    columns["suda_score"] = np.max([each.score for each in searched], axis=0)
    scores = [each.dis_score for each in searched if each.dis_score is not None]
    if scores:
        columns["dis_suda_score"] = np.max(scores, axis=0)
    columns["smallest_unique_set"] = unique.as_value.smallest
    return pl.DataFrame(columns)


def _read(as_value: Reading, as_wildcard: Reading | None) -> list[Reading]:
    return [as_value] if as_wildcard is None else [as_value, as_wildcard]

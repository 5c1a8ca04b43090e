"""Individual risk: the chance of a right link for each row, from sampling weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._facts import READINGS, Facts
from halfmask._validation import number_between
from halfmask.assess._risk import percent, row_text
from halfmask.assess.risk._class_risks import THRESHOLDS, ShareAbove
from halfmask.assess.risk._matching import (
    Combinations,
    agreeing,
    asked_of_table,
    equal_rows,
    given_table,
    matching_rows,
)
from halfmask.guarantees import class_of_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Floats, Ints

#: Rows of the table and people of the population that agree with each row, in each reading.
Pairs: TypeAlias = "Sequence[tuple[Ints, Floats]]"

#: What the population of a table is known by.
RiskBasis: TypeAlias = Literal["weights", "fraction", "population", "table"]

_SOURCES: Mapping[str, str] = {
    "weights": "estimated from the sampling weights",
    "fraction": "estimated from the sampling fraction",
    "population": "counted in the population",
    "table": "if nobody outside of the table belongs to the population",
}
ESTIMATED = ("weights", "fraction")
#: From here on, 60 terms of the series are enough whatever the sampling fraction is.
_LONG_CLASS = 20
_TERMS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndividualReading(Facts):
    """The estimated risk of each row, for one reading of the missing cells.

    Parameters
    ----------
    sample
        How many rows of the table agree with each row, itself included (``fk``).
    population
        How many people of the population these stand for: the sum of their weights (``Fk``).
    risk
        The expected value of 1 over the number of people of the population who agree with the row.
    household_risk
        The chance that at least one member of the row's household is identified; ``None`` without
        households.
    households
        How many households there are; ``None`` without.
    at_risk
        For each of the usual thresholds the rows whose risk is above it.
    threshold
        The highest risk that rows may have for the mean risk to be at most ``max_global_risk`` once
        all rows above it are brought down to it; ``None`` where that isn't asked for.
    basis
        What the population is known by: ``"weights"`` or ``"fraction"``, from which the risk is
        estimated, ``"population"`` or ``"table"``, in which it is counted.
    """

    facts = (
        "rows", "basis", "expected", "average", "highest", "at_risk", "households",
        "household_expected", "household_average", "threshold",
    )  # fmt: skip

    sample: Ints
    population: Floats
    risk: Floats
    household_risk: Floats | None
    households: int | None
    at_risk: tuple[ShareAbove, ...]
    threshold: float | None
    basis: RiskBasis

    @property
    def rows(self) -> int:
        """The rows that were judged."""
        return len(self.risk)

    @property
    def expected(self) -> float:
        """How many rows are expected to be identified: the sum of the risks."""
        return float(self.risk.sum())

    @property
    def average(self) -> float:
        """The mean risk of a row, the global risk."""
        return self.expected / self.rows

    @property
    def highest(self) -> float:
        """The highest risk of a row."""
        return float(self.risk.max())

    @property
    def household_expected(self) -> float | None:
        """The sum of the risks of the rows' households; ``None`` without households."""
        return None if self.household_risk is None else float(self.household_risk.sum())

    @property
    def household_average(self) -> float | None:
        """The mean over rows of the risk of their household; ``None`` without households."""
        return None if self.household_risk is None else float(self.household_risk.mean())

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        household = self.household_average
        also = (
            ""
            if household is None
            else f" Where one identified member identifies the household it is {percent(household)}"
            " on average."
        )
        return (
            "Someone who links every row to the population is expected to be right for "
            f"{self.expected:,.1f} of {row_text(self.rows)}: the chance is "
            f"{percent(self.average)} on average and {percent(self.highest)} at worst, "
            f"{_SOURCES[self.basis]}.{also}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndividualRisk(Facts):
    """The estimated risk of each row, with missing cells read in both ways.

    Parameters
    ----------
    as_value
        Where missing is a value of its own.
    as_wildcard
        Where a missing cell may be any value. ``None`` where no cell is missing.
    """

    facts = READINGS

    as_value: IndividualReading
    as_wildcard: IndividualReading | None

    @property
    def worse(self) -> IndividualReading:
        """The reading with more expected identifications."""
        if self.as_wildcard is None:
            return self.as_value
        return max(self.as_value, self.as_wildcard, key=lambda it: (it.expected, it.highest))


def individual_risk(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    weights: str | None = None,
    sampling_fraction: float | None = None,
    population: object = None,
    household: str | None = None,
    max_global_risk: float | None = None,
) -> IndividualRisk:
    """Estimate the chance of a right link for each row of a survey.

    Someone links a row to one of the people of the population who agree with it. How many these
    are is unknown; given ``f`` rows of the table that agree, with weights that add up to ``F``, it
    is taken as negative binomial with the probability ``f / F``. The risk is the expected value of
    1 over it.

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
        In place of both, the population itself, with the table's rows among its own: then nothing
        is estimated. With none of the three, the table is the population.
    household
        The column that says which rows are of one household.
    max_global_risk
        The mean risk that is accepted, in (0, 1), to compute a threshold for single rows.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are no rows, or a parameter is out of range.
    DataError
        When a weight is missing, not finite or below 1, a row has no household, or the population
        doesn't contain the table.

    Notes
    -----
    Sources: R. Benedetti and L. Franconi (1998); L. Franconi and S. Polettini, "Individual risk
    estimation in mu-Argus: a review", PSD 2004; sdcMicro's ``indivRisk(method = "exact")`` and
    ``measure_risk``. The threshold is that of mu-Argus.

    **Guarantees.** The formula is computed to twelve digits for any ``f`` and ``F``, without the
    approximation that sdcMicro takes by default for ``f > 2``.

    **Accuracy.** It is too low where few rows agree, and the more so the smaller the sample is. For
    samples of Adult with known truth and five or six quasi-identifiers, the sum of the risks was
    0.2 to 0.3 of the right links at a sampling fraction of 0.02, and 0.7 to 0.8 at 0.3. Take the
    higher one of it and of :func:`log_linear_risk`, which was 1.0 to 1.3 of the truth.

    **Edge cases.** Where ``F = f`` the risk is ``1 / f``. A household's risk is the chance that at
    least one member is identified, ``1 - prod(1 - r)``, and each of its rows has it.

    Examples
    --------
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "weight": [50.0, 58.0, 45.5]})
    >>> risk = individual_risk(people, quasi_identifiers=["sex"], weights="weight")
    >>> [round(each, 6) for each in risk.worse.risk.tolist()]
    [0.017448, 0.017448, 0.085791]
    """
    table, names = asked_of_table(
        table, quasi_identifiers, weights, household, owner="individual_risk"
    )
    population = None if population is None else given_table(population)
    if not table.height:
        raise ParameterError("There are no rows to judge.")
    if max_global_risk is not None:
        number_between(
            0, 1, owner="individual_risk", low_open=True, high_open=True,
            max_global_risk=max_global_risk,
        )  # fmt: skip
    home = None if household is None else _homes(table, household)
    if population is None:
        each = sampling_weights(table, weights=weights, sampling_fraction=sampling_fraction)
        basis: RiskBasis = "table" if sampling_fraction is None else "fraction"
        basis = basis if weights is None else "weights"
        pairs = _by_weights(table, names, each)
    elif weights is None and sampling_fraction is None:
        basis, pairs = "population", _by_population(table, names, population)
    else:
        raise ParameterError(
            "A population and weights or a sampling fraction are given.",
            hint="Give one of them: the population itself says most.",
        )
    readings = [_reading(basis, rows, people, home, max_global_risk) for rows, people in pairs]
    return IndividualRisk(
        as_value=readings[0], as_wildcard=readings[1] if len(readings) > 1 else None
    )


def _by_weights(table: pl.DataFrame, names: Sequence[str], weights: Floats) -> Pairs:
    """Return the rows that agree with each row and the sum of their weights, in each reading."""
    met = Combinations.of(table, names)
    sums = [met.sums(np.ones(table.height)), met.sums(weights)]
    found = [sums]
    if met.missing.any():
        found.append(list(agreeing(met.wild, met.wild, sums)))
    return [(rows[met.of_row].astype(np.int64), people[met.of_row]) for rows, people in found]


def _by_population(table: pl.DataFrame, names: Sequence[str], population: pl.DataFrame) -> Pairs:
    """Return the rows of the table and of the population that agree with each row."""
    equal = [equal_rows(table, each, quasi_identifiers=names) for each in (table, population)]
    fewer = int((equal[1] < equal[0]).sum())
    if fewer:
        raise DataError(
            f"The population has fewer rows like them than the table for {row_text(fewer)}.",
            hint="The population must contain the table's rows, recoded in the same way.",
        )
    found = [equal]
    if any(each[name].null_count() for each in (table, population) for name in names):
        found.append(
            [matching_rows(table, each, quasi_identifiers=names) for each in (table, population)]
        )
    return [(rows, people.astype(np.float64)) for rows, people in found]


def sampling_weights(
    table: pl.DataFrame, *, weights: str | None, sampling_fraction: float | None
) -> Floats:
    """Return how many people of the population each row stands for."""
    if weights is None:
        fraction = 1.0 if sampling_fraction is None else sampling_fraction
        number_between(0, 1, owner="individual_risk", low_open=True, sampling_fraction=fraction)
        return np.full(table.height, 1 / fraction)
    if sampling_fraction is not None:
        raise ParameterError(
            "weights and sampling_fraction are given.", hint="Give one: they say the same."
        )
    column = table[weights]
    if not column.dtype.is_numeric():
        raise DataError(f"The weights in column {weights!r} aren't numbers.")
    each = column.cast(pl.Float64).to_numpy()
    bad = int((~(np.isfinite(each) & (each >= 1))).sum())
    if bad:
        raise DataError(
            f"The weights in column {weights!r} must be numbers of at least 1: a row stands for "
            f"itself. {row_text(bad)} {'has' if bad == 1 else 'have'} none.",
            hint="Multiply weights that were scaled by the people of the population per row.",
        )
    return each


def _homes(table: pl.DataFrame, household: str) -> tuple[Ints, int]:
    lacking = table[household].null_count()
    if lacking:
        raise DataError(
            f"{row_text(lacking)} {'has' if lacking == 1 else 'have'} no household in column "
            f"{household!r}.",
            hint="Give each row that lives alone a household of its own.",
        )
    return class_of_row(table, quasi_identifiers=[household])


def _reading(
    basis: RiskBasis,
    sample: Ints,
    population: Floats,
    home: tuple[Ints, int] | None,
    max_global_risk: float | None,
) -> IndividualReading:
    risk = _expected_chance(sample, population) if basis in ESTIMATED else 1 / population
    above = {threshold: int((risk > threshold).sum()) for threshold in THRESHOLDS}
    return IndividualReading(
        sample=sample,
        population=population,
        risk=risk,
        household_risk=None if home is None else _household_risk(risk, *home),
        households=None if home is None else home[1],
        at_risk=tuple(
            ShareAbove(threshold=threshold, share=rows / len(risk), rows=rows)
            for threshold, rows in above.items()
        ),
        threshold=None if max_global_risk is None else _threshold(risk, max_global_risk),
        basis=basis,
    )


def _household_risk(risk: Floats, of_row: Ints, n_homes: int) -> Floats:
    """Return for each row the chance that at least one of its household is identified."""
    with np.errstate(divide="ignore"):
        none = np.bincount(of_row, weights=np.log1p(-risk), minlength=n_homes)
    return np.asarray(-np.expm1(none)[of_row])


def _threshold(risk: Floats, max_global_risk: float) -> float:
    """Return the highest risk of a row to which higher ones are lowered for the mean to fit."""
    levels, rows = np.unique(risk, return_counts=True)
    above = len(risk) - np.cumsum(rows)
    mean = (np.cumsum(levels * rows) + levels * above) / len(risk)
    fits = np.flatnonzero(mean <= max_global_risk)
    # Where even the lowest risk is too high all rows have to come down to the mean that is asked.
    return float(levels[fits[-1]]) if len(fits) else max_global_risk


def _expected_chance(sample: Ints, population: Floats) -> Floats:
    """Return E(1 / people | rows that agree), with rows / people as the mean.

    That is ``p / f * F(1, 1; f + 1; 1 - p)`` with Gauss's hypergeometric function (by Euler's
    transformation), whose terms are positive. ``f`` times less of it is the integral of
    ``u ** (f - 1) / (p + (1 - p) u)`` over [0, 1], ``I(f)``, for which
    ``(1 - p) I(f + 1) + p I(f) = 1 / f``.
    """
    # Both as one number, which is sorted faster than rows of two.
    pairs, of_row = np.unique(sample + 1j * population, return_inverse=True)
    f, people = pairs.real, pairs.imag
    p = np.minimum(f / people, 1.0)
    rest = 1 - p
    short = (p < 0.5) & (f < _LONG_CLASS)
    term = np.ones(len(f))
    total = np.ones(len(f))
    for k in range(1, _TERMS):
        term *= k * rest / (f + k)
        total += term
    chance = p / f * total
    with np.errstate(divide="ignore", invalid="ignore"):
        integral = -np.log(p) / rest
        for k in range(1, _LONG_CLASS):
            here = short & (f == k)
            chance[here] = (p * integral)[here]
            # Errors grow by p / (1 - p), which is less than 1 where this is used.
            integral = (1 / k - p * integral) / rest
    return np.asarray(chance[of_row])

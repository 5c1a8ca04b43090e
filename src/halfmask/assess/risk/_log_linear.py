"""Log-linear models: how many unique rows are unique in the population, and linked rightly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least, one_of
from halfmask.assess._risk import percent
from halfmask.assess.risk._individual import sampling_weights
from halfmask.assess.risk._matching import Combinations, asked_of_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.assess._arrays import Floats, Ints


#: How the weights of a survey enter the model.
LogLinearMethod: TypeAlias = Literal[
    "standard", "pseudo-likelihood", "clogg-eliason", "weight-covariate"
]

#: So many cells of a table of counts are fitted at most: 32 megabytes for each table.
MAX_CELLS = 1 << 22
MAX_CYCLES = 2000
#: Fitted margins differ from counted ones by at most so many rows (R's loglin stops at 0.1). Where
#: a margin of pairs is empty they come near slowly, and four digits of the risk stand by then.
TOLERANCE = 0.01
#: What sdcMicro adds to a cell's sampling rate, so that empty cells have one.
_EMPTY_RATE = 0.1


class _Cells(NamedTuple):
    """The cells of the table of counts that have rows."""

    codes: Ints
    levels: tuple[int, ...]
    rows: Floats
    weight: Floats
    inclusion: Floats

    @property
    def place(self) -> tuple[Ints, ...]:
        """Where they are in the table of counts."""
        return tuple(self.codes.T)

    def table(self, of_cell: Floats, empty: float = 0.0) -> Floats:
        """Return the table of counts with a number in each cell that has rows."""
        full = np.full(self.levels, empty)
        full[self.place] = of_cell
        return full


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinearRisk(Facts):
    """The risk of the unique rows, by a log-linear model of the population.

    Parameters
    ----------
    method, order
        How sampling weights enter the model, and the most columns of an interaction.
    rows, sample_uniques
        The rows that were judged, and those that are unique on the quasi-identifiers.
    population_uniques, correct_links
        How many of these are expected to be unique in the population (tau 1), and to be linked to
        the right person (tau 2).
    """

    facts = (
        "method", "order", "rows", "sample_uniques", "population_uniques",
        "share_population_unique", "correct_links", "share_correct",
    )  # fmt: skip

    method: str
    order: int
    rows: int
    sample_uniques: int
    population_uniques: float
    correct_links: float

    @property
    def share_population_unique(self) -> float:
        """The share of the unique rows that are expected to be unique in the population."""
        return self.population_uniques / self.sample_uniques if self.sample_uniques else 0.0

    @property
    def share_correct(self) -> float:
        """The share of the unique rows that are expected to be linked rightly."""
        return self.correct_links / self.sample_uniques if self.sample_uniques else 0.0

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        if not self.sample_uniques:
            return "No row is unique in the table, so none is expected to be in the population."
        return (
            f"Of {self.sample_uniques:,} unique rows in the table, "
            f"{self.population_uniques:,.1f} ({percent(self.share_population_unique)}) are "
            f"expected to be unique in the population; who links them all is expected to be right "
            f"for {self.correct_links:,.1f} ({percent(self.share_correct)}), by a log-linear model "
            f"of order {self.order}."
        )


def log_linear_risk(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    weights: str | None = None,
    sampling_fraction: float | None = None,
    order: int = 1,
    method: LogLinearMethod = "standard",
) -> LogLinearRisk:
    """Estimate by a log-linear model how many unique rows an attacker can link.

    The people of the population with each combination of quasi-identifiers are taken as Poisson,
    with means that follow a log-linear model. Of a row that is unique in the table the model says
    how likely no one else of the population has its combination (summed up: tau 1), and the
    expected value of 1 over those who have (tau 2).

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
    order
        The most columns of an interaction: 1 takes the columns as independent, 2 fits all pairs.
    method
        ``"standard"`` fits counts of rows; ``"pseudo-likelihood"`` sums of weights;
        ``"clogg-eliason"`` has the logarithm of each cell's sampling rate plus 0.1 as an offset;
        ``"weight-covariate"`` has each cell's sum of weights as a covariate.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are no rows, no quasi-identifiers, a parameter is out of range, or the table of
        counts has more than 2 ** 22 cells. Models of order 1 by ``"standard"`` or
        ``"pseudo-likelihood"`` have no such limit.
    DataError
        When the model doesn't converge, or a weight isn't a number of at least 1.

    Notes
    -----
    Sources: C. Skinner and N. Shlomo, "Assessing identification risk in survey microdata using
    log-linear models", JASA 103 (2008); Clogg and Eliason (1987) for the offset. sdcMicro's
    ``modRisk`` takes the expected count in the sample where the paper has that in the population,
    so its risks are higher; the fitted models are the same.

    **Guarantees.** Margins are fitted to a hundredth of a row, or it is an error.

    **Edge cases.** A missing cell is a value of its own. A model that is too simple can be far
    off, mostly above, and one with more interactions than the rows bear out is below: compare
    orders, and take the higher risk.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": [*"ffffmmmm"], "job": [*"aaabaabc"]})
    >>> risk = log_linear_risk(people, quasi_identifiers=["sex", "job"], sampling_fraction=0.1)
    >>> risk.sample_uniques, round(risk.population_uniques, 4), round(risk.correct_links, 4)
    (3, 0.0114, 0.4419)
    """
    table, names = asked_of_table(table, quasi_identifiers, owner="log_linear_risk")
    if not names or not table.height:
        raise ParameterError("A log-linear model takes a table with rows, and quasi-identifiers.")
    integer_at_least(1, owner="log_linear_risk", order=order)
    methods = ("standard", "pseudo-likelihood", "clogg-eliason", "weight-covariate")
    one_of(methods, owner="log_linear_risk", method=method)
    each = sampling_weights(table, weights=weights, sampling_fraction=sampling_fraction)
    cells = _cells(table, names, each)
    alone = cells.rows == 1
    inclusion = cells.inclusion[alone]
    mean = _population_mean(cells, _fitted(cells, min(order, len(names)), method), method)[alone]
    unique, linked = _taus(mean, inclusion)
    return LogLinearRisk(
        method=method,
        order=min(order, len(names)),
        rows=table.height,
        sample_uniques=int(alone.sum()),
        population_uniques=float(unique.sum()),
        correct_links=float(linked.sum()),
    )


def _taus(mean: Floats, inclusion: Floats) -> tuple[Floats, Floats]:
    """Return P(no one else) and E(1 / people) of unique rows: the others are Poisson."""
    others = mean * (1 - inclusion)
    return np.exp(-others), np.where(others > 0, -np.expm1(-others) / np.maximum(others, 1e-300), 1)


def _population_mean(cells: _Cells, fitted: Floats, method: LogLinearMethod) -> Floats:
    """Return how many people of the population each cell is expected to have."""
    if method == "pseudo-likelihood":
        return fitted
    rate: Floats = cells.inclusion / cells.rows
    return fitted / rate


def _cells(table: pl.DataFrame, names: Sequence[str], weights: Floats) -> _Cells:
    met = Combinations.of(table, names)
    return _Cells(
        codes=met.codes.T,
        levels=tuple((met.codes.max(axis=1) + 1).tolist()),
        rows=met.sums(np.ones(table.height)),
        weight=met.sums(weights),
        inclusion=met.sums(1 / weights),
    )


def _fitted(cells: _Cells, order: int, method: LogLinearMethod) -> Floats:
    """Return the expected count of each cell that has rows."""
    wanted = cells.weight if method == "pseudo-likelihood" else cells.rows
    plain = method in {"standard", "pseudo-likelihood"}
    if order == 1 and plain:
        return _independent(cells, wanted)
    if order == len(cells.levels) and plain:
        return wanted
    n_cells = prod(cells.levels)
    if n_cells > MAX_CELLS:
        raise ParameterError(
            f"The table of counts has {n_cells:,} cells; a model with interactions or covariates "
            f"is fitted on at most {MAX_CELLS:,}.",
            hint="Take order 1 and the standard method, or fewer or coarser quasi-identifiers.",
        )
    full = cells.table(wanted)
    start = np.ones(cells.levels)
    if method == "clogg-eliason":
        start = cells.table(cells.rows / cells.weight, empty=0.0) + _EMPTY_RATE
    covariate = cells.table(cells.weight) if method == "weight-covariate" else None
    margins = list(combinations(range(full.ndim), order))
    return _scaled(full, start, margins, covariate, float(cells.rows.sum()))[cells.place]


def _independent(cells: _Cells, wanted: Floats) -> Floats:
    """Return the product of the shares of a cell's values, times the total."""
    total = wanted.sum()
    fitted = np.full(len(wanted), total)
    for codes, levels in zip(cells.codes.T, cells.levels, strict=True):
        fitted *= (np.bincount(codes, weights=wanted, minlength=levels) / total)[codes]
    return fitted


def _scaled(
    counts: Floats,
    start: Floats,
    margins: Sequence[tuple[int, ...]],
    covariate: Floats | None,
    rows: float,
) -> Floats:
    """Fit margins, and a covariate, by iterative proportional scaling."""
    fitted = start.copy()
    away = [tuple(j for j in range(counts.ndim) if j not in margin) for margin in margins]
    wanted = [counts.sum(axis=axes, keepdims=True) for axes in away]
    unit = None if covariate is None else covariate / covariate.max()
    # Sums of weights are as close as counts are.
    near = min(TOLERANCE, 1e-5 * rows) * max(float(counts.sum()) / rows, 1.0)
    for _ in range(MAX_CYCLES):
        furthest = 0.0
        for axes, margin in zip(away, wanted, strict=True):
            now = fitted.sum(axis=axes, keepdims=True)
            furthest = max(furthest, float(np.abs(now - margin).max()))
            fitted *= np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
        if unit is not None:
            furthest = max(furthest, abs(float((unit * (fitted - counts)).sum())))
            fitted *= np.exp(_slope(fitted, unit, float((unit * counts).sum())) * unit)
        if furthest <= near:
            return fitted
    raise DataError(
        f"The log-linear model didn't converge in {MAX_CYCLES:,} cycles.",
        hint="Take a lower order, another method, or fewer quasi-identifiers.",
    )


def _slope(fitted: Floats, unit: Floats, wanted: float) -> float:
    """Return the coefficient with which a covariate's weighted sum is what is wanted."""
    slope = 0.0
    for _ in range(100):
        scaled = fitted * np.exp(slope * unit)
        miss = float((unit * scaled).sum()) - wanted
        step = miss / float((unit * unit * scaled).sum())
        # Newton's steps on a convex function overshoot on one side only; there they are held back.
        slope -= max(min(step, 2.0), -2.0)
        if abs(step) < 1e-14:
            break
    return slope

"""Population uniqueness: people who are unique in the population, by superpopulation models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DivergenceError, ParameterError
from halfmask.assess._risk import percent
from halfmask.assess.risk._individual import sampling_weights
from halfmask.assess.risk._matching import asked_of_table
from halfmask.guarantees import UniquesEstimate, class_of_row, estimate_uniques

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.assess._arrays import Ints
    from halfmask.guarantees import UniquesEstimator


_ESTIMATORS: tuple[UniquesEstimator, ...] = ("pitman", "snb", "zayatz")
_HOW = {
    "pitman": "by Pitman's estimator",
    "snb": "by the slide negative binomial estimator",
    "zayatz": "by Zayatz's estimator",
    "counted": "counted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationUniqueness:
    """How many people are unique in the population, by each estimator.

    Parameters
    ----------
    rows, sample_uniques
        The rows of the sample, and those that are unique in it.
    chosen
        The estimate that the rule of Dankar et al. chooses.
    estimates
        The estimate of each estimator by its name; ``None`` where it has no solution, which says
        nothing of the risk.
    """

    rows: int
    sample_uniques: int
    chosen: UniquesEstimate
    estimates: Mapping[str, UniquesEstimate | None]

    @property
    def sentence(self) -> str:
        """The numbers in one sentence, for a privacy officer."""
        return (
            f"About {self.chosen.uniques:,.0f} people ({percent(self.chosen.share)}) of a "
            f"population of {self.chosen.population:,} are unique on the quasi-identifiers, "
            f"{_HOW[self.chosen.estimator]}."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "rows": self.rows,
            "sample_uniques": self.sample_uniques,
            "population": self.chosen.population,
            "estimator": self.chosen.estimator,
            "uniques": self.chosen.uniques,
            "share": self.chosen.share,
            "estimates": {
                name: None if found is None else found.share
                for name, found in self.estimates.items()
            },
        }


def population_uniqueness(
    table: object,
    *,
    quasi_identifiers: Sequence[str],
    weights: str | None = None,
    sampling_fraction: float | None = None,
) -> PopulationUniqueness:
    """Estimate how many people of the population are unique on the quasi-identifiers.

    Parameters
    ----------
    table
        The sample, drawn at random: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns that an attacker knows of a person.
    weights
        The column of sampling weights; only their sum, the size of the population, is used.
    sampling_fraction
        In place of weights, the share of the population that the table holds, in (0, 1].

    Raises
    ------
    ColumnNotFoundError
        When the table lacks a column.
    ParameterError
        When there are no rows, or neither or both of weights and a fraction are given.
    DataError
        When a weight isn't a number of at least 1.

    Notes
    -----
    Sources: as of :func:`halfmask.guarantees.estimate_uniques`.

    **Guarantees.** An estimator without a solution has no number. A risk of 0 is an estimate of 0.

    **Edge cases.** Missing is a value of its own. As a wildcard it would leave fewer rows unique,
    and no classes to estimate from.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [*range(50), *range(100, 110), *range(100, 110)]})
    >>> found = population_uniqueness(people, quasi_identifiers=["age"], sampling_fraction=0.2)
    >>> found.sample_uniques, found.chosen.estimator, round(found.chosen.share, 3)
    (50, 'snb', 0.452)
    """
    table, names = asked_of_table(table, quasi_identifiers, weights, owner="population_uniqueness")
    if not table.height:
        raise ParameterError("There are no rows to judge.")
    if weights is None and sampling_fraction is None:
        raise ParameterError(
            "The size of the population isn't known.", hint="Give weights or sampling_fraction."
        )
    each = sampling_weights(table, weights=weights, sampling_fraction=sampling_fraction)
    people = max(round(float(each.sum())), table.height)
    of_row, n_classes = class_of_row(table, quasi_identifiers=names)
    return uniqueness_of(np.bincount(of_row, minlength=n_classes).astype(np.int64), people)


def uniqueness_of(sizes: Ints, people: int) -> PopulationUniqueness:
    """Return the same from the sizes of classes."""
    return PopulationUniqueness(
        rows=int(sizes.sum()),
        sample_uniques=int((sizes == 1).sum()),
        chosen=estimate_uniques(sizes, population=people, estimator="dankar"),
        estimates={name: _estimate(sizes, people, name) for name in _ESTIMATORS},
    )


def _estimate(sizes: Ints, people: int, name: UniquesEstimator) -> UniquesEstimate | None:
    try:
        return estimate_uniques(sizes, population=people, estimator=name)
    except DivergenceError:
        return None

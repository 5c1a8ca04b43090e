"""How many rows each row looks like: what every counted risk is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask._errors import DataError, ParameterError

Ints = npt.NDArray[np.int64]


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
    ParameterError
        When there are no rows, or the arrays don't fit together.
    DataError
        When the population has fewer rows of a group than the table.
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

"""Inference: what the release tells of a secret of somebody whose other columns are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between
from halfmask.assess.attacks._arms import Counted
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._distances import Comparison, nearest
from halfmask.assess.attacks.tables._excess import residual_details
from halfmask.assess.attacks.tables._knowledge import (
    known_people,
    lacking_control,
    matched_columns,
    quasi_identifiers_of,
    sample,
    secrets_of,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.assess.attacks.tables._matching import Matched

__all__ = ["Inference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Take a person's secret from the released rows that are nearest by what is known.

    Parameters
    ----------
    n_attacks
        How many people are attacked at most, of the original and of the control each.
    tolerance
        By how many standard deviations of the secret a guessed number may miss, in [0, inf).

    Notes
    -----
    The third of the three risks of the Article 29 Working Party, as Giomi et al., "A unified
    framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4.3, measure
    it; distances are Gower's over the quasi-identifiers. Of rows that tie the secret that most of
    them have is guessed: nobody draws at random who may count. The baseline is the secret that most
    released rows have. The paper's tolerance is a share of the value, which means nothing for a
    date or a zero: here it is a share of the column's deviation.

    **Edge cases.** A released set or range is guessed by its first category or its middle; a cell
    that says nothing is no guess. People without a secret aren't attacked.

    Examples
    --------
    >>> Inference(tolerance=0.1).name
    'tables/inference'
    """

    name: ClassVar[str] = "tables/inference"
    attacks: ClassVar[type] = TableTarget

    n_attacks: int = 2000
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        integer_at_least(1, owner="Inference", n_attacks=self.n_attacks)
        number_between(0, 1e9, owner="Inference", tolerance=self.tolerance)

    def lacks(self, target: TableTarget) -> str:
        """Return what is missing: secrets, known columns or a control table."""
        secrets, known = secrets_of(target), quasi_identifiers_of(target)
        if not secrets:
            return "secrets that were released"
        if any(not set(known) - {secret} for secret in secrets):
            return "quasi_identifiers that were released"
        return lacking_control(target, (*known, *secrets))

    def run(self, target: TableTarget, *, seed: int) -> tuple[Outcome, ...]:
        """Guess each secret column, and count where the guess is right."""
        return tuple(
            self._outcome(target, secret, np.random.default_rng([seed, place]))
            for place, secret in enumerate(secrets_of(target))
        )

    def _outcome(self, target: TableTarget, secret: str, rng: np.random.Generator) -> Outcome:
        if target.control is None:
            raise ParameterError("Inference needs a control table.")
        names = tuple(name for name in quasi_identifiers_of(target) if name != secret)
        comparison = Comparison(columns=matched_columns(target, names), silence="average")
        (hidden,) = matched_columns(target, (secret,))
        offers = _Offers.of(hidden, self.tolerance)
        rights = []
        for people in (target.original, target.control):
            with_secret = people.filter(people[secret].is_not_null())
            chosen = with_secret[sample(rng, with_secret.height, self.n_attacks)]
            guesses = offers.guesses(comparison, chosen)
            rights.append((chosen, offers.right(guesses, hidden.known(chosen[secret]))))
        attacked, right = rights[0]
        usual = np.full(attacked.height, offers.usual())
        arms = [
            Counted(int(each.sum()), len(each))
            for each in (right, rights[1][1], offers.right(usual, hidden.known(attacked[secret])))
        ]
        return Outcome(
            attack=self.name,
            measure=f"share of right guesses of {secret}",
            success=arms[0],
            control=arms[1],
            baseline=arms[2],
            needed=100,
            needed_of="people with the secret",
            details=residual_details(arms[0], arms[1]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Offers:
    """What each released row says of the secret.

    Attributes
    ----------
    codes
        The category or the bin of each row's secret, -1 where it says nothing.
    values
        The category's code or the number.
    n_codes
        How many categories or bins there are.
    within
        By how much a guess may miss.
    """

    codes: NDArray[np.int64]
    values: NDArray[np.float64]
    n_codes: int
    within: float

    @classmethod
    def of(cls, hidden: Matched, tolerance: float) -> _Offers:
        cells = hidden.cells
        if hidden.is_number:
            within = tolerance * hidden.deviation
            values = cells.middle
            # Bins as wide as what counts as right: who is most often there is guessed together.
            binned = np.floor(values / (2 * within)) if within else values
        else:
            within = 0.0
            first = cells.sets.argmax(axis=1) if len(cells.sets) else np.zeros(1, dtype=np.int64)
            place = np.minimum(np.maximum(-2 - cells.codes, 0), len(first) - 1)
            values = np.where(cells.codes <= -2, first[place], cells.codes).astype(np.float64)
            binned = values
        told, codes = np.unique(binned[~cells.silent], return_inverse=True)
        numbered = np.full(len(cells), -1, dtype=np.int64)
        numbered[~cells.silent] = codes
        return cls(codes=numbered, values=values, n_codes=len(told), within=within)

    def usual(self) -> float:
        """Return the guess of who knows nothing of a person."""
        told = np.flatnonzero(self.codes >= 0)
        if not len(told):
            return np.nan
        return float(self._most(np.zeros(len(told), dtype=np.int64), told, 1)[0])

    def guesses(self, comparison: Comparison, people: pl.DataFrame) -> NDArray[np.float64]:
        """Return the guess for each person; NaN for none."""
        guessed = np.full(people.height, np.nan)
        for some, distances in comparison.blocks(known_people(comparison.columns, people)):
            # A row without the secret is of no use, however near.
            distances[:, self.codes < 0] = np.inf
            person, row = np.nonzero(nearest(distances) & (self.codes >= 0))
            guessed[some] = self._most(person, row, len(distances))
        return guessed

    def right(self, guesses: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which guesses are right; none is wrong."""
        slack = 1e-9 * max(1.0, self.within)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(guesses - truth) <= self.within + slack)

    def _most(
        self, person: NDArray[np.int64], row: NDArray[np.int64], n_people: int
    ) -> NDArray[np.float64]:
        """Return the mean of the code that most of each person's rows have; NaN without rows."""
        n_codes = max(1, self.n_codes)
        pair = person * n_codes + self.codes[row]
        pairs, place, counts = np.unique(pair, return_inverse=True, return_counts=True)
        means = np.bincount(place, weights=self.values[row]) / counts if len(row) else np.empty(0)
        # By person, the most frequent first; of those as frequent the lowest code.
        order = np.lexsort((pairs, -counts, pairs // n_codes))
        whose, first = np.unique((pairs // n_codes)[order], return_index=True)
        guessed = np.full(n_people, np.nan)
        guessed[whose] = means[order][first]
        return guessed

"""Quantile matching: an order and the distribution of a column are its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._cells import number_columns, numbers, some_rows
from halfmask.assess.attacks.encodings._holding import number_holders
from halfmask.assess.attacks.encodings._recovered import recovered, variance_recovered

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileMatching(DeclaredAttack, name="encodings/quantile-matching", target=EncodingTarget):
    """Decode each number from its rank and the population's quantiles.

    Parameters
    ----------
    n_rows
        Largest number of rows on which the attack is scored.

    Notes
    -----
    The sorting and cumulative attacks of Naveed, Kamara and Wright, "Inference attacks on
    property-preserving encrypted databases" (CCS 2015), section 4: which column is which, and
    whether it goes up or down, is granted to the attacker. The worst column is among the details
    as ``worst_column``.
    """

    n_rows: int = field(default=20_000, metadata={"ge": 1})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a population, or numbers."""
        if target.population is None or not target.population.height:
            return "a sample of the population"
        both = number_columns(target.original) and number_columns(target.encoded)
        return "" if both else "ordered columns"

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Match quantiles, and return how much of the numbers came back."""
        if target.population is None:
            return ()
        rng = np.random.default_rng(random_state)
        rows = some_rows(target.original.height, self.n_rows, rng)
        truths, guesses = [], []
        for name, holder in number_holders(target).items():
            truth = numbers(target.original[name])
            encoded = numbers(target.encoded[holder])
            both = np.isfinite(truth) & np.isfinite(encoded)
            known = numbers(target.population[name])
            known = known[np.isfinite(known)]
            if not len(known) or not both.any():
                continue
            rising = np.cov(np.argsort(np.argsort(encoded[both])), truth[both])[0, 1] >= 0
            guess = matched_quantiles(encoded if rising else -encoded, known)
            center, scale = np.nanmean(truth), np.nanstd(truth) or 1.0
            truths.append((truth[rows] - center) / scale)
            guesses.append((guess[rows] - center) / scale)
        if not truths:
            raise DataError("No ordered column has values in the population and in both tables.")
        truth, guess = np.column_stack(truths), np.column_stack(guesses)
        alone = [variance_recovered(truth[:, [i]], guess[:, [i]]) for i in range(truth.shape[1])]
        return (
            Outcome(
                attack=self.name,
                measure="variance of numbers, by quantiles",
                success=recovered(truth, guess, rng),
                control=Certain(0.0),
                needed=100,
                needed_of="rows",
                details={"worst_column": max(alone)},
            ),
        )


def matched_quantiles(
    encoded: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each number what stands at its place among known ones; missing ones the mean.

    Examples
    --------
    >>> matched_quantiles(np.array([7.0, 9.0, 8.0]), np.array([10.0, 20.0, 30.0])).tolist()
    [10.0, 30.0, 20.0]
    """
    from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

    present = np.isfinite(encoded)
    guess = np.full(len(encoded), known.mean())
    place = (rankdata(encoded[present]) - 0.5) / max(1, int(present.sum()))
    at = (np.arange(len(known)) + 0.5) / len(known)
    guess[present] = np.interp(place, at, np.sort(known))
    return guess

"""Population sample: encoded rows are aligned with rows of similar people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._alignment import alignments, distance_to
from halfmask.assess.attacks.encodings._cells import (
    filled,
    mixed_columns,
    number_columns,
    numbers,
    some_rows,
)
from halfmask.assess.attacks.encodings._recovered import recovered, variance_recovered

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationSample(DeclaredAttack, name="encodings/population-sample", target=EncodingTarget):
    """Lay the encoded rows over a sample of the same population, and read them there.

    Parameters
    ----------
    n_rows
        How many rows, of either table, are used at most.

    Notes
    -----
    Principal axes, after Liu, Giannella and Kargupta, "An attacker's view of distance preserving
    maps for privacy preserving data mining" (PKDD 2006), section 4; independent components (AK-ICA)
    after Guo and Wu, "Deriving private information from arbitrarily projected data" (PAKDD 2007);
    nearest points; and columns by the shape of their distribution. The attacker takes what lies
    nearest to the sample, without knowing the truth; what the best way would have reached is
    among the details.
    """

    n_rows: int = field(default=10_000, metadata={"ge": 100})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a population, or columns of numbers."""
        if target.population is None:
            return "a sample of the population"
        both = number_columns(target.original) and mixed_columns(target.encoded)
        return "" if both else "columns of numbers"

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Align, and return how much of the numbers came back."""
        if target.population is None:
            return ()
        rng = np.random.default_rng(random_state)
        names = number_columns(target.original)
        rows = some_rows(target.original.height, self.n_rows, rng)
        others = some_rows(target.population.height, self.n_rows, rng)
        if min(len(rows), len(others)) < 2:
            raise DataError("There are too few rows to align.")
        encoded = filled(target.encoded[rows], mixed_columns(target.encoded))
        sample = filled(target.population[others], names)
        if not (encoded.std(axis=0).any() and sample.std(axis=0).any()):
            raise DataError("No number differs between rows, or between those of the population.")
        center, scale = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-12)
        truth = np.column_stack([numbers(target.original[name])[rows] for name in names])
        truth, sample = (truth - center) / scale, (sample - center) / scale
        guesses = dict(alignments(_standard(encoded), sample, rng))
        reached = {way: variance_recovered(truth, guess) for way, guess in guesses.items()}
        fits = {way: distance_to(guess, sample, rng) for way, guess in guesses.items()}
        chosen = min(fits, key=lambda way: fits[way])
        return (
            Outcome(
                attack=self.name,
                measure="variance of numbers, no known row",
                success=recovered(truth, guesses[chosen], rng),
                control=Certain(0.0),
                needed=100,
                needed_of="rows",
                details={**reached, "best_way": max(reached.values())},
            ),
        )


def _standard(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows with all columns scaled by one number: angles and distances stay."""
    spread = float(np.sqrt(matrix.var(axis=0).mean())) or 1.0
    return np.asarray((matrix - matrix.mean(axis=0)) / spread)

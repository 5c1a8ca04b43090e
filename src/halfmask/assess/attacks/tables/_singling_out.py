"""Singling out: guesses that are true of exactly one person, learnt from the released table.

A predicate that is true of a share w of all people is true of exactly one of n with probability
n w (1 - w)^(n - 1), so that success in a small control table can't be held against success in a
large original: Giomi et al. (PoPETs 2023), section 4.1. They let the control's success grow to the
original's size by a fitted model; how wrong a fit to few people may be is in no bound, so that
releases that disclosed nothing were broken. Here the larger table is cut to the size of the smaller
one, in expectation over all its parts, which needs no model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.assess.attacks._arms import Arm, Combined, Expected, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, residual_details
from halfmask.assess.attacks._inputs import several
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.tables._links import (
    known_people,
    lacking_control,
    matched_columns,
    shared_columns,
)
from halfmask.assess.attacks.tables._predicates import count_known, guesses_of_many, guesses_of_one

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks.tables._matching import Matched
    from halfmask.assess.attacks.tables._predicates import Predicate


def alone_arm(counts: Ints, n_guesses: int, *, size: int, part: int) -> Arm:
    """Return how often guesses single out a person in a random part of a table.

    Notes
    -----
    Surest to be true of exactly one of the part is a guess that is true of about ``size / part``
    people. Trials that all lie below that have a mean with nearer bounds.
    """
    if part == size:
        return SuccessCount(int((counts == 1).sum()), n_guesses)
    most = float(alone_in_part(np.arange(1, size + 1), size, part).max())
    total = float(alone_in_part(counts, size, part).sum())
    return Combined((Expected(total / most, n_guesses),), (most,))


def alone_in_part(counts: ArrayLike, size: int, part: int) -> Floats:
    """Return the probability that exactly one of those counted is in a random part of a table.

    Examples
    --------
    >>> alone_in_part([0, 1, 2], 4, 2).round(3).tolist()
    [0.0, 0.5, 0.667]
    """
    from scipy.special import gammaln  # noqa: PLC0415 # scipy loads late

    m = np.asarray(counts, dtype=np.float64)
    possible = (m >= 1) & (size - m >= part - 1)
    safe = np.where(possible, m, 1.0)

    def log_choose(n: ArrayLike, k: float) -> Floats:
        n = np.asarray(n, dtype=np.float64)
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    logs = np.log(safe) + log_choose(size - safe, part - 1) - log_choose(size, part)
    return np.where(possible, np.exp(logs), 0.0)


#: The fewest guesses of an attack: a table that offers fewer makes it fail.
MIN_GUESSES = 500


#: Columns of the release, and what draws guesses.
Columns: TypeAlias = "tuple[Matched, ...]"
Rng: TypeAlias = np.random.Generator


class SinglingOutAttack(DeclaredAttack, target=TableTarget, needs=(lacking_control,)):
    """An attack by guesses that may be true of one person."""

    __slots__ = ()
    n_attacks: int

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        """Count guesses that are true of one person, in the original and in the control."""
        if target.control is None:
            raise ParameterError("Singling out needs a control table.")
        columns = matched_columns(target, shared_columns(target))
        guesses = self._guesses(columns, target, np.random.default_rng(random_state))
        original, control = target.original, target.control
        n_guesses = max(len(guesses), min(MIN_GUESSES, self.n_attacks))
        part = min(original.height, control.height)
        success, reference = (
            alone_arm(
                count_known(guesses, known_people(columns, people)),
                n_guesses,
                size=people.height,
                part=part,
            )
            for people in (original, control)
        )
        of_part = f" of {part:,}" if part < original.height else ""
        return self._make_outcome(
            f"share of guesses true of one person{of_part}",
            success,
            reference,
            needed=(min(MIN_GUESSES, self.n_attacks), "guesses"),
            scale=part / original.height,  # who is singled out is as rarely in the part
            details={"guesses": float(len(guesses)), **residual_details(success, reference)},
        )

    def _guesses(self, columns: Columns, target: TableTarget, rng: Rng) -> list[Predicate]:
        """Return predicates that the release says are true of one person."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglingOutUnivariate(SinglingOutAttack, name="tables/singling-out-univariate"):
    """Guess that values released once, and extremes, are one person's.

    Parameters
    ----------
    n_attacks
        How many guesses at most.

    Notes
    -----
    The first of the three risks of the Article 29 Working Party's opinion 05/2014, as Giomi et al.,
    "A unified framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4.1,
    measure it: a guess succeeds if it is true of exactly one original row; the control is how often
    it is true of exactly one of as many people who aren't in the table. Where the table offers
    fewer than 500 guesses (or `n_attacks`), the missing ones count as failures.

    **Edge cases.** A control larger than the original is cut to its size. If it is smaller, the
    original is cut: success is measured in a random part of as many people, and `tolerance` and
    `min_control_effect` are scaled by that fraction.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})

    def _guesses(self, columns: Columns, target: TableTarget, rng: Rng) -> list[Predicate]:
        return guesses_of_one(columns, target.released, self.n_attacks, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglingOutMultivariate(SinglingOutAttack, name="tables/singling-out-multivariate"):
    """Guess that several cells of a released row are true of one person.

    Parameters
    ----------
    n_attacks
        How many guesses at most.
    n_columns
        How many columns a guess is about: the fewest and the most.

    Notes
    -----
    Giomi et al. (PoPETs 2023), section 4.1: a number above the median is guessed to be at least,
    one below it at most what the row has, a category to be the row's. Only guesses that one
    released row meets are tried. Of a row with ranges the guess is that one person of its class is
    at an end of one of them.
    """

    n_attacks: int = field(default=2000, metadata={"ge": 1})
    n_columns: tuple[int, int] = (3, 8)

    def __post_init__(self) -> None:
        DeclaredAttack.__post_init__(self)
        owner = "SinglingOutMultivariate"
        pair = several(self.n_columns, parameter="n_columns", owner=owner, of="numbers")
        if len(pair) != 2:
            raise ParameterError(
                f"The 'n_columns' parameter of {owner} must be a pair. Got {len(pair)} numbers."
            )
        integer_at_least(2, owner=owner, n_columns=pair[0])
        integer_at_least(pair[0], owner=owner, n_columns=pair[1])
        object.__setattr__(self, "n_columns", pair)

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what is missing: a control table, or columns."""
        shared = shared_columns(target)
        if len(shared) < self.n_columns[0]:
            return f"{self.n_columns[0]} columns that the original and the released table share"
        return lacking_control(target)

    def _guesses(self, columns: Columns, target: TableTarget, rng: Rng) -> list[Predicate]:  # noqa: ARG002 # of columns alone
        return guesses_of_many(columns, self.n_columns, self.n_attacks, rng)

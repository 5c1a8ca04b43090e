"""Profitability against a journalist: the same game, played in the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask.guarantees._profitability import (
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
)

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes
    from halfmask.guarantees._guarantee import Levels, Met


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfitabilityJournalist(ProfitabilityProsecutor):
    """The publisher earns more by each row than attacks in the population cost.

    The game of `ProfitabilityProsecutor` with an attacker who doesn't know who is in the table: an
    attack on a row of a class succeeds with probability 1 / F, for the F people of the population
    that fit the class. Source: Z. Wan et al., "A game theoretic framework for analyzing
    re-identification risk", PLOS ONE 10(3), 2015.

    Parameters
    ----------
    publisher_benefit, publisher_loss, adversary_gain, adversary_cost
        As of `ProfitabilityProsecutor`.

    Raises
    ------
    ParameterError
        When an amount is negative, or the benefit is 0.

    See Also
    --------
    ProfitabilityProsecutor : For an attacker who knows that the person is in the table.

    Notes
    -----
    **Guarantees.** Exact. Monotone: more people fit merged classes.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> game = ProfitabilityJournalist(
    ...     publisher_benefit=100, publisher_loss=300, adversary_gain=300, adversary_cost=4
    ... )
    >>> judgement = game.judge(Classes(np.array([1, 1, 1]), population=np.array([3, 4, 75])))
    >>> judgement.levels.tolist(), judgement.failing.tolist()
    ([100.0, 75.0, 0.0], [0])
    """

    model: ClassVar[str] = "profitability-journalist"
    needs_population: ClassVar[bool] = True

    @property
    def min_rows(self) -> int:
        """1: people are counted, not rows."""
        return 1

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return self._measure_sizes(np.maximum(classes.people, 1))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfitabilityJournalistNoAttack(ProfitabilityProsecutorNoAttack):
    """No attack in the population earns as much as it costs the attacker.

    The game of `ProfitabilityProsecutorNoAttack` with an attacker who doesn't know who is in the
    table: an attack earns ``adversary_gain / F``, for the F people of the population that fit the
    class. Source: Z. Wan et al., "A game theoretic framework for analyzing re-identification risk",
    PLOS ONE 10(3), 2015.

    Parameters
    ----------
    adversary_gain, adversary_cost
        As of `ProfitabilityProsecutorNoAttack`.

    Raises
    ------
    ParameterError
        When an amount isn't above 0.

    See Also
    --------
    ProfitabilityJournalist : Attacks may pay, if the publisher earns more than they cost.

    Notes
    -----
    **Guarantees.** Exact. Monotone: more people fit merged classes.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> game = ProfitabilityJournalistNoAttack(adversary_gain=300, adversary_cost=4)
    >>> game.judge(Classes(np.array([1, 1]), population=np.array([75, 76]))).failing.tolist()
    [0]
    """

    model: ClassVar[str] = "profitability-journalist-no-attack"
    counts_persons: ClassVar[bool] = False
    monotone_in_persons: ClassVar[bool] = False
    needs_population: ClassVar[bool] = True

    @property
    def min_rows(self) -> int:
        """1: people are counted, not rows."""
        return 1

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return self._measure_sizes(np.maximum(classes.people, 1))

"""Profitability: a game between who publishes a table and an attacker, both of whom count money."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from halfmask._validation import decimal
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


def size_without_attack(*, adversary_gain: float, adversary_cost: float) -> int:
    """Return the least number of people among whom an attack earns nothing.

    Examples
    --------
    >>> size_without_attack(adversary_gain=300, adversary_cost=4)
    75
    """
    return max(1, ceil(decimal(adversary_gain) / decimal(adversary_cost)))


def size_without_loss(*, publisher_benefit: float, publisher_loss: float) -> int:
    """Return the least number of people among whom an attack costs less than a row earns.

    Examples
    --------
    >>> size_without_loss(publisher_benefit=100, publisher_loss=300)
    4
    """
    return floor(decimal(publisher_loss) / decimal(publisher_benefit)) + 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfitabilityProsecutor(Guarantee):
    """The publisher earns more by each row than attacks on it are expected to cost.

    The attacker knows that the person is in the table, so an attack on a row of a class of n rows
    succeeds with probability 1 / n. It is made if it earns ``adversary_gain / n`` and that is more
    than ``adversary_cost``; the publisher then loses ``publisher_loss / n``, the level of the
    class, and otherwise nothing. Source: Z. Wan et al., "A game theoretic framework for analyzing
    re-identification risk", PLOS ONE 10(3), 2015.

    Parameters
    ----------
    publisher_benefit
        What the publisher earns for a released row, with the detail that it has; above 0.
    publisher_loss
        What the publisher loses for a row that is re-identified.
    adversary_gain
        What the attacker gains from a row that is re-identified.
    adversary_cost
        What an attack on one row costs the attacker.

    See Also
    --------
    ProfitabilityProsecutorNoAttack : No attack may pay, whatever the publisher earns.
    halfmask.anonymize.lattice.PublisherPayout : Looks for the largest payout.

    Notes
    -----
    **Guarantees.** Amounts are read as the decimals that were typed, and the rows that a class
    needs are computed exactly. Monotone: an attack on a larger class earns and costs less.

    **Edge cases.** ARX takes the lost share of a row's information off the benefit, which nobody
    can count again from a release. State the benefit of a row as you expect to release it, or look
    for the largest payout with the objective. Where an attack costs nothing, it is made.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> game = ProfitabilityProsecutor(
    ...     publisher_benefit=100, publisher_loss=300, adversary_gain=300, adversary_cost=4
    ... )
    >>> judgement = game.judge(Classes(np.array([3, 4, 75])))
    >>> judgement.levels.tolist(), judgement.failing.tolist()
    ([100.0, 75.0, 0.0], [0])
    """

    model: ClassVar[str] = "profitability-prosecutor"
    sentence: ClassVar[str] = (
        "No row is expected to cost the publisher as much, by an attack that pays, as it earns."
    )
    monotone_with_suppression: ClassVar[bool] = True
    bounded: ClassVar[str] = "publisher_benefit"
    worse_when_larger: ClassVar[bool] = True

    publisher_benefit: float = field(metadata={"gt": 0})
    publisher_loss: float = field(metadata={"ge": 0})
    adversary_gain: float = field(metadata={"ge": 0})
    adversary_cost: float = field(metadata={"ge": 0})

    @property
    def min_rows(self) -> int:
        """The rows among which an attack earns nothing, or costs less than a row earns."""
        return self._least

    @property
    def _least(self) -> int:
        """The least number of people to choose from who keep the guarantee."""
        enough = size_without_loss(
            publisher_benefit=self.publisher_benefit, publisher_loss=self.publisher_loss
        )
        unattacked = self._unattacked
        return enough if unattacked is None else min(enough, unattacked)

    @property
    def _unattacked(self) -> int | None:
        """The rows among which an attack earns nothing; ``None`` if it always does."""
        if not self.adversary_gain:
            return 1
        if not self.adversary_cost:
            return None
        return size_without_attack(
            adversary_gain=self.adversary_gain, adversary_cost=self.adversary_cost
        )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return self._measure_sizes(classes.sizes)

    def _measure_sizes(self, sizes: npt.NDArray[np.int64]) -> tuple[Levels, Met]:
        unattacked = self._unattacked
        lost = float(self.publisher_loss) / sizes
        if unattacked is not None:
            lost = np.where(sizes >= unattacked, 0.0, lost)
        return lost, sizes >= self._least


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfitabilityProsecutorNoAttack(Guarantee):
    """No attack on a row earns as much as it costs the attacker.

    The attacker knows that the person is in the table, so an attack on a row of a class of n rows
    earns ``adversary_gain / n``: the level of the class. Source: Z. Wan et al., "A game theoretic
    framework for analyzing re-identification risk", PLOS ONE 10(3), 2015.

    Parameters
    ----------
    adversary_gain
        What the attacker gains from a row that is re-identified, above 0.
    adversary_cost
        What an attack on one row costs the attacker, above 0.

    See Also
    --------
    ProfitabilityProsecutor : Attacks may pay, if the publisher earns more than they cost.

    Notes
    -----
    **Guarantees.** Amounts are read as the decimals that were typed, and the comparison is exact:
    a class needs more than ``adversary_gain / adversary_cost`` rows. Monotone: an attack on a
    larger class earns less. Where a person is the unit, an attack is on a person of a class.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> game = ProfitabilityProsecutorNoAttack(adversary_gain=300, adversary_cost=4)
    >>> game.min_rows, game.judge(Classes(np.array([75, 76]))).failing.tolist()
    (76, [0])
    """

    model: ClassVar[str] = "profitability-prosecutor-no-attack"
    sentence: ClassVar[str] = "An attack on a row earns less than it costs."
    monotone_with_suppression: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True
    bounded: ClassVar[str] = "adversary_cost"
    worse_when_larger: ClassVar[bool] = True

    adversary_gain: float = field(metadata={"gt": 0})
    adversary_cost: float = field(metadata={"gt": 0})

    @property
    def min_rows(self) -> int:
        """More than what an attack gains over what it costs."""
        return self._least

    @property
    def _least(self) -> int:
        """The least number of people to choose from who keep the guarantee."""
        return floor(decimal(self.adversary_gain) / decimal(self.adversary_cost)) + 1

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return self._measure_sizes(classes.sizes)

    def _measure_sizes(self, sizes: npt.NDArray[np.int64]) -> tuple[Levels, Met]:
        return float(self.adversary_gain) / sizes, sizes >= self._least


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

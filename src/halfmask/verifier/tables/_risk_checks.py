"""Checks of risks: of the table as a whole, from people of a population, and of a game of amounts.

The amounts of the game between publisher and attacker are exact fractions of what was typed.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.verifier.tables._rules import (
    SLACK,
    LevelRule,
    Parameters,
    PeopleRule,
    TableRule,
    Unjudgeable,
    amount,
    number,
    whole,
)
from halfmask.verifier.tables._uniques import ESTIMATORS, unique_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.verifier.tables._counting import ClassCells
    from halfmask.verifier.tables._fitting import ClassPeople


def average_risk(parameters: Parameters) -> TableRule:
    """Bound the mean over the rows of 1 over the rows that are compatible with each."""
    risk = number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return math.fsum((rows / compatible).tolist()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return math.fsum((1.0 / smallest).tolist()) / len(smallest)

    # A mean that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= risk, of_persons=of_persons
    )


def sample_uniqueness(parameters: Parameters) -> TableRule:
    """Bound the share of the rows that no other row is compatible with."""
    share = number(parameters, "share", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[compatible == 1].sum()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return int((smallest == 1).sum()) / len(smallest)

    # A share that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= share, of_persons=of_persons
    )


def records_at_risk(parameters: Parameters) -> TableRule:
    """Bound the share of the rows for which 1 over the compatible rows is above a risk."""
    share, risk = number(parameters, "share", 0), number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[1.0 / compatible > risk].sum()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return int((1.0 / smallest > risk).sum()) / len(smallest)

    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= share, of_persons=of_persons
    )


def population_uniqueness(parameters: Parameters) -> TableRule:
    """Bound the share of the population that is unique, by an estimate from the class sizes."""
    share, estimator = number(parameters, "share", 0), str(parameters["estimator"])
    if estimator not in {*ESTIMATORS, "dankar"}:
        raise Unjudgeable("its estimator is none that the verifier knows")
    if ("population" in parameters) == ("sampling_fraction" in parameters):
        raise Unjudgeable("it doesn't state the population once, as a number of people or a share")
    if "population" in parameters:
        stated, sampled = whole(parameters, "population", 1), 1.0
    else:
        stated, sampled = 0, number(parameters, "sampling_fraction", 0)
    if not 0 < sampled <= 1:
        raise Unjudgeable("its sampling_fraction is no share of a population")

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        n = int(rows.sum())
        people = stated or max(n, round(n / sampled))
        return unique_share(rows, compatible, population=people, estimator=estimator)

    return TableRule(level=level, worst=max, keeps=lambda found: found <= share + SLACK)


#: Digits of the sums of probabilities.
DIGITS: Final = 60


def k_map(parameters: Parameters) -> PeopleRule:
    """Return the rule of k-map: each class fits k people."""
    k = whole(parameters, "k", 2)
    return PeopleRule(level=_fewest, worst=min, keeps=lambda level: level >= k)


def delta_presence(parameters: Parameters) -> PeopleRule:
    """Return the rule of delta-presence: everyone fits one class at most, and not too few rows."""
    least, most = number(parameters, "delta_min", 0), number(parameters, "delta_max", 0)
    if not least < most < 1:
        raise Unjudgeable("its bounds guarantee nothing")

    def level(fitting: ClassPeople) -> float:
        if (least and fitting.outside) or fitting.shared.any() or not fitting.people.all():
            return math.inf
        found = fitting.sizes / fitting.people
        # A probability that equals a bound as typed rounds to the same float, and keeps.
        return math.inf if float(found.min()) < least else float(found.max())

    return PeopleRule(level=level, worst=max, keeps=lambda found: found <= most, overlaps=True)


def largest_journalist_risk(parameters: Parameters) -> PeopleRule:
    """Return the rule of the largest journalist risk: 1 over the people of each class."""
    risk = number(parameters, "risk", 0)
    return PeopleRule(
        level=lambda fitting: 1.0 / max(1.0, _fewest(fitting)),
        worst=max,
        keeps=lambda found: found <= risk,
    )


def marketer_risk(parameters: Parameters) -> PeopleRule:
    """Return the rule of the marketer risk: the mean over the rows of 1 over the people."""
    risk = number(parameters, "risk", 0)
    return PeopleRule(
        level=_mean_risk, worst=max, keeps=lambda found: found <= risk + SLACK, of_table=True
    )


def average_journalist_risk(parameters: Parameters) -> PeopleRule:
    """Return the rule of the average journalist risk: the larger of two means."""
    risk = number(parameters, "risk", 0)

    def level(fitting: ClassPeople) -> float:
        # Each person once, whatever number of classes they fit; nobody counts as somebody.
        people = fitting.n_people - fitting.outside + int((fitting.people == 0).sum())
        return max(_mean_risk(fitting), len(fitting.people) / people)

    return PeopleRule(
        level=level,
        worst=max,
        keeps=lambda found: found <= risk + SLACK,
        of_table=True,
        overlaps=True,
    )


def journalist_records_at_risk(parameters: Parameters) -> PeopleRule:
    """Return the rule of records at risk: rows whose class too few people fit."""
    share, risk = number(parameters, "share", 0), number(parameters, "risk", 0)

    def level(fitting: ClassPeople) -> float:
        at_risk = 1.0 / fitting.people.clip(1) > risk
        return int(fitting.sizes[at_risk].sum()) / int(fitting.sizes.sum())

    # A share that equals the threshold as typed rounds to the same float, and keeps.
    return PeopleRule(level=level, worst=max, keeps=lambda found: found <= share, of_table=True)


def journalist_payout(parameters: Parameters) -> PeopleRule:
    """Return the rule of the game in the population: what an attack costs the publisher."""
    benefit, loss = amount(parameters, "publisher_benefit"), amount(parameters, "publisher_loss")
    gain, cost = amount(parameters, "adversary_gain"), amount(parameters, "adversary_cost")

    def level(fitting: ClassPeople) -> float:
        people = np.unique(fitting.people.clip(1)).tolist()
        return max(float(loss / each) if gain > cost * each else 0.0 for each in people)

    # Strictly below. A loss that equals the benefit as typed rounds to the same float, and misses.
    return PeopleRule(level=level, worst=max, keeps=lambda found: found < float(benefit))


def journalist_without_attack(parameters: Parameters) -> PeopleRule:
    """Return the rule of the game in the population where no attack may pay."""
    gain, cost = amount(parameters, "adversary_gain"), amount(parameters, "adversary_cost")
    return PeopleRule(
        level=lambda fitting: float(gain / max(1, int(fitting.people.min()))),
        worst=max,
        keeps=lambda found: found < float(cost),
    )


def estimated_k_map(parameters: Parameters) -> LevelRule:
    """Return the rule of estimated k-map: so many rows that k people are likely."""
    k = whole(parameters, "k", 2)
    fraction = number(parameters, "sampling_fraction", 0)
    significance = number(parameters, "significance", 0)
    truncated = {"poisson": False, "zero-truncated-poisson": True}.get(str(parameters["estimator"]))
    if truncated is None or not 0 < fraction <= 1 or not 0 < significance < 1:
        raise Unjudgeable("its parameters guarantee nothing, or its estimator isn't known")
    mean = k * Decimal(str(fraction))
    least = min(k, _rows_asked(mean, Decimal(str(significance)), truncated=truncated))
    return LevelRule(
        levels=lambda cells, _totals, _tree: cells.sizes.astype(np.float64),
        worst=min,
        keeps=lambda found: found >= least,
    )


def _rows_asked(mean: Decimal, significance: Decimal, *, truncated: bool) -> int:
    """Add up the probabilities of 0, 1, 2, ... rows until the rest is at most the significance."""
    with localcontext(prec=DIGITS):
        chance = (-mean).exp()
        rest = 1 - chance
        # Given that there is a row, the probability of more is larger by that much.
        limit = significance * (rest if truncated else 1)
        rows = 1
        while rest > limit:
            chance = chance * mean / rows
            rest -= chance
            rows += 1
        return rows


def _mean_risk(fitting: ClassPeople) -> float:
    terms = (fitting.sizes / fitting.people.clip(1)).tolist()
    return math.fsum(terms) / int(fitting.sizes.sum())


def _fewest(fitting: ClassPeople) -> float:
    return float(fitting.people.min())


def prosecutor_payout(parameters: Parameters) -> LevelRule:
    """Bound what an attack that pays is expected to cost the publisher, for each row."""
    benefit = _above_zero(parameters, "publisher_benefit")
    loss, gain = amount(parameters, "publisher_loss"), amount(parameters, "adversary_gain")
    cost = amount(parameters, "adversary_cost")

    def expected(rows: int) -> Fraction:
        return loss / rows if gain > cost * rows else Fraction()

    # Strictly below. A loss that equals the benefit as typed rounds to the same float, and misses.
    return LevelRule(
        levels=lambda cells, _totals, _tree: _of_sizes(cells, expected),
        worst=max,
        keeps=lambda level: level < float(benefit),
    )


def prosecutor_without_attack(parameters: Parameters) -> LevelRule:
    """Bound what an attack on a row earns the attacker."""
    gain = _above_zero(parameters, "adversary_gain")
    cost = _above_zero(parameters, "adversary_cost")
    # Strictly below, as above.
    return LevelRule(
        levels=lambda cells, _totals, _tree: _of_sizes(cells, lambda rows: gain / rows),
        worst=max,
        keeps=lambda level: level < float(cost),
    )


def _of_sizes(cells: ClassCells, level: Callable[[int], Fraction]) -> NDArray[np.float64]:
    """Return the level of each class, which its rows alone decide."""
    sizes, place = np.unique(cells.sizes, return_inverse=True)
    return np.array([float(level(size)) for size in sizes.tolist()])[place]


def _above_zero(parameters: Parameters, name: str) -> Fraction:
    found = amount(parameters, name)
    if not found:
        raise Unjudgeable(f"its parameter {name} isn't above 0")
    return found

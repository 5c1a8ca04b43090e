"""Checks of the game between publisher and attacker, in exact fractions of the typed amounts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from halfmask.verifier.tables._rules import LevelRule, Parameters, Unjudgeable, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.verifier.tables._counting import Cells


def prosecutor_payout(parameters: Parameters) -> LevelRule:
    """Bound what an attack that pays is expected to cost the publisher, for each row."""
    benefit = _above_zero(parameters, "publisher_benefit")
    loss, gain = _amount(parameters, "publisher_loss"), _amount(parameters, "adversary_gain")
    cost = _amount(parameters, "adversary_cost")

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


def _of_sizes(cells: Cells, level: Callable[[int], Fraction]) -> NDArray[np.float64]:
    """Return the level of each class, which its rows alone decide."""
    sizes, place = np.unique(cells.sizes, return_inverse=True)
    return np.array([float(level(size)) for size in sizes.tolist()])[place]


def _amount(parameters: Parameters, name: str) -> Fraction:
    value = number(parameters, name, 0)
    if value == float("inf"):
        raise Unjudgeable(f"its parameter {name} is infinite")
    return Fraction(str(value))


def _above_zero(parameters: Parameters, name: str) -> Fraction:
    amount = _amount(parameters, name)
    if not amount:
        raise Unjudgeable(f"its parameter {name} isn't above 0")
    return amount

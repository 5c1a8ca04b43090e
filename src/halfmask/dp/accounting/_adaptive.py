"""Composition of charges that depend on earlier answers: a privacy filter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from halfmask._foreign import need
from halfmask._validation import number_between
from halfmask.dp.accounting._composition import (
    GRID_SHARE,
    LARGEST_LOSS,
    ROUNDED_UP,
    counted_events,
    epsilon_of,
    noisy_coordinates,
    renyi_epsilon,
)
from halfmask.dp.accounting._events import SAMPLED_BEYOND, SAMPLED_RENYI

if TYPE_CHECKING:
    from halfmask.dp.accounting._events import MechanismEvent

#: Fixed before anybody asks: an order that is chosen by what was asked has no proof.
_ORDERS: Final = tuple(1 + 2**power for power in range(10))
#: Of delta, the part for deltas that mechanisms spend themselves; the rest is for the orders.
_OWN_SHARE: Final = 0.5


def basic_epsilon_of(charges: Sequence[Sequence[MechanismEvent]], *, delta: float) -> float:
    """Return the sum of epsilons, or infinity if mechanisms spend more of delta than they may."""
    own, left = _own_deltas(charges, delta)
    fits = left >= 0 and own <= left * _OWN_SHARE
    pure = math.fsum(event.pure_epsilon for charge in charges for event in charge)
    return pure * ROUNDED_UP if fits else math.inf


def adaptive_epsilon_of(
    charges: Sequence[Sequence[MechanismEvent]], *, budget: float, delta: float
) -> float:
    """Return what charges cost, if each may depend on the answers to those before it.

    In contrast to `epsilon_of`, epsilons and noise of a charge may be chosen by earlier answers,
    as an analyst does. Refuse a charge that raises the result, rounded up, above the budget.

    Parameters
    ----------
    charges
        Events of each charge, in the order in which they were booked.
    budget
        The most that all charges may cost, above 0; settled before the first.
    delta
        From 0 to below 1; settled before the first charge, too.

    Raises
    ------
    MissingDependencyError
        If dp-accounting isn't installed and more than the sum of epsilons is asked for.

    Guarantees
    ----------
    If each charge is made only while the result, with that charge, is at most the budget, then all
    answers together are (budget, delta)-differentially private, however charges were chosen.

    Notes
    -----
    The least of: the sum of epsilons (Rogers, Roth, Ullman and Vadhan 2016); Renyi filters of ten
    fixed orders (Feldman and Zrnic 2021, theorem 4.3), each at a tenth of half of delta, as an
    analyst may choose by answers which of them is met in the end; for the first charge alone,
    which no answer chose, `epsilon_of`. The other half of delta is for deltas that mechanisms spend
    themselves; what the first charge spends is taken off before.

    Examples
    --------
    >>> from halfmask.dp.accounting import LaplaceEvent
    >>> count = [LaplaceEvent(noise_multiplier=100.0, coordinates=1)]
    >>> round(adaptive_epsilon_of([count] * 100, budget=3.0, delta=1e-6), 2)
    0.49
    """
    owner = "adaptive_epsilon_of"
    number_between(0, math.inf, owner=owner, low_open=True, budget=budget)
    number_between(0, 1, owner=owner, high_open=True, delta=delta)
    found = [basic_epsilon_of(charges, delta=delta)]
    if delta > 0 and charges:
        need("dp_accounting")
        found.append(_filtered(charges, budget, delta))
        if len(charges) == 1:
            found.append(epsilon_of(charges[0], delta=delta))
    return min(found)


def own_delta_left(charges: Sequence[Sequence[MechanismEvent]], *, delta: float) -> float:
    """Return the most delta that mechanisms of the next charge may spend."""
    own, left = _own_deltas(charges, delta)
    return max(0.0, left * _OWN_SHARE - own) if charges else delta


def _own_deltas(charges: Sequence[Sequence[MechanismEvent]], delta: float) -> tuple[float, float]:
    """Return the deltas spent by charges after the first, and what the first leaves."""
    spent = [math.fsum(event.spent_delta for event in charge) for charge in charges]
    return math.fsum(spent[1:]), delta - sum(spent[:1])


def _filtered(charges: Sequence[Sequence[MechanismEvent]], budget: float, delta: float) -> float:
    own, left = _own_deltas(charges, delta)
    counted = counted_events(event for charge in charges for event in charge)
    for_orders = left * (1 - _OWN_SHARE)
    if own > left * _OWN_SHARE or for_orders <= 0:
        return math.inf
    laplace, gaussian = noisy_coordinates(counted)
    # At the budget, not at what is found: it has to hold for all ways that charges could go.
    beyond = (1 + math.exp(min(budget, LARGEST_LOSS))) * SAMPLED_BEYOND * gaussian
    if beyond > for_orders * GRID_SHARE:
        return math.inf
    each = for_orders * (1 - GRID_SHARE) / len(_ORDERS)
    found = renyi_epsilon(counted, each, orders=_ORDERS) + (laplace + gaussian) * SAMPLED_RENYI
    return found * ROUNDED_UP if min(found, budget) <= LARGEST_LOSS else math.inf

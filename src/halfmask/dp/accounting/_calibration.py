"""The least noise that fits a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from halfmask._errors import BudgetError
from halfmask._validation import number_between
from halfmask.dp.accounting._composition import affordable

if TYPE_CHECKING:
    from halfmask.dp.accounting._events import MechanismEvent

#: Where the search begins, and within which factor of the least noise it ends.
_FIRST: Final = 1.0
_WITHIN: Final = 1e-3
_DOUBLINGS: Final = 40


def calibrate(
    events_of: Callable[[float], Iterable[MechanismEvent]], *, epsilon: float, delta: float
) -> float:
    """Return the least noise multiplier with which events cost at most a budget.

    Parameters
    ----------
    events_of
        Makes the events from a noise multiplier; epsilon must fall as the multiplier grows.
    epsilon
        The budget, above 0.
    delta
        From 0 to below 1.

    Returns
    -------
    float
        At most 0.1 % above the least one, never below it.

    Raises
    ------
    BudgetError
        If no multiplier below 2**40 fits, such as Gaussian noise with a delta of 0.

    Guarantees
    ----------
    ``epsilon_of(events_of(multiplier), delta=delta) <= epsilon``.

    Examples
    --------
    >>> from halfmask.dp.accounting import GaussianEvent
    >>> one_sum = lambda noise: [GaussianEvent(noise_multiplier=noise, coordinates=1)]
    >>> round(calibrate(one_sum, epsilon=1.0, delta=1e-5), 1)
    3.7
    """
    number_between(0, math.inf, owner="calibrate", low_open=True, epsilon=epsilon)
    number_between(0, 1, owner="calibrate", high_open=True, delta=delta)

    def fits(noise: float) -> bool:
        return affordable(events_of(noise), epsilon=epsilon, delta=delta)

    enough = _FIRST
    doublings = 0
    while not fits(enough):
        enough *= 2
        doublings += 1
        if doublings > _DOUBLINGS:
            raise BudgetError(
                f"No noise keeps these events within epsilon {epsilon:g} at delta {delta:g}.",
                hint="Choose a larger epsilon, or a delta above 0 for Gaussian noise.",
            )
    too_little = enough / 2
    while doublings == 0 and fits(too_little) and too_little > 2.0**-_DOUBLINGS:
        enough, too_little = too_little, too_little / 2
    while enough > too_little * (1 + _WITHIN):
        middle = math.sqrt(enough * too_little)
        enough, too_little = (middle, too_little) if fits(middle) else (enough, middle)
    return enough

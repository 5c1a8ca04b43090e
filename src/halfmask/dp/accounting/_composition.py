"""Composition of events: the least epsilon that holds for all, and the least noise for a budget."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from halfmask._errors import BudgetError
from halfmask._foreign import need
from halfmask._validation import number_between
from halfmask.dp.accounting._events import (
    SAMPLED_BEYOND,
    SAMPLED_DISTANCE,
    SAMPLED_RATIOS,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    MechanismEvent,
    ObjectivePerturbationEvent,
    SampledGaussianEvent,
)
from halfmask.dp.accounting._objective_loss import objective_losses, objective_renyi, usual_loss

if TYPE_CHECKING:
    from dp_accounting import DpEvent
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

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
    epsilon, delta
        The budget: epsilon above 0, delta from 0 to below 1.

    Raises
    ------
    BudgetError
        If no multiplier below 2**40 fits, such as Gaussian noise with a delta of 0.

    Guarantees
    ----------
    ``epsilon_of(events_of(multiplier), delta=delta) <= epsilon``, by a multiplier that is at most
    0.1 % above the least one.

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


#: The result is rounded up by this factor, against errors of floating-point sums.
ROUNDED_UP: Final = 1 + 1e-9
#: Below, the Fourier transforms of loss distributions have no exact digits left.
_LEAST_DELTA: Final = 1e-13
#: Width of a step of the privacy loss, for losses up to 1; no loss above 100 is computed.
_LOSS_STEP: Final = 1e-4
LARGEST_LOSS: Final = 100.0
#: Orders for sampled noise: the series of fractional ones don't always converge.
_WHOLE_ORDERS: Final = (*range(2, 64), 80, 100, 128, 192, 256, 512)
#: Loss distributions save less than this factor over Renyi differential privacy.
_WORSE: Final = 2.0
#: The share of delta for the difference between noise on a grid and continuous noise.
GRID_SHARE: Final = 1e-3


def epsilon_of(events: Iterable[MechanismEvent], *, delta: float) -> float:
    """Return the epsilon that events cost together at a delta, rounded up.

    It is infinite where no finite epsilon holds at this delta.

    Parameters
    ----------
    events
        In any order. What each does may depend on the results of those before it; what it costs
        may not: see `adaptive_epsilon_of`.
    delta
        From 0 to below 1.

    Raises
    ------
    MissingDependencyError
        If dp-accounting isn't installed and more than the sum of epsilons is asked for.

    Guarantees
    ----------
    The mechanisms together are (epsilon, delta)-differentially private, if each did what its event
    states.

    Notes
    -----
    The least of these bounds, by dp-accounting where it isn't a sum: basic composition; Renyi
    differential privacy (Mironov 2017; zero-concentrated by Bun and Steinke 2016 for choices and
    pure mechanisms); privacy loss distributions (Koskela et al. 2020, Doroshenko et al. 2022).
    Gaussian noise alone has a closed form (Balle and Wang 2018). Objective perturbation has a
    distribution of its own.

    Examples
    --------
    >>> from halfmask.dp.accounting import LaplaceEvent
    >>> count = LaplaceEvent(noise_multiplier=10.0, coordinates=1)
    >>> round(epsilon_of([count, count], delta=0.0), 6)
    0.2
    """
    number_between(0, 1, owner="epsilon_of", high_open=True, delta=delta)
    counted = counted_events(events)
    if not counted:
        return 0.0
    paid = sum(n * event.spent_delta for event, n in counted.items())
    basic = sum(n * event.pure_epsilon for event, n in counted.items())
    found = basic if paid <= delta else math.inf
    single = sum(counted.values()) == 1 and math.isfinite(basic)
    if delta > 0 and not single:
        need("dp_accounting")
        if all(isinstance(event, GaussianEvent) for event in counted):
            return min(found, _gaussian(counted, delta)) * ROUNDED_UP
        found = min(found, _renyi(counted, delta), _loss_distribution(counted, delta))
    return found * ROUNDED_UP


def affordable(events: Iterable[MechanismEvent], *, epsilon: float, delta: float) -> bool:
    """Return whether events cost at most a budget, by the quickest bound that decides it."""
    counted = counted_events(events)
    sampled = any(isinstance(event, SampledGaussianEvent) for event in counted)
    if sampled and delta > 0:
        need("dp_accounting")
        quick = _renyi(counted, delta) * ROUNDED_UP
        if quick <= epsilon or quick > epsilon * _WORSE:
            return quick <= epsilon
    return epsilon_of(counted.elements(), delta=delta) <= epsilon


def counted_events(events: Iterable[MechanismEvent]) -> Counter[MechanismEvent]:
    """Return events and how often each happened; samples of all rows are no samples."""
    counted: Counter[MechanismEvent] = Counter()
    for event in events:
        if isinstance(event, SampledGaussianEvent) and event.sampling_probability == 1:
            once = GaussianEvent(
                noise_multiplier=event.noise_multiplier, coordinates=event.coordinates
            )
            counted[once] += event.steps
        else:
            counted[event] += 1
    return counted


def _remaining(counted: Counter[MechanismEvent], delta: float) -> float:
    """Return what is left of delta once the events' own deltas are paid, rounded down.

    An (epsilon, delta) mechanism is a pure one except with probability delta (Kairouz, Oh and
    Viswanath 2015), so that the deltas of events add up.
    """
    paid = sum(n * event.spent_delta for event, n in counted.items())
    return (delta - paid) * (1 - 1e-9)


def noisy_coordinates(counted: Counter[MechanismEvent]) -> tuple[int, int]:
    """Return how many coordinates got Laplace noise, and how many Gaussian noise."""
    found = {True: 0, False: 0}
    for event, n in counted.items():
        found[isinstance(event, LaplaceEvent)] += n * _coordinates(event)
    return found[True], found[False]


def _coordinates(event: MechanismEvent) -> int:
    if isinstance(event, SampledGaussianEvent):
        return event.coordinates * event.steps
    return getattr(event, "coordinates", 0)


def _with_grid(counted: Counter[MechanismEvent], delta: float, epsilon: float) -> float:
    """Return the epsilon of noise on a grid, given that of continuous noise; delta is what is left.

    A mechanism at total variation t of an (epsilon, d) one is (epsilon, d + (1 + e^epsilon) t) one.
    Where that is too much, as for large epsilons, the ratio of probabilities counts instead.
    """
    if epsilon > LARGEST_LOSS:
        return math.inf
    room = delta * GRID_SHARE / (1 + math.exp(epsilon))
    laplace, gaussian = noisy_coordinates(counted)
    if SAMPLED_DISTANCE * (laplace + gaussian) <= room:
        return epsilon
    added = 2 * (laplace * SAMPLED_RATIOS["laplace"] + gaussian * SAMPLED_RATIOS["gaussian"])
    # The ratio multiplies delta, too, by which half of the share is spent.
    fits = added <= GRID_SHARE and SAMPLED_BEYOND * gaussian <= room / 8
    return epsilon + added if fits else math.inf


def _gaussian(counted: Counter[MechanismEvent], delta: float) -> float:
    """Return the epsilon of vectors with Gaussian noise: together they are one vector."""
    from dp_accounting import get_epsilon_gaussian  # noqa: PLC0415 # 0.6 s

    squares = (
        n / event.noise_multiplier**2
        for event, n in counted.items()
        if isinstance(event, GaussianEvent)
    )
    left = _remaining(counted, delta)
    # Its search ends within 1e-12.
    exact = get_epsilon_gaussian(1 / math.sqrt(sum(squares)), left * (1 - GRID_SHARE)) + 1e-11
    return _with_grid(counted, left, float(exact))


def _renyi(counted: Counter[MechanismEvent], delta: float) -> float:
    left = _remaining(counted, delta)
    if left <= 0 or any(isinstance(event, ObjectivePerturbationEvent) for event in counted):
        return math.inf
    sampled = any(isinstance(event, SampledGaussianEvent) for event in counted)
    orders = _WHOLE_ORDERS if sampled else None
    found = renyi_epsilon(counted, left * (1 - GRID_SHARE), orders=orders)
    return _with_grid(counted, left, found)


def renyi_epsilon(
    counted: Counter[MechanismEvent], delta: float, *, orders: Sequence[int] | None
) -> float:
    """Return the least epsilon of Renyi differential privacy at some orders."""
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415 # 0.6 s

    if any(isinstance(event, ObjectivePerturbationEvent) for event in counted):
        # dp-accounting doesn't know it: order by order, as an event that costs what was computed.
        return min(
            (_renyi_epsilon_at(counted, delta, order) for order in orders or _WHOLE_ORDERS),
            default=math.inf,
        )
    accountant = RdpAccountant(orders=orders)
    for event, n in counted.items():
        accountant.compose(_renyi_event(event), n)
    return float(accountant.get_epsilon(delta))


def _renyi_epsilon_at(counted: Counter[MechanismEvent], delta: float, order: int) -> float:
    import dp_accounting as da  # noqa: PLC0415 # 0.6 s
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415 # 0.6 s

    accountant = RdpAccountant(orders=[order])
    for event, n in counted.items():
        if isinstance(event, ObjectivePerturbationEvent):
            accountant.compose(da.ZCDpEvent(rho=0.0, xi=objective_renyi(event, order)), n)
        else:
            accountant.compose(_renyi_event(event), n)
    return float(accountant.get_epsilon(delta))


def _renyi_event(event: MechanismEvent) -> DpEvent:
    """Return the event as dp-accounting knows it; choices and pure ones as concentrated."""
    import dp_accounting as da  # noqa: PLC0415 # 0.6 s

    match event:
        case LaplaceEvent():
            return da.LaplaceDpEvent(event.noise_multiplier)
        case GaussianEvent():
            return da.GaussianDpEvent(event.noise_multiplier)
        case SampledGaussianEvent():
            return _sampled(event)
        case ExponentialEvent():  # bounded range: Cesar and Rogers 2021, lemma 3.4
            return da.ZCDpEvent(event.epsilon**2 / 8)
        case _:  # Bun and Steinke 2016, proposition 3.3
            return da.ZCDpEvent(event.pure_epsilon**2 / 2)


def _sampled(event: SampledGaussianEvent) -> DpEvent:
    import dp_accounting as da  # noqa: PLC0415 # 0.6 s

    noise = da.GaussianDpEvent(event.noise_multiplier)
    once = da.PoissonSampledDpEvent(event.sampling_probability, noise)
    return da.SelfComposedDpEvent(once, event.steps)


def _loss_distribution(counted: Counter[MechanismEvent], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # 0.6 s

    left = _remaining(counted, delta)
    largest = sum(n * _known_epsilon(event) for event, n in counted.items())
    if left < _LEAST_DELTA or largest > LARGEST_LOSS:
        return math.inf
    step = _LOSS_STEP * max(1.0, largest)
    composed = pld.identity(value_discretization_interval=step)
    for event, n in counted.items():
        composed = composed.compose(_losses(event, n, step))
    found = float(composed.get_epsilon_for_delta(left * (1 - GRID_SHARE)))
    return _with_grid(counted, left, found)


def _known_epsilon(event: MechanismEvent) -> float:
    """Return a pure epsilon, or for Gaussian noise a loss that is rarely exceeded."""
    if isinstance(event, GaussianEvent):
        return 1 / event.noise_multiplier**2
    if isinstance(event, SampledGaussianEvent):
        return event.steps * event.sampling_probability**2 / event.noise_multiplier**2
    if isinstance(event, ObjectivePerturbationEvent):
        return usual_loss(event)
    return event.pure_epsilon


def _losses(event: MechanismEvent, count: int, step: float) -> PrivacyLossDistribution:
    """Return the distribution of the privacy loss of an event that happened ``count`` times."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # 0.6 s
    from dp_accounting.pld.common import DifferentialPrivacyParameters  # noqa: PLC0415 # 0.6 s

    match event:
        case GaussianEvent():
            return pld.from_gaussian_mechanism(
                event.noise_multiplier / math.sqrt(count), value_discretization_interval=step
            )
        case SampledGaussianEvent():
            return pld.from_gaussian_mechanism(
                event.noise_multiplier,
                value_discretization_interval=step,
                sampling_prob=event.sampling_probability,
            ).self_compose(count * event.steps)
        case ObjectivePerturbationEvent():
            once = objective_losses(event, step)
        case LaplaceEvent():
            once = pld.from_laplace_mechanism(
                event.noise_multiplier, value_discretization_interval=step
            )
        case _:
            once = pld.from_privacy_parameters(
                DifferentialPrivacyParameters(event.pure_epsilon, 0.0),
                value_discretization_interval=step,
            )
    return once.self_compose(count)

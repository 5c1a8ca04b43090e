"""Epsilon of a training or of a whole ledger, composed again from the events that are stated."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from halfmask.verifier.checks import ClaimCount, VerifiedKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dp_accounting import DpEvent
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from halfmask.claims import Claim


#: The mechanism of such events.
OBJECTIVE: Final = "objective-perturbation"
#: What may lie between our rounding and that of the claim.
_SLACK: Final = 1 + 1e-6
#: Steps of the privacy loss; coarser where the whole loss is above 1.
_STEP: Final = 1e-4
#: Noise on a grid of 2**40 steps differs from continuous noise by less, an entry; where that is too
#: much, as for a large epsilon, the log of the ratio counts, and how often it isn't met; and what
#: such noise adds to a Renyi cost.
_GRID: Final = 2.0**-83
_LAPLACE_RATIO: Final = 2.0**-41
_RATIO: Final = 2.0**-74
_BEYOND: Final = 2.0**-700
_RENYI: Final = 2.0**-72
_NAMES: Final = {
    "laplace": {"noise_multiplier", "coordinates"},
    "gaussian": {"noise_multiplier", "coordinates"},
    "poisson-sampled-gaussian": {
        *("noise_multiplier", "sampling_probability", "steps", "coordinates"),
    },
    "exponential": {"epsilon"},
    OBJECTIVE: {"noise_multiplier", "curvature", "classes", "coordinates"},
    "epsilon-delta": {"epsilon", "delta"},
}


def check_privacy(claim: Claim, files: tuple[Path, ...]) -> ClaimCount:  # noqa: ARG001 # no file shows the noise
    """Compose the events of a claim again, and compare with its epsilon and delta."""
    events = claim.evidence["events"]
    epsilon, delta = float(claim.parameters["epsilon"]), float(claim.parameters["delta"])
    stated = [_stated(each) for each in events] if isinstance(events, list) else []
    if not stated or not 0 < epsilon < math.inf or not 0 <= delta < 1:
        return ClaimCount(holds=False, found={})
    found = _epsilon(Counter(stated), delta)
    if not math.isfinite(found):
        return ClaimCount(holds=False, found={})
    return ClaimCount(holds=found <= epsilon * _SLACK, found={"epsilon": found, "delta": delta})


def check_ledger(claim: Claim, files: tuple[Path, ...]) -> ClaimCount:
    """Compose the charges of a ledger again, each of which answers before may have chosen.

    Notes
    -----
    The sum of epsilons, or Renyi differential privacy at orders that were fixed before, each at its
    part of half of delta (union bound over Feldman and Zrnic 2021, theorem 4.3). The other half is
    for deltas that charges after the first spend.
    """
    epsilon, delta = float(claim.parameters["epsilon"]), float(claim.parameters["delta"])
    (path,) = files
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    charges = [[_stated(each) for each in line["events"]] for line in lines]
    numbers = [line["number"] for line in lines]
    whole = numbers == [*range(1, len(lines) + 1)] and len(lines) == claim.evidence["charges"]
    if not whole or not all(charges) or not 0 < epsilon < math.inf or not 0 <= delta < 1:
        return ClaimCount(holds=False, found={"charges": len(lines)})
    found = _adaptive(charges, epsilon, delta)
    if not math.isfinite(found):
        return ClaimCount(holds=False, found={"charges": len(lines)})
    return ClaimCount(
        holds=found <= epsilon * _SLACK, found={"epsilon": found, "charges": len(lines)}
    )


@dataclass(frozen=True)
class _Stated:
    """An event as a claim states it; what its mechanism doesn't have is as if it weren't there."""

    mechanism: str
    noise_multiplier: float = math.inf
    sampling_probability: float = 1.0
    steps: float = 1.0
    coordinates: float = 0.0
    curvature: float = 0.0
    classes: float = 2.0
    epsilon: float = math.inf
    delta: float = 0.0

    @property
    def pure(self) -> float:
        """Epsilon at delta 0 (for a stated delta, once it is paid)."""
        return 1 / self.noise_multiplier if self.mechanism == "laplace" else self.epsilon

    @property
    def size(self) -> float:
        """How large the privacy loss is, about."""
        if math.isfinite(self.pure):
            return self.pure
        if self.mechanism == OBJECTIVE:
            return curvature_loss(self.curvature, self.classes) + self.noise_multiplier**-2
        return self.steps * (self.sampling_probability / self.noise_multiplier) ** 2


def _stated(event: object) -> _Stated:
    """Return an event if it states all of its mechanism, with numbers that can be.

    A check that raises doesn't hold.
    """
    if not isinstance(event, Mapping):
        raise TypeError("An event is an object.")
    numbers = {str(name): value for name, value in event.items() if name != "mechanism"}
    mechanism = str(event["mechanism"])
    if set(numbers) != _NAMES[mechanism]:
        raise ValueError("An event has other parameters than its mechanism.")
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError("A parameter of an event is a number.")
        least = value >= 0 if name == "delta" else value > 0
        most = value <= 1 if name in {"delta", "sampling_probability"} else value < math.inf
        whole = name not in {"steps", "coordinates", "classes"} or float(value).is_integer()
        least = least and (name != "classes" or value >= 2)
        if not (least and most and whole):
            raise ValueError("A parameter of an event is outside of its range.")
    return _Stated(mechanism, **{name: float(value) for name, value in numbers.items()})


def _epsilon(events: Counter[_Stated], delta: float) -> float:
    """Return the least epsilon of the bounds that hold, at a delta."""
    pure = math.fsum(n * each.pure for each, n in events.items())
    left = delta - math.fsum(n * each.delta for each, n in events.items())
    bounds = [pure] if left >= 0 else []
    if left > 0:
        # A thousandth of delta is for noise on a grid.
        analyses = (_renyi(events, left * 0.999), _losses(events, left * 0.999))
        bounds += [_on_a_grid(events, bound, left * 0.001) for bound in analyses]
    return min(bounds, default=math.inf)


def _on_a_grid(events: Counter[_Stated], bound: float, room: float) -> float:
    """Return an epsilon of noise on a grid, given that of continuous noise, and room in delta."""
    if bound > 100:
        return math.inf
    laplace, all_of_them = _entries(events, "laplace"), _entries(events, None)
    if (1 + math.exp(bound)) * all_of_them * _GRID <= room:
        return bound
    others = all_of_them - laplace
    ratio = laplace * _LAPLACE_RATIO + others * _RATIO
    fits = ratio <= 0.0005 and (1 + math.exp(bound)) * others * _BEYOND <= room / 8
    return bound + 2 * ratio if fits else math.inf


def _entries(events: Counter[_Stated], mechanism: str | None) -> float:
    """Return how many numbers got noise, of one mechanism or of all."""
    return math.fsum(
        n * each.steps * each.coordinates
        for each, n in events.items()
        if mechanism in {None, each.mechanism}
    )


def _adaptive(charges: list[list[_Stated]], epsilon: float, delta: float) -> float:
    """Return what charges cost that earlier answers may have chosen, at a budget's epsilon."""
    events = Counter(each for charge in charges for each in charge)
    spent = [math.fsum(each.delta for each in charge) for charge in charges]
    left = delta - sum(spent[:1])
    bounds = [_epsilon(events, delta)] if len(charges) == 1 else []
    if left < 0 or math.fsum(spent[1:]) > left / 2:
        return min(bounds, default=math.inf)
    bounds.append(math.fsum(n * each.pure for each, n in events.items()))
    entries = _entries(events, None)
    if left > 0 and (1 + math.exp(min(epsilon, 100))) * entries * _BEYOND <= left / 2000:
        orders = [2**power + 1 for power in range(10)]
        found = _renyi(events, left * 0.999 / (2 * len(orders)), orders) + entries * _RENYI
        bounds.append(found if found <= 100 else math.inf)
    return min(bounds)


def _renyi(events: Counter[_Stated], delta: float, orders: list[int] | None = None) -> float:
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415 # for claims of privacy alone

    if any(each.mechanism == OBJECTIVE for each in events):
        # At the orders of a ledger; a single training is counted by its loss distribution.
        return math.inf if orders is None else _renyi_with_objective(events, delta, orders)
    # For sampled noise whole orders: the series of others don't always converge.
    sampled = any(each.sampling_probability < 1 for each in events)
    if sampled and orders is None:
        orders = [*range(2, 64), 80, 100, 128, 192, 256, 512]
    accountant = RdpAccountant(orders=orders)
    for event, n in events.items():
        accountant.compose(_of_dp_accounting(event), n)
    return float(accountant.get_epsilon(delta))


def _renyi_with_objective(events: Counter[_Stated], delta: float, orders: list[int]) -> float:
    """Return the least epsilon, order by order, as dp-accounting doesn't know the mechanism."""
    import dp_accounting as da  # noqa: PLC0415 # for claims of privacy alone
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415 # the same

    accountants = [RdpAccountant(orders=[order]) for order in orders]
    for event, n in events.items():
        if event.mechanism == OBJECTIVE:
            costs = objective_renyi(
                event.noise_multiplier, event.curvature, int(event.classes), orders
            )
            stated = [da.ZCDpEvent(rho=0.0, xi=cost) for cost in costs]
        else:
            stated = [_of_dp_accounting(event)] * len(orders)
        for accountant, each in zip(accountants, stated, strict=True):
            accountant.compose(each, n)
    return min(float(each.get_epsilon(delta)) for each in accountants)


def _of_dp_accounting(event: _Stated) -> DpEvent:
    import dp_accounting as da  # noqa: PLC0415 # for claims of privacy alone

    if event.mechanism == "laplace":
        return da.LaplaceDpEvent(event.noise_multiplier)
    if math.isfinite(event.noise_multiplier):
        noise = da.GaussianDpEvent(event.noise_multiplier)
        sampled = da.PoissonSampledDpEvent(event.sampling_probability, noise)
        return da.SelfComposedDpEvent(sampled, int(event.steps))
    # Choices: Cesar and Rogers 2021; pure mechanisms: Bun and Steinke 2016.
    return da.ZCDpEvent(event.epsilon**2 / (8 if event.mechanism == "exponential" else 2))


def _losses(events: Counter[_Stated], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # the same

    size = math.fsum(n * each.size for each, n in events.items())
    if delta < 1e-13 or size > 100:
        return math.inf
    step = _STEP * max(1.0, size)
    composed = pld.identity(value_discretization_interval=step)
    for event, n in events.items():
        composed = composed.compose(_losses_of(event, n, step))
    return float(composed.get_epsilon_for_delta(delta))


def _losses_of(event: _Stated, count: int, step: float) -> PrivacyLossDistribution:
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # the same
    from dp_accounting.pld.common import DifferentialPrivacyParameters  # noqa: PLC0415 # the same

    if event.mechanism == OBJECTIVE:
        return objective_losses(
            event.noise_multiplier, event.curvature, int(event.classes), step
        ).self_compose(count)
    if event.mechanism == "laplace":
        return pld.from_laplace_mechanism(
            event.noise_multiplier, value_discretization_interval=step
        ).self_compose(count)
    if math.isfinite(event.epsilon):
        return pld.from_privacy_parameters(
            DifferentialPrivacyParameters(event.epsilon, 0.0), value_discretization_interval=step
        ).self_compose(count)
    times = count * int(event.steps)
    if event.sampling_probability == 1:  # as one vector of them all
        return pld.from_gaussian_mechanism(
            event.noise_multiplier / math.sqrt(times), value_discretization_interval=step
        )
    return pld.from_gaussian_mechanism(
        event.noise_multiplier,
        value_discretization_interval=step,
        sampling_prob=event.sampling_probability,
    ).self_compose(times)


KIND: Final = VerifiedKind(checks={"differential-privacy": ("accounted", check_privacy)})
LEDGER_KIND: Final = VerifiedKind(checks={"differential-privacy": ("accounted", check_ledger)})


#: Losses that are rarer are counted as infinite.
_RARE: Final = 1e-18
#: Parts of the losses that depend on the curvature; each counts as its largest.
_PARTS: Final = 16_000


def curvature_loss(curvature: float, classes: float) -> float:
    """Return the most that a row's curvature changes the log of a determinant."""
    if classes == 2:
        return math.log(1 + curvature / 4)
    return (classes - 1) * math.log(1 + curvature / classes)


def objective_losses(
    noise_multiplier: float, curvature: float, classes: int, step: float
) -> PrivacyLossDistribution:
    """Return the distribution of the loss, each rounded up to a multiple of the step."""
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415 # for claims of privacy alone
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 # the same

    masses: dict[int, float] = {}
    before, place = 1.0, 0
    while before > _RARE:
        above = math.exp(_log_above(place * step, 1 / noise_multiplier, curvature, classes))
        masses[place] = before - above
        before, place = above, place + 1
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf(masses, step, infinity_mass=before, pessimistic_estimate=True)
    )


def objective_renyi(
    noise_multiplier: float, curvature: float, classes: int, orders: Sequence[int]
) -> list[float]:
    """Return Renyi differential privacy at each order, rounded up."""
    from scipy.special import log_ndtr, logsumexp  # noqa: PLC0415 # for claims of privacy alone

    spread, bend = 1 / noise_multiplier, curvature - 0.5 / noise_multiplier**2

    def gaussian(a: int, least: float) -> float:
        """Return the log of the part of E[exp(a G)] where the Gaussian loss is above a number."""
        at = (least - spread**2 / 2) / spread - a * spread
        return a * (a + 1) * spread**2 / 2 + float(log_ndtr(-at))

    small: tuple[list[float], list[float]] = ([], [])
    if classes == 2 and bend > 0:
        ends = [bend * (part / _PARTS) ** 2 for part in range(_PARTS + 1)]
        above = [0.0, *(_log_above(end, spread, curvature, 2) for end in ends)]
        weights = [
            before + math.log(-math.expm1(after - before)) if after < before else -math.inf
            for before, after in pairwise(above)
        ]
        small = (ends, weights)
    found = []
    for a in (order - 1 for order in orders):
        scores = classes - 1
        rest = float(log_ndtr(-spread / 2))  # where the Gaussian loss is below 0
        one = float(logsumexp([rest, gaussian(a, 0.0)]))
        many = one + math.log(scores - (scores - 1) * math.exp(-one))
        bound = curvature_loss(curvature, classes) + many / a
        if small[0]:
            terms = [a * end + weight for end, weight in zip(*small, strict=True)]
            bound = min(bound, float(logsumexp([*terms, gaussian(a, bend)])) / a)
        elif classes == 2:
            bound = min(bound, one / a)
        found.append(bound)
    return found


def _log_above(loss: float, spread: float, curvature: float, classes: int) -> float:
    """Return the log of the most that the probability of a larger loss can be.

    The noise along the row is a standard normal variable z. With the residual t of the row, the
    loss of a model with one score is at most ``t (1 - t) curvature + t^2 spread^2 / 2 + t spread
    z`` for some t from 0 to 1; the z at which it reaches ``loss`` is found for the worst t.
    """
    shift = curvature_loss(curvature, classes)
    bounds = [0.0]
    if loss >= shift:
        bounds.append(math.log(classes - 1) + _log_beyond((loss - shift) / spread - spread / 2))
    if classes == 2:
        bend = curvature - spread**2 / 2
        worst = min(1.0, math.sqrt(loss / bend)) if bend > 0 else 1.0
        reached = loss / worst + worst * bend if worst > 0 else 0.0
        bounds.append(_log_beyond((reached - curvature) / spread))
    return min(bounds)


def _log_beyond(z: float) -> float:
    from scipy.special import log_ndtr  # noqa: PLC0415 # for claims of privacy alone

    return float(log_ndtr(-z))

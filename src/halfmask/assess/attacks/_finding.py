"""Finding: an attack's outcome beside the same attack on unprotected data, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from halfmask.assess._risk import Risk

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome

__all__ = ["Finding", "Verdict"]

Verdict = Literal["resisted", "broken", "INVALID"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one attack reached, and whether that may be read as resistance.

    Parameters
    ----------
    outcome
        What the attack measured on what is protected.
    power
        What the same attack measured on what isn't protected; ``None`` where it wasn't run.
    tolerance
        The excess over the reference, in [0, 1], up to which the attack counts as resisted.
    least_power
        The excess that the attack must reach without protection to be worth anything.
    error
        The probability with which each bound may be wrong: the battery's, shared among its attacks.
    failure
        Why there is no outcome to trust, where the run failed; such a finding is INVALID.
    power_failure
        Why there is no power, where the run on what isn't protected failed.

    Guarantees
    ----------
    ``resisted`` only if the upper bound of the excess is at most the tolerance *and* the same
    attack, without protection, has a lower bound of excess of at least `least_power` *and* there
    were trials enough. An attack that can't break what is unprotected proves nothing: INVALID.
    A success beyond doubt is ``broken``, without power and with few trials too; but with too few
    nothing is beyond doubt over a baseline of one model (``of_one_model``). What was counted and
    not guessed (``census``) needs no power. Tolerance and least power are scaled by the measure.
    """

    outcome: Outcome
    power: Outcome | None
    tolerance: float
    least_power: float
    error: float
    failure: str = ""
    power_failure: str = ""

    @property
    def allowed(self) -> float:
        """The excess up to which the attack counts as resisted by this measure."""
        return self.tolerance * self.outcome.scale

    @property
    def excess_high(self) -> float:
        """The upper bound of the excess of the attack over its reference."""
        return self.outcome.excess.bounds(self.error)[1]

    @property
    def power_low(self) -> float | None:
        """The lower bound of the excess that the attack reaches without protection."""
        return None if self.power is None else self.power.excess.bounds(self.error)[0]

    @property
    def verdict(self) -> Verdict:
        """``resisted``, ``broken``, or ``INVALID`` where nothing may be concluded."""
        if self.why_invalid:
            return "INVALID"
        return "resisted" if self.excess_high <= self.allowed else "broken"

    @property
    def why_invalid(self) -> str:
        """Why nothing may be concluded; empty if something may."""
        outcome, needed = self.outcome, max(1, self.outcome.needed)
        if self.failure:
            return self.failure
        few = outcome.trials < needed
        bounded = outcome.trials > 0 and not (few and outcome.of_one_model)
        if bounded and outcome.excess.bounds(self.error)[0] > self.allowed:
            return ""  # it succeeds beyond doubt: no power guard is needed to say so
        if few:
            return f"needs at least {needed:,} {outcome.needed_of}, has {outcome.trials:,}"
        return "" if outcome.census else self._why_powerless

    @property
    def _why_powerless(self) -> str:
        power, least = self.power_low, self.least_power * self.outcome.scale
        if self.power_failure:
            return f"{self.power_failure} (on unprotected data)"
        if self.power is None or power is None:
            return "was not run on unprotected data"
        if self.power.trials < 1:
            return "had nothing to try on unprotected data"
        if power < least:
            return (
                "does not succeed without protection either "
                f"(lower bound of its excess {power:.3f}, needed {least:.2g})"
            )
        return ""

    @property
    def risk(self) -> Risk:
        """The success as a risk, with control and baseline."""
        success, baseline = self.outcome.success, self.outcome.baseline
        low, high = (0.0, 1.0) if self.failure else success.bounds(self.error)
        value = min(1.0, max(0.0, success.value))
        return Risk(
            value=value,
            low=min(value, max(0.0, low)),
            high=max(value, min(1.0, high)),
            baseline=None if baseline is None else _share(baseline.value),
            control=_share(self.outcome.control.value),
        )

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        outcome = self.outcome
        said = (
            f"{outcome.attack}, {outcome.measure}, {outcome.group}: "
            f"{outcome.success.value:.3f} against {outcome.reference.value:.3f} without knowledge"
        )
        if self.verdict == "INVALID":
            return f"{said}; nothing follows, it {self.why_invalid}."
        unprotected = "" if self.power is None else f" ({self.power.success.value:.3f} unprotected)"
        return f"{said}{unprotected}; {self.verdict} at a tolerance of {self.allowed:.2g}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers under their names, for JSON."""
        outcome, power = self.outcome, self.power
        return {
            "attack": outcome.attack,
            "measure": outcome.measure,
            "group": outcome.group,
            **self.risk.to_dict(),
            "excess": outcome.excess.value,
            "excess_high": self.excess_high,
            "unprotected": None if power is None else power.success.value,
            "power_low": self.power_low,
            "tolerance": self.allowed,
            "trials": outcome.trials,
            "verdict": self.verdict,
            "why_invalid": self.why_invalid,
            "details": {name: _number(value) for name, value in outcome.details.items()},
        }


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _number(value: float) -> float | None:
    """Return what JSON can hold: it knows neither NaN nor infinity, nor numpy's integers."""
    return float(value) if math.isfinite(value) else None

"""Finding: an attack's outcome, its positive control, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from halfmask.assess._risk import Risk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.assess.attacks._attack import Outcome

Verdict = Literal["resisted", "nothing to resist", "broken", "not shown", "INVALID"]
_MEANINGS: dict[Verdict, str] = {
    "resisted": "the attack succeeds without protection, and gains no more than the tolerance here",
    "nothing to resist": "the attack gains little, and as little from the unprotected model",
    "broken": "the attack gains more than the tolerance",
    "not shown": "there are too few people for a verdict",
    "INVALID": "nothing follows: the attack failed, or isn't shown to work without protection",
}
#: All verdicts, in the order in which they are counted.
VERDICTS: tuple[Verdict, ...] = tuple(_MEANINGS)

#: Lower bounds have this part of the error: any of twenty findings may look broken by chance, while
#: a report is resisted only if all of them are.
SURER = 20
#: More trials than this aren't worth asking for.
MAX_TRIALS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The success of one attack by one measure, and its verdict.

    Parameters
    ----------
    outcome
        The outcome of the attack on the protected target.
    positive_control
        The outcome of the same attack on the unprotected target; ``None`` if it wasn't run.
    tolerance
        The excess over the reference, in [0, 1], up to which the attack counts as resisted.
    min_control_effect
        The excess that the attack must reach without protection (positive-control effect).
    error
        The probability with which the upper bound may be wrong; the lower bound has a twentieth.
    failure
        Why the run failed, if it did; such a finding is INVALID.
    control_failure
        Why the run on the unprotected target failed, if it did.
    raw_may_resist
        Whether the unprotected target is another one that may leak little by itself: a model.

    Guarantees
    ----------
    ``broken`` only if the lower bound of the excess is above the tolerance. That needs no positive
    control, and holds with few trials, except over a baseline of one model (``of_one_model``).
    ``resisted`` only if the upper bound is at most the tolerance, the same attack has a lower bound
    of at least `min_control_effect` without protection, and there were enough trials. ``not
    shown``: there are too few trials for either. ``INVALID``: the attack failed, or doesn't succeed
    without protection. ``nothing to resist`` in its place: enough trials, upper bounds of at most
    the tolerance here and below `min_control_effect` on a raw model. Counts of everyone
    (``census``) need no positive control. `tolerance` and `min_control_effect` are scaled by the
    measure. No verdict depends on other findings.
    """

    outcome: Outcome
    positive_control: Outcome | None
    tolerance: float
    min_control_effect: float
    error: float
    failure: str = ""
    control_failure: str = ""
    raw_may_resist: bool = False

    @property
    def allowed(self) -> float:
        """The excess up to which the attack counts as resisted by this measure."""
        return self.tolerance * self.outcome.scale

    @property
    def excess_low(self) -> float:
        """The lower bound of the excess of the attack over its reference."""
        return self.outcome.excess.bounds(self.error / SURER)[0]

    @property
    def excess_high(self) -> float:
        """The upper bound of the excess of the attack over its reference."""
        return self.outcome.excess.bounds(self.error)[1]

    @property
    def control_effect_low(self) -> float | None:
        """The lower bound of the excess that the attack reaches without protection.

        The claim of the release is subtracted there, too: an attack that can't do more than that
        without protection can't show that the claim holds.
        """
        control = self._positive_control
        return None if control is None else control.excess.bounds(self.error)[0]

    @property
    def _positive_control(self) -> Outcome | None:
        if self.positive_control is None or self.outcome.claimed is None:
            return self.positive_control
        return replace(self.positive_control, claimed=self.outcome.claimed)

    @property
    def verdict(self) -> Verdict:
        """One of `VERDICTS`; ``not shown``: too few trials."""
        if self.why_invalid:
            return "INVALID"
        if self.why_nothing_to_resist:
            return "nothing to resist"
        if self.why_not_shown:
            return "not shown"
        return "broken" if self._is_beyond_doubt else "resisted"

    @property
    def why_invalid(self) -> str:
        """Why the attack proves nothing; empty if it may."""
        if self.failure:
            return self.failure
        if self._is_beyond_doubt or self.has_few or self.outcome.census:
            return ""  # a success beyond doubt needs no positive control
        return "" if self.why_nothing_to_resist else self._why_control_fails

    @property
    def why_nothing_to_resist(self) -> str:
        """How little the attack gains without protection; empty if that isn't shown."""
        control = self.positive_control
        if not self.raw_may_resist or control is None or self.failure or self.control_failure:
            return ""
        if self.outcome.census:
            return ""  # counts of everyone need no positive control
        high = control.excess.bounds(self.error)[1]
        measured = not self.has_few and control.trials >= max(1, control.needed)
        if not measured or self.excess_high > self.allowed or high >= self._min_effect:
            return ""
        return (
            f"gains less than {self._min_effect:.2g} without protection, too "
            f"(upper bound of its excess {high:.3f})"
        )

    @property
    def _why_control_fails(self) -> str:
        control, low, least = self._positive_control, self.control_effect_low, self._min_effect
        if self.control_failure:
            return f"{self.control_failure} (on unprotected data)"
        if control is None or low is None:
            return "was not run on unprotected data"
        if control.trials < 1:
            return "had nothing to try on unprotected data"
        if low < least and not control.excess.value > least:
            return (
                "does not succeed without protection either "
                f"(lower bound of its excess {low:.3f}, needed {least:.2g})"
            )
        return ""

    @property
    def why_not_shown(self) -> str:
        """Which trials are too few to separate broken from resisted; empty if none are."""
        outcome, needed = self.outcome, self.trials_needed
        if self.why_invalid or self._is_settled or self.why_nothing_to_resist:
            return ""
        of = outcome.needed_of
        if self.has_few:
            return f"needs at least {max(1, outcome.needed):,} {of}, has {outcome.trials:,}"
        if not self._control_succeeds:
            about = "more than ten million" if needed is None else f"about {needed:,}"
            return (
                "has too few to show that it succeeds without protection "
                f"(lower bound of its excess {self.control_effect_low:.3f}, "
                f"needed {self._min_effect:.2g}): "
                f"it takes {about} {of}"
            )
        if needed is None:
            return f"is too near its tolerance: no number of {of} would settle it"
        return f"has {outcome.trials:,} {of}, and needs about {needed:,} to settle it"

    @property
    def trials_needed(self) -> int | None:
        """About how many trials would settle a finding that is not shown.

        An interval is taken to shrink with the square root of the trials. 0: it is settled, or
        INVALID; ``None``: more than ten million.
        """
        if self.why_invalid or self._is_settled or self.why_nothing_to_resist:
            return 0
        outcome, control = self.outcome, self._positive_control
        value, least = outcome.excess.value, max(1, outcome.needed)
        if self.has_few and not outcome.trials:
            return least
        counts = [float(least)]
        if self.excess_high > self.allowed:
            wide = self.excess_high - value if value <= self.allowed else value - self.excess_low
            counts.append(_shrunk(outcome.trials, wide, abs(value - self.allowed)))
        if control is not None and control.trials and not self._control_succeeds:
            reached = control.excess.value
            wide = reached - control.excess.bounds(self.error)[0]
            counts.append(_shrunk(control.trials, wide, reached - self._min_effect))
        most = max(counts)
        return None if most > MAX_TRIALS else int(_two_digits(most))

    @property
    def has_few(self) -> bool:
        """Whether there are fewer trials than the measure needs."""
        return self.outcome.trials < max(1, self.outcome.needed)

    @property
    def _min_effect(self) -> float:
        return self.min_control_effect * self.outcome.scale

    @property
    def _is_beyond_doubt(self) -> bool:
        if self.failure or not self.outcome.trials:
            return False
        return not (self.has_few and self.outcome.of_one_model) and self.excess_low > self.allowed

    @property
    def _control_succeeds(self) -> bool:
        return self.outcome.census or (
            self.control_effect_low is not None and self.control_effect_low >= self._min_effect
        )

    @property
    def _is_settled(self) -> bool:
        """Whether it is broken beyond doubt, or resisted with enough trials and a control."""
        if self._is_beyond_doubt:
            return True
        return not self.has_few and self._control_succeeds and self.excess_high <= self.allowed

    @property
    def risk(self) -> Risk:
        """The success as a risk, with control and baseline."""
        success, baseline = self.outcome.success, self.outcome.baseline
        low, high = 0.0, 1.0
        if not self.failure:
            low, high = success.bounds(self.error / SURER)[0], success.bounds(self.error)[1]
        value = as_share(success.value)
        return Risk(
            value=value,
            low=min(value, max(0.0, low)),
            high=max(value, min(1.0, high)),
            baseline=None if baseline is None else as_share(baseline.value),
            control=as_share(self.outcome.control.value),
        )

    @property
    def name(self) -> str:
        """The attack, its measure and the group."""
        outcome = self.outcome
        return f"{outcome.attack}, {outcome.measure}, {outcome.group}"

    @property
    def why(self) -> str:
        """Why it is INVALID, not shown or nothing to resist; empty if it is none of them."""
        return self.why_invalid or self.why_not_shown or self.why_nothing_to_resist

    @property
    def sentence(self) -> str:
        """What was found, in one sentence, with the interval of the excess."""
        outcome, verdict = self.outcome, self.verdict
        if self.failure:
            return f"{self.name}: INVALID, it {self.failure}."
        sentence = (
            f"{self.name}: {outcome.success.value:.3f} against {outcome.reference.value:.3f} "
            f"{'claimed' if outcome.is_claimed else 'without knowledge'}"
        )
        if self.positive_control is not None:
            sentence += f" ({self.positive_control.success.value:.3f} unprotected)"
        if outcome.trials:
            sentence += (
                f", an excess of {outcome.excess.value:.3f} "
                f"[{self.excess_low:.3f}, {self.excess_high:.3f}]"
            )
        if verdict == "INVALID":
            return f"{sentence}; INVALID, nothing follows: it {self.why_invalid}."
        why = f": it {self.why}" if self.why else ""
        return f"{sentence}; {verdict} at a tolerance of {self.allowed:.2g}{why}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers under their names, for JSON."""
        outcome, control = self.outcome, self.positive_control
        return {
            "attack": outcome.attack,
            "measure": outcome.measure,
            "group": outcome.group,
            **self.risk.to_dict(),
            "claimed": outcome.claimed,
            "excess": outcome.excess.value,
            "excess_low": self.excess_low,
            "excess_high": self.excess_high,
            "unprotected": None if control is None else control.success.value,
            "power_low": self.control_effect_low,  # reports of 0.1 have this key
            "tolerance": self.allowed,
            "trials": outcome.trials,
            "trials_needed": self.trials_needed,
            "verdict": self.verdict,
            "why_invalid": self.why_invalid,
            "why_not_shown": self.why_not_shown,
            "why_nothing_to_resist": self.why_nothing_to_resist,
            "details": {name: _number(value) for name, value in outcome.details.items()},
        }


def explain_verdicts(findings: Iterable[Finding]) -> list[str]:
    """Return what each verdict of some findings means, a sentence each.

    Parameters
    ----------
    findings
        The findings.
    """
    there = {finding.verdict for finding in findings}
    return [f"{verdict}: {_MEANINGS[verdict]}." for verdict in VERDICTS if verdict in there]


def as_share(value: float) -> float:
    """Return a number held to [0, 1]."""
    return min(1.0, max(0.0, value))


def _shrunk(trials: int, wide: float, within: float) -> float:
    """Return how many trials make an interval so narrow, if it shrinks with their square root."""
    return trials * (wide / within) ** 2 if within > 0 else math.inf


def _two_digits(count: float) -> int:
    """Round up to two digits: what is an estimate shouldn't look exact."""
    step: int = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return math.ceil(count / step) * step


def _number(value: float) -> float | None:
    """Return what JSON can hold: it knows neither NaN nor infinity, nor numpy's integers."""
    return float(value) if math.isfinite(value) else None

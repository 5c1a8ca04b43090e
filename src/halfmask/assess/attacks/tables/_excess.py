"""The residual risk of an attack compared with its control, as Giomi et al. report it.

"A unified framework for quantifying privacy risk in synthetic data" (PoPETs 2023), section 4. The
verdicts of a battery rest on exact bounds; these are details, to compare with published numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from halfmask.assess.attacks._arms import Arm


class MeasuredExcess(NamedTuple):
    """A number and half the width of its interval."""

    value: float
    margin: float


def wilson(successes: float, trials: int, *, confidence: float = 0.95) -> MeasuredExcess:
    """Return the centre and half width of Wilson's score interval of a share.

    Examples
    --------
    >>> rate = wilson(850, 1000)
    >>> round(rate.value, 3), round(rate.margin, 3)
    (0.849, 0.022)
    """
    from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

    z = float(ndtri((1 + confidence) / 2))
    n = trials + z * z
    spread = successes * (trials - successes) / trials + z * z / 4
    return MeasuredExcess((successes + z * z / 2) / n, z / n * spread**0.5)


def residual_risk(attack: MeasuredExcess, control: MeasuredExcess) -> MeasuredExcess:
    """Return (attack - control) / (1 - control), the margins propagated to first order.

    If the control always succeeds, no residual risk can be measured: 0, and a margin of 1.

    Examples
    --------
    >>> risk = residual_risk(MeasuredExcess(0.9, 0.02), MeasuredExcess(0.85, 0.02))
    >>> round(risk.value, 3), round(risk.margin, 2)
    (0.333, 0.16)
    """
    left = 1 - control.value
    if left <= 0:
        return MeasuredExcess(0.0, 1.0)
    by_attack = attack.margin / left
    by_control = control.margin * (1 - attack.value) / left**2
    return MeasuredExcess(
        (attack.value - control.value) / left, (by_attack**2 + by_control**2) ** 0.5
    )


def residual_details(attack: Arm, control: Arm) -> dict[str, float]:
    """Return the residual risk and its margin at 95 % under their names."""
    if not attack.trials or not control.trials:
        return {}
    rates = [wilson(arm.value * arm.trials, arm.trials) for arm in (attack, control)]
    risk = residual_risk(rates[0], rates[1])
    return {"residual_risk": risk.value, "residual_risk_margin": risk.margin}

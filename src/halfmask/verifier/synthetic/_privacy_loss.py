"""The claim of differential privacy: the arithmetic of its events, repeated."""

from __future__ import annotations

from math import isfinite, log, log1p
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount

if TYPE_CHECKING:
    import polars as pl

    from halfmask.claims import Claim

#: Orders at which the loss is bounded; each gives an epsilon, and the least of them holds.
ORDERS: Final = tuple(1 + 1.05**step for step in range(-200, 250))


def check_privacy(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Add up what the stated mechanisms cost: no more than the claimed epsilon at its delta.

    Notes
    -----
    Gaussian noise of a multiplier m costs 1 / (2 m^2) in zero-concentrated differential privacy
    (Bun and Steinke 2016, proposition 1.6), a choice by the exponential mechanism epsilon^2 / 8
    (Cesar and Rogers 2021, lemma 3.4). Epsilon is that of Canonne, Kamath and Steinke (2020),
    corollary 13.
    """
    del table
    epsilon, delta = (_positive(claim.parameters.get(name)) for name in ("epsilon", "delta"))
    events = claim.evidence.get("events")
    if delta >= 1 or not isinstance(events, list) or not events:
        raise VerificationError("The claim lacks its events.")
    rho = sum(map(_cost, events))
    spent = min(
        order * rho + (log(1 / delta) - log(order - 1) + order * log1p(-1 / order)) / (order - 1)
        for order in ORDERS
    )
    # Orders lie on a grid: an epsilon that fits exactly is missed by less than this.
    return ClaimCount(holds=spent <= epsilon * (1 + 1e-3), found={"rho": rho, "epsilon": spent})


def _cost(event: object) -> float:
    if not isinstance(event, dict):
        raise VerificationError("An event of the claim is none.")
    times = _positive(event.get("times"))
    if event.get("mechanism") == "gaussian":
        return times / (2 * _positive(event.get("noise_multiplier")) ** 2)
    if event.get("mechanism") == "exponential":
        return times * _positive(event.get("epsilon")) ** 2 / 8
    raise VerificationError("The claim has an event of a mechanism that isn't known.")


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise VerificationError("The claim lacks a number above 0.")
    if not isfinite(value):
        raise VerificationError("The claim has a number that isn't finite.")
    return float(value)

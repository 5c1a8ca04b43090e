"""What a codec of series claims for forecasts, and its stated weaknesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.encode._settings import LearnerClaim, Weakness
from halfmask.encode.series._least_squares import WHITE

if TYPE_CHECKING:
    from halfmask.encode.series._plan import SeriesPlan


def claims_of(plan: SeriesPlan) -> tuple[LearnerClaim, ...]:
    """Return what holds for forecasts of what a plan sends."""
    claims = [
        LearnerClaim(
            learner="any, of residuals instead of the series",
            scope="not invariant",
            condition="it learns from the residuals of home's own model; measure it",
        ),
        LearnerClaim(
            learner="point forecasts",
            scope="measured",
            condition="a median comes home as a median one step ahead; means and later steps are "
            "conditional on the forecasts before them",
        ),
    ]
    largest = _largest(plan)
    if largest:
        claims.append(
            LearnerClaim(
                learner="attackers, of rows behind the fitted ones",
                scope="measured",
                condition=f"a fit to the first half of the rows left {largest} of the second",
            )
        )
    if not plan.settings.blinding:
        where = "given the true values before; sealed steps are home's own forecast"
        claims.insert(0, LearnerClaim(learner="sample paths", scope="exact", condition=where))
        claims.insert(
            0, LearnerClaim(learner="quantiles one step ahead", scope="exact", condition=where)
        )
    return tuple(claims)


def _largest(plan: SeriesPlan) -> str:
    """Return the largest autocorrelation that was left of rows behind half a fit, in words."""
    found = [one for channel in plan.channels for one in channel.later]
    if not found:
        return ""
    lag, value = max(found, key=lambda one: abs(one[1]))
    return f"an autocorrelation of {value:.2f} at {lag} steps"


def weaknesses_of(plan: SeriesPlan) -> tuple[Weakness, ...]:
    """Return the weaknesses of a plan's rows, strongest first."""
    settings, columns = plan.settings, plan.columns
    reach = max(channel.reach for channel in plan.channels)
    blind = ""
    if settings.blinding:
        blind = f"; {settings.blinding:g} of the variance is keyed noise, which more rows average"
    found = [
        Weakness(
            name="innovations-match",
            columns=columns,
            known_plaintext="an attacker with the series itself fits a model and slides its "
            f"residuals along: some hundred steps find the date{blind}",
        ),
        Weakness(
            name="order-leaking",
            columns=columns,
            known_plaintext="k50 <= the model's weights: consecutive known values and a regression "
            f"on up to {reach} steps before show how the next is sent{blind}",
        ),
        Weakness(
            name="volatility-leaking",
            columns=columns,
            known_plaintext="none is needed: restless times follow each other, wherever they lie",
        ),
        Weakness(
            name="length-visible",
            columns=(),
            known_plaintext="none is needed: the number of steps of each series is to be seen",
        ),
    ]
    largest = _largest(plan)
    size = f"; a fit to half of the rows left {largest} of the other half" if largest else ""
    found.append(
        Weakness(
            name="later-rows-remember",
            columns=columns,
            known_plaintext="none is needed: rows behind the fitted ones show what has changed "
            f"since, cycles and memory too{size}; fit again for each upload",
        )
    )
    found.append(
        Weakness(
            name="surprises-visible",
            columns=columns,
            known_plaintext="none is needed: holidays, month ends and clock changes lie in no "
            "cycle; a day that differs every time stands out, so name it as an event",
        )
    )
    found += _of_fit(plan)
    if settings.missing == "visible":
        known = "none is needed: gaps and holes show clock changes and pauses"
        found.append(Weakness(name="nulls-visible", columns=columns, known_plaintext=known))
    return tuple(found)


def _of_fit(plan: SeriesPlan) -> list[Weakness]:
    """Return what the fit could not take out of some series."""
    short = [it.grain.name for it in plan.channels if it.seasons.unfitted]
    remembers = [it.grain.name for it in plan.channels if any(p <= WHITE for _, p in it.whiteness)]
    found = [
        Weakness(
            name="cycle-visible",
            columns=tuple(dict.fromkeys(short)),
            known_plaintext="none is needed: a series of less than two cycles shows what it has",
        ),
        Weakness(
            name="memory-visible",
            columns=tuple(dict.fromkeys(remembers)),
            known_plaintext="none is needed: values still go with those before them",
        ),
    ]
    return [weakness for weakness in found if weakness.columns]

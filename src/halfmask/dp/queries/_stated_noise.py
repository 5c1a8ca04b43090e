"""What a release states of the noise of an answer: measures, sensitivities, scales, prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.dp.queries._measures import Measure, measures_of

if TYPE_CHECKING:
    from halfmask.claims.claim import Json
    from halfmask.dp.queries._plan import QueryPlan


def stated_noise(plan: QueryPlan) -> list[Json]:
    """Return each mechanism of an answer as an object of JSON."""
    stated: list[Json] = [] if plan.selection is None else [_selection(plan)]
    for each in plan.measures:
        used_by: list[Json] = [
            asked.label
            for asked in plan.question.aggregates
            if each in measures_of(asked, plan.question.dtypes)
        ]
        noise = _choice(plan, each) if each.kind == "quantile" else _added(plan, each)
        stated.append({"measure": each.name, "of": used_by, **_grid(each), **noise})
    return stated


def _grid(each: Measure) -> dict[str, Json]:
    """Return the grid of a measure: the least and most units, and a unit as a fraction."""
    if each.grid is None:
        return {}
    step: list[Json] = [each.grid.step.numerator, each.grid.step.denominator]
    return {"low": each.grid.low, "high": each.grid.high, "step": step}


def _added(plan: QueryPlan, each: Measure) -> dict[str, Json]:
    mechanism = plan.mechanisms[each]
    return {
        "mechanism": plan.noise,
        "sensitivity": mechanism.sensitivity,
        "scale": mechanism.scale,
        "epsilon": plan.share,
        "delta": plan.delta_share if plan.noise == "gaussian" else 0.0,
    }


def _choice(plan: QueryPlan, each: Measure) -> dict[str, Json]:
    """Return the choice of a quantile: of the unit's choices in all groups, epsilon is the sum."""
    sensitivity = float(plan.choice_sensitivity(each))
    return {
        "mechanism": "exponential",
        "sensitivity": sensitivity,
        "scale": 2 * sensitivity / plan.choice_epsilon(each),
        "epsilon": plan.share * each.weight,
        "delta": 0.0,
    }


def _selection(plan: QueryPlan) -> dict[str, Json]:
    assert plan.selection is not None  # noqa: S101 # its caller's condition
    noise = plan.selection.mechanism
    return {
        "measure": "persons",
        "of": [],
        "mechanism": "selection",
        "sensitivity": noise.sensitivity,
        "scale": noise.scale,
        "threshold": plan.selection.threshold,
        "epsilon": plan.share,
        "delta": plan.delta_share,
    }

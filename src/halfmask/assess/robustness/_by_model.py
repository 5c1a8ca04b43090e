"""Flips of predictions by an attacker who knows the model: certified, exact and found."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess.robustness._black_box import asked_of, predictions
from halfmask.assess.robustness._cost_to_flip import CostToFlip, either
from halfmask.assess.robustness._features import map_features
from halfmask.assess.robustness._linear_search import LinearSearch
from halfmask.assess.robustness._tree_search import TreeSearch

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Model, Rows, Values
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._features import FeatureMap


#: The rounding of costs.
_NEAR: Final = 1e-9


def flip_by_model(
    model: Model,
    rows: Rows,
    budget: AttackerBudget,
    *,
    seen: Rows | None = None,
    difference: float | None = None,
    effort: int = 16,
) -> CostToFlip | None:
    """Find what it costs to flip each row's prediction.

    Parameters
    ----------
    model
        A linear model, a tree, a forest or boosting, also in a Pipeline that can be mapped.
    rows
        The rows to be changed, as the model takes them.
    budget
        What may be changed, and at what cost. Costs above its `most` are found, too.
    seen
        Rows whose ranges and categories the budget takes where it has none; by default `rows`.
    difference
        By how much a number that is predicted must change; regressors need it.
    effort
        How many parts of the space are searched again, a row; more brings certified and found
        costs nearer. Linear models and single trees are exact without.

    Returns
    -------
    CostToFlip or None
        ``None`` for other models: ask these for labels alone.

    Raises
    ------
    DataError
        If the model fails, or predicts NaN.
    ParameterError
        If a regressor's `difference` is missing, or a classifier's is given.
    """
    integer_at_least(0, owner="flip_by_model", effort=effort)
    table, _, budget, predicted = asked_of(model, rows, budget, seen, difference)
    found = map_features(model, table, budget)
    if found is None:
        return None
    last, mapped = found
    if difference is None and not hasattr(last, "classes_"):
        return None
    asked = mapped, table, budget, predicted, difference
    with foreign("The model failed to predict features"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # features have no names
        search = LinearSearch.of(last, *asked) or TreeSearch.of(last, *asked, effort)
    return None if search is None else _told(model, search, asked)


def _told(
    model: Model,
    search: LinearSearch | TreeSearch,
    asked: tuple[FeatureMap, pl.DataFrame, AttackerBudget, Values, float | None],
) -> CostToFlip:
    """Return what was found as the budget counts it, where the model itself flips."""
    _, rows, budget, predicted, difference = asked
    certified, changed = search.certified.copy(), search.changed(np.arange(rows.height))
    exact = certified >= search.found * (1 - _NEAR) - _NEAR
    after = predictions(model, changed)
    flips = after != predicted
    if difference is not None:
        flips = np.abs(after - predicted) >= difference * (1 - _NEAR)
    found = np.where(flips, budget.cost_of(rows, changed), np.inf)
    columns = [name for name, it in budget.columns.items() if it.change != "no"]
    moved = np.column_stack([changed[it].ne_missing(rows[it]).to_numpy() for it in columns])
    return CostToFlip(
        certified=np.minimum(certified, found),
        found=found,
        exact=exact & (np.isfinite(found) | np.isinf(certified)),
        changed=moved & np.isfinite(found)[:, None],
        columns=tuple(columns),
        most=budget.most,
        flipped=either(np.isfinite(found), changed, rows),
    )

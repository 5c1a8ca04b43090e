"""The cost to flip of each row, by all that the attacker knows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least
from halfmask.assess._one_thread import one_thread
from halfmask.assess.robustness._black_box import (
    asked_of,
    differ,
    flip_by_labels,
    predictions,
)
from halfmask.assess.robustness._budget import AttackerBudget, as_columns
from halfmask.assess.robustness._cost_to_flip import costs_of
from halfmask.assess.robustness._features import map_features
from halfmask.assess.robustness._linear_search import search_linear
from halfmask.assess.robustness._tree_search import search_trees

if TYPE_CHECKING:
    from halfmask.assess._arrays import Model, Rows
    from halfmask.assess.robustness._cost_to_flip import CostToFlip

#: The rounding of predicted numbers, and what costs that are the same may differ by.
_NEAR, _SAME = 1e-9, 1e-6


def cost_to_flip(
    model: Model,
    rows: Rows,
    budget: AttackerBudget,
    *,
    seen: Rows | None = None,
    difference: float | None = None,
    effort: int = 10,
    random_state: int = 0,
) -> CostToFlip:
    """Find what it costs to change each row until the model's prediction of it flips.

    Parameters
    ----------
    model
        A fitted model with ``predict``, or a function from rows to labels.
    rows
        The rows to be changed, as the model takes them.
    budget
        What the attacker may change and knows. Costs above its `most` are found, too.
    seen
        Training rows: the values that the attacker writes, and the ranges and categories that the
        budget takes where it has none; by default `rows`.
    difference
        By how much a number that is predicted must change, in its unit; regressors need it.
    effort
        How long each row is searched, at least 0; more never costs more.
    random_state
        The seed of what is tried.

    Returns
    -------
    CostToFlip

    Raises
    ------
    DataError
        If there are no rows, the model fails, or it predicts NaN.
    ParameterError
        If a regressor's `difference` is missing, or a classifier's is given.

    Notes
    -----
    **Guarantees.** Of every row certified <= exact <= found, and the model itself flips where a
    cost was found. Costs of linear models and single trees are exact, those of forests and boosting
    certified from below.

    **Edge cases.** Of other models, and of an attacker who asks for labels alone, nothing is
    certified. Whole numbers and truth values, by a column's type, stay such; of linear models with
    the norm ``"sum"`` they are certified from below.
    """
    if not isinstance(budget, AttackerBudget):
        raise ParameterError("The 'budget' parameter of cost_to_flip must be an AttackerBudget.")
    integer_at_least(0, owner="cost_to_flip", effort=effort, random_state=random_state)
    asked: dict[str, Any] = {"seen": seen, "difference": difference}
    with one_thread():
        known = flip_by_model(model, rows, budget, **asked) if budget.knows == "model" else None
        if known is not None and known.exact.all():
            return known
        asked |= {"effort": effort, "random_state": random_state}
        if known is None:
            return flip_by_labels(model, rows, budget, **asked)
        table = as_columns(rows)
        asked["seen"] = table if seen is None else seen
        open_rows = table.filter(~known.exact)
        return _cheaper(known, flip_by_labels(model, open_rows, budget, **asked))


def flip_by_model(
    model: Model,
    rows: Rows,
    budget: AttackerBudget,
    *,
    seen: Rows | None = None,
    difference: float | None = None,
    effort: int = 16,
) -> CostToFlip | None:
    """Flip rows by what is known of a model; ``None`` where it isn't of linear models and trees.

    Effort is how many parts of the space are searched again, a row: costs get nearer.
    """
    integer_at_least(0, owner="flip_by_model", effort=effort)
    table, _, budget, predicted = asked_of(model, rows, budget, seen, difference)
    known = map_features(model, table, budget)
    if known is None or (difference is None and not hasattr(known[0], "classes_")):
        return None
    asked = known[1], table, budget, predicted, difference
    with foreign("The model failed to predict features"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # features have no names
        search = search_linear(known[0], *asked) or search_trees(known[0], *asked, effort)
    if search is None:
        return None
    certified, changed = search
    least = None if difference is None else difference * (1 - _NEAR)
    flips = differ(predicted, predictions(model, changed), least)
    costs = costs_of(table, changed, budget, flips, certified)
    # What a column can hold may cost more than the end of a cell: decimals, single precision.
    return replace(costs, exact=np.isclose(certified, costs.found, rtol=_SAME, atol=_SAME))


def _cheaper(known: CostToFlip, asked: CostToFlip) -> CostToFlip:
    """Return the cheaper change of each row without an exact cost, and what is certified."""
    open_rows = np.flatnonzero(~known.exact)
    is_cheaper = asked.found < known.found[open_rows]
    at, place = open_rows[is_cheaper], np.arange(known.rows)
    place[at] = known.rows + np.flatnonzero(is_cheaper)  # of both tables, one under the other
    found = np.concatenate([known.found, asked.found])[place]
    flipped = pl.concat([known.flipped, asked.flipped.cast(known.flipped.schema)])[place]
    return replace(
        known,
        found=found,
        changed=np.concatenate([known.changed, asked.changed])[place],
        flipped=flipped,
    )

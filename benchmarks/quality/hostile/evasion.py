"""What it costs to flip predictions: an exact tree, and how long forests and boosting take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bars import Bar
from halfmask.assess.robustness import AttackerBudget, cost_to_flip
from quality.hostile.models import BOOSTING, FOREST, LOGISTIC, TREE, model_of
from quality.hostile.tables import adult, piped, unit_budget

if TYPE_CHECKING:
    from halfmask.assess.robustness import CostToFlip

#: What a loop over all leaves finds of the tree's 18,842 rows, to four digits.
MEDIAN, NEAR = 0.0333, 0.00005
SECONDS, MILLISECONDS = 1.0, 20.0
#: So many random changes that cost less than what is certified are tried of each row.
TRIED = 100


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Flip rows of Adult, within a cost of .05: its five numbers, and all columns."""
    lines = [
        "| model | columns | rows | ms a row | certified | found | exact | flip | proven not to |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    bars, wrong = [], 0
    for columns in ("five numbers", "all"):
        split = adult(seed, numbers_only=columns != "all")
        budget = unit_budget()
        if columns == "all":
            budget = AttackerBudget.of_table(split.rows, most=budget.most)
        for name in (TREE, LOGISTIC, FOREST, BOOSTING):
            if quick and name == BOOSTING:
                continue
            model = model_of(name)
            model = (piped(model, split.rows) if columns == "all" else model).fit(
                split.rows, split.labels
            )
            is_exact = name in {TREE, LOGISTIC}
            rows = split.held if is_exact else split.held[: 200 if quick else 1_000]
            cost_to_flip(model, rows[:20], budget, seen=split.rows)  # compiled before it is timed
            start = time.process_time()
            costs = cost_to_flip(model, rows, budget, seen=split.rows)
            seconds = time.process_time() - start
            lines.append(_line(name, columns, costs, seconds))
            wrong += _wrong(model, rows, budget, costs)
            if columns != "all":
                wrong += _flipped_below(model, rows[:200], costs, seed)
            if name == TREE and columns != "all":
                off = abs((costs.median or 1.0) - MEDIAN)
                bars += [
                    Bar(name=f"median cost to flip the tree, off from {MEDIAN}", value=off,
                        goal=NEAR, side="at most", why=f"{costs.median:.5f}"),
                    Bar(name=f"seconds for {rows.height:,} rows of the tree", value=seconds,
                        goal=SECONDS, side="at most"),
                ]  # fmt: skip
            if name == FOREST:
                bars.append(
                    Bar(name=f"milliseconds a row of the forest, {columns} columns",
                        value=1_000 * seconds / rows.height, goal=MILLISECONDS, side="at most")
                )  # fmt: skip
    bars.append(
        Bar(name="costs that the model or a random change refutes", value=wrong, goal=0,
            side="at most")
    )  # fmt: skip
    return bars, "\n".join(lines)


def _line(name: str, columns: str, costs: CostToFlip, seconds: float) -> str:
    n = costs.rows
    return (
        f"| {name} | {columns} | {n:,} | {1_000 * seconds / n:.3f} | {costs.certified_median:.4f} "
        f"| {costs.median:.4f} | {costs.exact_rows / n:.1%} | {costs.share_flipped:.1%} "
        f"| {costs.share_proven:.1%} |"
    )


def _wrong(model: Any, rows: pl.DataFrame, budget: AttackerBudget, costs: CostToFlip) -> int:  # noqa: ANN401 # scikit-learn's
    """Return how many found changes don't flip the model, or cost other than is said."""
    is_found = np.isfinite(costs.found)
    flips = model.predict(costs.flipped) != model.predict(rows)
    again = budget.for_rows(rows).cost_of(rows, costs.flipped)
    return int((is_found & ~flips).sum() + (is_found & (again > costs.found + 1e-9)).sum())


def _flipped_below(model: Any, rows: pl.DataFrame, costs: CostToFlip, seed: int) -> int:  # noqa: ANN401 # scikit-learn's
    """Return how many random changes flip a row at less than its certified cost."""
    rng, own = np.random.default_rng(seed), rows.to_numpy()
    reach = np.repeat(costs.certified[: len(own)] * (1 - 1e-6), TRIED)[:, None]
    reach = np.minimum(reach, 1.0)
    every = np.repeat(own, TRIED, axis=0)
    tried = np.clip(every + rng.choice([-1.0, 1.0, 0.5, -0.5, 0.0], every.shape) * reach, 0, 1)
    after = model.predict(pl.DataFrame(tried, schema=rows.schema))
    return int((after != np.repeat(model.predict(rows), TRIED)).sum())

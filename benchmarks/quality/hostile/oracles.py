"""Costs to flip beside oracles: every cell of a grid, and integer programs of small forests."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from bars import Bar
from halfmask.assess.robustness import AttackerBudget, ColumnBudget, CostToFlip, cost_to_flip

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORESTS, TREES, DEPTH, ROWS = 10, 7, 4, 6
#: The models read single precision; a cut is between two such numbers.
NEAR = 1e-6
NAMES = ("first", "second", "third")


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Count costs that an oracle refutes."""
    forests = 3 if quick else FORESTS
    wrong = {"grid": 0, "program": 0}
    lines = ["| forest | certified | the program | found |", "|---|---|---|---|"]
    for k in range(forests):
        rows, labels = _drawn(seed + k)
        forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=k).fit(rows, labels)
        costs = _costs(forest, rows[:ROWS])
        best = np.array([_program(forest, row) for row in rows[:ROWS].to_numpy()])
        wrong["program"] += int((costs.certified > best + NEAR).sum())
        wrong["program"] += int((costs.found < best - NEAR).sum())
        said = (f"{it.mean():.4f}" for it in (costs.certified, best, costs.found))
        lines.append(f"| {k} | {' | '.join(said)} |")
        for model in (DecisionTreeClassifier(max_depth=6, random_state=k), LogisticRegression()):
            model.fit(rows, labels)
            wrong["grid"] += _beaten_by_grid(model, _costs(model, rows[:ROWS]), rows[:ROWS])
    rows = forests * ROWS
    return [
        Bar(name=f"costs of {rows} rows of forests that HiGHS refutes", value=wrong["program"],
            goal=0, side="at most"),
        Bar(name=f"exact costs of {2 * rows} rows that a grid refutes", value=wrong["grid"],
            goal=0, side="at most"),
    ], "\n".join(lines)  # fmt: skip


def _drawn(seed: int) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    cells = rng.uniform(size=(400, len(NAMES)))
    score = cells[:, 0] - cells[:, 1] ** 2 + 0.5 * cells[:, 2] * cells[:, 0]
    labels = score + rng.normal(0, 0.1, len(cells)) > np.median(score)
    return pl.DataFrame(cells, schema=NAMES), labels.astype(np.int64)


def _costs(model: Any, rows: pl.DataFrame) -> CostToFlip:  # noqa: ANN401 # scikit-learn's
    columns = {name: ColumnBudget(low=0.0, high=1.0, cost=1.0) for name in NAMES}
    return cost_to_flip(model, rows, AttackerBudget(columns=columns, most=0.1))


def _beaten_by_grid(model: Any, costs: CostToFlip, rows: pl.DataFrame) -> int:  # noqa: ANN401 # scikit-learn's
    """Return how many rows a change of a grid flips more cheaply, or exact costs are missing."""
    steps, beaten = np.array(list(product(np.linspace(-1, 1, 21), repeat=len(NAMES)))), 0
    own = model.predict(rows)
    for k, row in enumerate(rows.to_numpy()):
        moved = row + steps * costs.certified[k] * (1 - NEAR)
        inside = moved[((moved >= 0) & (moved <= 1)).all(axis=1)]
        flips = model.predict(pl.DataFrame(inside, schema=NAMES)) != own[k]
        beaten += bool(flips.any()) or not costs.exact[k]
    return beaten


def _program(forest: Any, row: NDArray[np.float64]) -> float:  # noqa: ANN401 # scikit-learn's
    """Return the least change of a row, after Kantchelian, Tygar and Joseph (ICML 2016).

    One variable says of each cut whether the changed row is at most that, one of each leaf whether
    the row falls into it; the last one is the cost.
    """
    trees = [tree.tree_ for tree in forest.estimators_]
    cuts = sorted({
        (int(f), float(t))
        for tree in trees
        for f, t in zip(tree.feature, tree.threshold, strict=True)
        if f >= 0
    })  # fmt: skip
    place = {cut: k for k, cut in enumerate(cuts)}
    leaves = [(t, k) for t, tree in enumerate(trees) for k in np.flatnonzero(tree.feature < 0)]
    of_leaf = {leaf: len(cuts) + k for k, leaf in enumerate(leaves)}
    width = len(cuts) + len(leaves) + 1
    lines: list[tuple[dict[int, float], float, float]] = []
    for (f, t), (g, u) in pairwise(cuts):
        if f == g:  # at most the lower cut: at most the higher one, too
            lines.append(({place[f, t]: 1, place[g, u]: -1}, -np.inf, 0))
    for (f, t), k in place.items():
        far = t - row[f]
        # below or at the cut: the cost to go above is paid unless the variable is 1
        lines.append(({width - 1: 1, k: far}, max(far, 0), np.inf))
    margin: dict[int, float] = {}
    wins = forest.predict(pl.DataFrame([row], schema=NAMES, orient="row"))[0]
    for t, tree in enumerate(trees):
        own = [of_leaf[t, k] for k in np.flatnonzero(tree.feature < 0)]
        lines.append((dict.fromkeys(own, 1.0), 1, 1))
        for node in np.flatnonzero(tree.feature >= 0):
            cut = place[int(tree.feature[node]), float(tree.threshold[node])]
            left = {of_leaf[t, k]: 1.0 for k in _below(tree, tree.children_left[node])}
            right = {of_leaf[t, k]: 1.0 for k in _below(tree, tree.children_right[node])}
            lines += [({**left, cut: -1}, -np.inf, 0), ({**right, cut: 1}, -np.inf, 1)]
        shares = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
        margin |= {of_leaf[t, k]: shares[k, 1 - wins] - shares[k, wins]
                   for k in np.flatnonzero(tree.feature < 0)}  # fmt: skip
    lines.append((margin, NEAR * NEAR if wins == 0 else 0.0, np.inf))
    matrix = np.zeros((len(lines), width))
    for k, (line, _, _) in enumerate(lines):
        matrix[k, list(line)] = list(line.values())
    low, high = (np.array([line[k] for line in lines], dtype=float) for k in (1, 2))
    kinds = np.r_[np.ones(len(cuts)), np.zeros(len(leaves) + 1)]
    found = milp(
        np.eye(width)[-1],
        constraints=LinearConstraint(matrix, low, high),
        integrality=kinds,
        bounds=Bounds(0, np.r_[np.ones(width - 1), np.inf]),
    )
    return float(found.x[-1])


def _below(tree: Any, node: int) -> list[int]:  # noqa: ANN401 # scikit-learn's
    """Return the leaves under a node."""
    if tree.feature[node] < 0:
        return [node]
    return [*_below(tree, tree.children_left[node]), *_below(tree, tree.children_right[node])]

"""What flips the predictions of trees, forests and boosting: certified and found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from halfmask.assess.robustness._cells import CellTable
from halfmask.assess.robustness._trees import read_trees, with_base
from halfmask.kernels.attacks.flips import find_leaves, flip_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from halfmask.assess._arrays import Floats, Ints, Model, Values
    from halfmask.assess.robustness._budget import AttackerBudget
    from halfmask.assess.robustness._features import FeatureMap
    from halfmask.assess.robustness._trees import ScoredTree

#: So many rows must have the scores that the trees add up to.
_CHECKED: Final = 256
#: The rounding of sums of leaves: XGBoost adds in single precision.
_ROUNDED, _ROUNDED_SINGLE = 1e-10, 1e-5


class _Goal(NamedTuple):
    """Which rows flip once leaves gain enough: none below the first need, all from the other."""

    rows: Ints
    gain: Floats
    gained: Floats
    needs: tuple[float, float]


def search_trees(
    model: Model, mapped: FeatureMap, rows: pl.DataFrame, budget: AttackerBudget,
    predicted: Values, difference: float | None, effort: int,
) -> tuple[Floats, pl.DataFrame] | None:  # fmt: skip
    """Return what rows are certified to cost, and changed rows; ``None`` of other models."""
    read = read_trees(model)
    if read is None or any(it.scale < 0 for it in mapped.numbers):
        return None  # the sides of splits would be exchanged
    by_sets = {int(read[0].feature[node]) for node in read[0].on_left}
    if by_sets & {it.feature for it in mapped.numbers}:
        return None
    cells = CellTable(mapped, read[0], rows, budget)
    forest = cells.forest(budget.norm)
    leaves = find_leaves(forest, cells.own[:_CHECKED]).astype(np.int64)
    trees = with_base(*read, mapped.features(rows[:_CHECKED]), leaves)
    if trees is None:
        return None
    every = (*np.full((2, rows.height), np.inf), cells.own.copy())
    for goal in _goals(model, trees, predicted, difference):
        made = [it[goal.rows] for it in every]
        flip_rows(
            forest._replace(gain=goal.gain.copy()), cells.own[goal.rows], cells.x[goal.rows],
            goal.gained, cells.allowed[goal.rows], goal.needs, effort, *made,
        )  # fmt: skip
        for whole, part in zip(every, made, strict=True):
            whole[goal.rows] = part
    return every[0], cells.changed(every[2])


def _goals(
    model: Model, trees: ScoredTree, predicted: Values, difference: float | None
) -> Iterator[_Goal]:
    value, base = trees.value, trees.base
    rounded = _ROUNDED_SINGLE if trees.is_strict else _ROUNDED
    if difference is not None:
        every, score = np.arange(len(predicted)), predicted - base[0]
        slack = rounded * (np.abs(value).max() * len(trees.roots) + abs(base[0]))
        yield _Goal(every, value[:, 0], -score - difference, (-slack, slack))
        yield _Goal(every, -value[:, 0], score - difference, (-slack, slack))
        return
    for p, label in enumerate(model.classes_):
        here = np.flatnonzero(predicted == label)
        for q in range(len(model.classes_)):
            if q == p or not len(here):
                continue
            gain, gained = value[:, q] - value[:, p], np.full(len(here), base[q] - base[p])
            whole = not np.any(gain[trees.left < 0] % 1) and not np.any(gained % 1)
            slack = 0.0 if whole else rounded
            ends = np.array([-slack, slack])  # of equals, the first class is predicted
            least, most = ends if q < p else np.nextafter(ends, np.inf)
            yield _Goal(here, gain, gained, (float(least), float(most)))

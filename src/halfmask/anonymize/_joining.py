"""Join cells that miss a guarantee with each other; the others stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import GuaranteeNotMetError

if TYPE_CHECKING:
    from halfmask.anonymize._cell_spans import CellSpans

Integers = NDArray[np.int64]


def join_failing(tree: CellSpans, target: Integers, failing: Integers) -> Integers:
    """Join each failing cell with the failing cells below the lowest node that has others.

    One that is alone is joined with all cells below the lowest node that has any.
    """
    fails = np.isin(target, failing)
    among = fails if len(failing) > 1 else target >= 0
    before = np.concatenate([[0], np.cumsum(among)])
    order = np.argsort(target, kind="stable")
    starts = np.searchsorted(target[order], failing)
    ends = np.searchsorted(target[order], failing, side="right")
    parent = np.arange(int(target.max()) + 1)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        own, first, last = np.sort(order[start:end]), 0, -1
        node = int(tree.leaf[own[0]])
        while node >= 0:
            first, last = int(tree.first[node]), int(tree.last[node])
            held = np.searchsorted(own, last, side="right") - np.searchsorted(own, first)
            if before[last + 1] - before[first] > held:
                break
            node = int(tree.parent[node])
        if node < 0:
            raise GuaranteeNotMetError(
                "The whole table as one class misses a guarantee.",
                hint="Ask for less, or give more rows.",
            )
        below = np.unique(target[first : last + 1][among[first : last + 1]])
        _unite(parent, [int(target[own[0]]), *below.tolist()])
    joined = np.array([_root(parent, number) for number in range(len(parent))])
    return np.where(target >= 0, joined[target], -1)


def _unite(parent: Integers, numbers: list[int]) -> None:
    roots = {_root(parent, number) for number in numbers}
    parent[list(roots)] = min(roots)


def _root(parent: Integers, number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = int(parent[number])
    return number

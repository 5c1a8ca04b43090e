"""The levels of a coded column: its hierarchy's, or the value and the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.lattice._lattice import LatticeColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize._coding import Coding

#: What is written for the root of a column that has no hierarchy.
ROOT_LABEL = "*"


def lattice_column(coding: Coding, codes: NDArray[np.integer]) -> LatticeColumn:
    """Return a coded column as the lattice has it.

    Parameters
    ----------
    coding
        The column's codes. Its levels are those of its hierarchy; without one, the value and the
        root. Missing is a value of its own at each level but the root, which stands for all cells.
    codes
        The code of each row.
    """
    rows = np.bincount(codes, minlength=coding.n_codes).astype(np.int64)
    raw = np.arange(coding.n_codes, dtype=np.int32)
    nodes = [raw, *(_nodes(coding, level) for level in range(1, _root(coding)))]
    if _root(coding):
        nodes.append(np.zeros(coding.n_codes, dtype=np.int32))
    return LatticeColumn(
        name=coding.column.name, nodes=tuple(nodes), rows=rows, weight=coding.column.weight
    )


def root_label(coding: Coding, level: int) -> str | None:
    """Return what is written for all cells of a column, if the level is its root.

    Parameters
    ----------
    coding
        The column's codes.
    level
        The level.
    """
    if not level or level != _root(coding):
        return None
    hierarchy = coding.hierarchy
    if hierarchy is None or level >= hierarchy.height:
        return ROOT_LABEL
    return hierarchy.labels(level)[0]


def spans_at_level(
    coding: Coding, level: int, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and greatest value below the node of each span of values.

    Parameters
    ----------
    coding
        The column's codes.
    level
        The level.
    low, high
        The least and greatest value of each class; -1 where all of its cells are missing, which
        stay so below the root.
    """
    if not coding.n_values:
        return low, high
    if level and level == _root(coding):
        return np.zeros_like(low), np.full_like(high, coding.n_values - 1)
    nodes = _nodes(coding, level)[: coding.n_values] if level else np.arange(coding.n_values)
    found = low >= 0
    first, last = low.copy(), high.copy()
    first[found] = np.searchsorted(nodes, nodes[low[found]], side="left")
    last[found] = np.searchsorted(nodes, nodes[high[found]], side="right") - 1
    return first, last


def _root(coding: Coding) -> int:
    """Return the level at which all cells of a column are one; 0 if there is but one value."""
    if coding.hierarchy is None:
        return 1
    height = coding.hierarchy.height
    return height - 1 if height > 1 or not coding.missing else 1


def _nodes(coding: Coding, level: int) -> NDArray[np.int32]:
    """Return the node of each code at a level of a hierarchy below the root, ascending."""
    apart = coding.boundaries > level
    return np.concatenate([[0], np.cumsum(apart)]).astype(np.int32)

"""Weights of columns: what matters to the owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.anonymize.lattice._lattice import LatticeColumn

__all__ = ["shares_of"]


def shares_of(columns: Sequence[LatticeColumn]) -> tuple[float, ...]:
    """Return the weight of each column, scaled so that they add up to 1.

    Parameters
    ----------
    columns
        The quasi-identifiers. Where all weights are 0, all weigh the same.
    """
    total = sum(column.weight for column in columns)
    if not total:
        return tuple(1.0 / len(columns) for _ in columns)
    return tuple(column.weight / total for column in columns)
